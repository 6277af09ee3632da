"""Queries for uploads: every result file that counted, whatever became of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack_json, unpack_json
from metaserver.base.records import ServerName, TaskName, TeamName
from metaserver.store.database import insert, read_row
from metaserver.store.tables import teams, uploads

COMPARED = 100
"""How many of a team's earlier uploads for a task a new upload is compared with."""
NEAR = 0.02
"""The share of answered articles up to which a changed run tries single answers out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A counted upload; `at` in Unix seconds.

    `changed` is the smallest number of articles answered differently from any earlier upload by the
    team, None for the first and for an equal upload. `score` is by the task's first measure, if
    any.
    """

    id: int
    team: TeamName
    task: TaskName
    run: ServerName
    at: float
    articles: int
    changed: int | None
    score: float | None

    @property
    def near(self) -> bool:
        """True if few answers differ from an earlier upload by the team."""
        return self.changed is not None and is_few(self.changed, self.articles)


def is_few(changed: int, articles: int) -> bool:
    """Return whether a run that changes so few of its answers may try single answers out."""
    return changed <= max(1, round(NEAR * articles))


async def add(
    connection: AsyncConnection,
    phase_id: int,
    team_id: int,
    task: TaskName,
    run: ServerName,
    *,
    at: float,
    articles: int,
    digests: Mapping[str, str | int] | None,
    changed: int | None,
) -> int:
    """Store an upload, return its id; later uploads are compared with it if it has digests."""
    row = {"phase_id": phase_id, "team_id": team_id, "task": task, "run": run, "at": at}
    packed = None if digests is None else pack_json(digests)
    return await insert(
        connection, uploads, row | {"articles": articles, "changed": changed, "digests": packed}
    )


async def set_score(connection: AsyncConnection, upload: int, score: float) -> None:
    """Store an upload's score."""
    await connection.execute(sa.update(uploads).where(uploads.c.id == upload).values(score=score))


async def moments(
    connection: AsyncConnection, phase_id: int, team_id: int, task: TaskName
) -> Sequence[float]:
    """Return when a team's uploads for a task were, the earliest first."""
    query = sa.select(uploads.c.at).where(*_of(phase_id, team_id, task)).order_by(uploads.c.at)
    return list((await connection.execute(query)).scalars())


async def packed_digests(
    connection: AsyncConnection, phase_id: int, team_id: int, task: TaskName
) -> Sequence[bytes]:
    """Return the digests of a team's newest uploads for a task, packed; at most `COMPARED`."""
    query = (
        sa.select(uploads.c.digests)
        .where(*_of(phase_id, team_id, task), uploads.c.digests.is_not(None))
        .order_by(uploads.c.id.desc())
        .limit(COMPARED)
    )
    return list((await connection.execute(query)).scalars())


def unpack_digests(packed: bytes) -> Mapping[str, str | int]:
    """Return each answer's digest, or its place."""
    digests: dict[str, str | int] = unpack_json(packed)
    return digests


async def list_all(connection: AsyncConnection, phase_id: int) -> Sequence[Upload]:
    """Return a phase's uploads, in their order."""
    names = ("id", "task", "run", "at", "articles", "changed", "score")
    columns = [uploads.c[name] for name in names]
    query: sa.Select[Any] = (
        sa.select(*columns, teams.c.name.label("team"))
        .join(teams, teams.c.id == uploads.c.team_id)
        .where(uploads.c.phase_id == phase_id)
        .order_by(uploads.c.id)
    )
    return [read_row(row, Upload) for row in await connection.execute(query)]


def _of(phase_id: int, team_id: int, task: TaskName) -> Sequence[sa.ColumnElement[bool]]:
    return (
        uploads.c.phase_id == phase_id,
        uploads.c.team_id == team_id,
        uploads.c.task == task,
    )
