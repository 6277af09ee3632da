"""Queries for offline runs, their result files and what is scored of them; runs' methods."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Raw
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import MethodDescription
from metaserver.base.compression import pack, pack_json, unpack, unpack_json
from metaserver.base.lanes import HitAside
from metaserver.base.records import ArticleId, Problem, ServerName, TaskName, TeamName, count_stated
from metaserver.store.database import read_first, read_row
from metaserver.store.tables import methods, offline_runs, servers, teams
from metaserver.store.teams import Team


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineRun:
    """An offline run without its file and payloads.

    `name` is its name on the boards, unique in the phase; `own_name` is that of its team, unique
    among the team's runs of the task.
    `articles` is the number of articles with something in their answer, `answers` the number of all
    answers; `problems` report the file's parts left out. `created_at` is the upload's moment.
    """

    id: int
    phase_id: int
    team: TeamName
    task: TaskName
    name: ServerName
    own_name: str
    articles: int
    answers: int
    problems: tuple[Problem, ...]
    created_at: float


async def board_name(
    connection: AsyncConnection, phase_id: int, team: Team, task: TaskName, own_name: str
) -> ServerName:
    """Return the name on the boards for a run: its present name, or the first that is free.

    These are tried: `R01`, `TEAM.R01`, `TEAM.TASK.R01`, and then with a number at the end.
    """
    columns = offline_runs.c
    own = sa.select(columns.name).where(
        columns.phase_id == phase_id,
        columns.team_id == team.id,
        columns.task == task,
        columns.own_name == own_name,
    )
    if (present := (await connection.execute(own)).scalar_one_or_none()) is not None:
        return ServerName(present)
    whole = f"{team.name}.{task}.{own_name}"
    numbered = (f"{whole}-{number}" for number in itertools.count(2))
    for text in itertools.chain((own_name, f"{team.name}.{own_name}", whole), numbered):
        name = ServerName(text)
        is_run = await get(connection, phase_id, name) is not None
        if not is_run and not await is_server(connection, name):
            return name
    raise AssertionError("numbers end")


async def put(
    connection: AsyncConnection,
    phase_id: int,
    team_id: int,
    task: TaskName,
    name: ServerName,
    own_name: str,
    *,
    content: bytes,
    payloads: Mapping[ArticleId, Any],
    asides: Mapping[ArticleId, Sequence[HitAside]],
    problems: Sequence[Problem],
    at: float,
) -> None:
    """Store a run uploaded `at` a moment (Unix seconds), replacing any run with its name.

    `name` is its `board_name`.
    """
    await delete(connection, phase_id, name)
    rows = [[problem.path, problem.message] for problem in problems]
    await connection.execute(
        sa.insert(offline_runs).values(
            phase_id=phase_id,
            team_id=team_id,
            task=task,
            name=name,
            own_name=own_name,
            content=pack(content),
            payloads=pack_json(payloads),
            asides=pack_json(asides) if asides else None,
            problems=msgspec.json.encode(rows) if rows else None,
            created_at=at,
        )
    )


async def delete(connection: AsyncConnection, phase_id: int, name: ServerName) -> None:
    """Delete a run."""
    await connection.execute(sa.delete(offline_runs).where(*_named(phase_id, name)))


async def list_all(connection: AsyncConnection, phase_id: int) -> Sequence[OfflineRun]:
    """Return a phase's offline runs, in the order they were uploaded."""
    query = _runs().where(offline_runs.c.phase_id == phase_id).order_by(offline_runs.c.id)
    return [_run(row) async for row in await connection.stream(query)]


async def get(connection: AsyncConnection, phase_id: int, name: ServerName) -> OfflineRun | None:
    """Return a run by name, or None."""
    return await read_first(connection, _runs().where(*_named(phase_id, name)), _run)


async def packed_payloads(connection: AsyncConnection, run: OfflineRun) -> bytes | None:
    """Return a run's compressed payloads; or None."""
    query = sa.select(offline_runs.c.payloads).where(offline_runs.c.id == run.id)
    packed: bytes | None = (await connection.execute(query)).scalar_one_or_none()
    return packed


def unpack_payloads(packed: bytes | None) -> Mapping[ArticleId, Any]:
    """Return the valid part of each article's answer. Slow for a large run: call it in a thread."""
    return {} if packed is None else unpack_json(packed)


async def packed_asides(connection: AsyncConnection, run: OfflineRun) -> bytes | None:
    """Return what a run says of its hits, compressed; None if it says nothing."""
    query = sa.select(offline_runs.c.asides).where(offline_runs.c.id == run.id)
    packed: bytes | None = (await connection.execute(query)).scalar_one_or_none()
    return packed


def unpack_asides(packed: bytes) -> Mapping[ArticleId, Sequence[HitAside]]:
    """Return what is said of each article's hits, as `unpack_payloads` does the answers."""
    return msgspec.json.decode(unpack(packed), type=dict[ArticleId, list[HitAside]])


def unpack_one(packed: bytes | None, article: ArticleId) -> Any:
    """Return one article's part of packed payloads or asides; None if it has none."""
    parts = {} if packed is None else msgspec.json.decode(unpack(packed), type=dict[str, Raw])
    return msgspec.json.decode(parts[article]) if article in parts else None


async def content(connection: AsyncConnection, phase_id: int, name: ServerName) -> bytes | None:
    """Return a run's file as uploaded, or None."""
    query = sa.select(offline_runs.c.content).where(*_named(phase_id, name))
    packed = (await connection.execute(query)).scalar_one_or_none()
    return None if packed is None else unpack(packed)


async def is_server(connection: AsyncConnection, name: ServerName) -> bool:
    """Return whether a server has this name, which its runs have too."""
    query = sa.select(servers.c.id).where(servers.c.name == name)
    return (await connection.execute(query)).first() is not None


async def is_offline(connection: AsyncConnection, name: ServerName) -> bool:
    """Return whether any phase's offline run has this name."""
    query = sa.select(offline_runs.c.id).where(offline_runs.c.name == name).limit(1)
    return (await connection.execute(query)).first() is not None


def _runs() -> sa.Select[Any]:
    return sa.select(offline_runs, teams.c.name.label("team")).join(
        teams, teams.c.id == offline_runs.c.team_id
    )


def _named(phase_id: int, name: ServerName) -> Sequence[sa.ColumnElement[bool]]:
    return (offline_runs.c.phase_id == phase_id, offline_runs.c.name == name)


def _run(row: sa.Row[Any]) -> OfflineRun:
    problems = msgspec.json.decode(row.problems) if row.problems else []
    payloads = unpack_json(row.payloads)
    return read_row(
        row,
        OfflineRun,
        articles=count_stated(payloads),
        answers=len(payloads),
        problems=tuple(Problem(path=path, message=message) for path, message in problems),
    )


async def put_method(
    connection: AsyncConnection, phase_id: int, run: ServerName, described: MethodDescription
) -> None:
    """Store a run's description in place of the earlier; an empty description is deleted."""
    await delete_method(connection, phase_id, run)
    if described:
        values = {"phase_id": phase_id, "run": run}
        document = msgspec.json.encode(described)
        await connection.execute(sa.insert(methods).values(**values, description=document))


async def delete_method(connection: AsyncConnection, phase_id: int, run: ServerName) -> None:
    """Delete a run's description, if any."""
    of_run = (methods.c.phase_id == phase_id, methods.c.run == run)
    await connection.execute(sa.delete(methods).where(*of_run))


async def methods_by_run(
    connection: AsyncConnection, phase_id: int
) -> Mapping[ServerName, MethodDescription]:
    """Return a phase's descriptions by run, ordered by name."""
    query = sa.select(methods.c.run, methods.c.description).where(methods.c.phase_id == phase_id)
    return {
        ServerName(row.run): msgspec.json.decode(row.description, type=MethodDescription)
        for row in await connection.execute(query.order_by(methods.c.run))
    }
