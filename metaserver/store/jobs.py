"""Queries for background jobs, which a hub's processes show to each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.states import JobState
from metaserver.store.database import read_first, read_row
from metaserver.store.leases import database_now
from metaserver.store.tables import jobs, workers

LOST_SECONDS = 20.0
"""A job whose process was not seen for this long is lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredJob:
    """A job as its process has stored it; `report` is packed JSON.

    `lost`: it was running when its process ended without a word.
    """

    id: str
    process: str
    kind: str
    subject: str
    asked_by: str
    team: str
    state: JobState
    step: str
    done: int
    total: int
    fixed: bool
    began_at: float
    ended_at: float | None
    error: str
    report: bytes | None
    lost: bool = False


async def put(connection: AsyncConnection, stored: Iterable[StoredJob]) -> None:
    """Store jobs as they are now, by the process that does them."""
    for job in sorted(stored, key=lambda job: job.id):  # the order in which others lock them
        values = asdict(job)
        del values["lost"]
        changed = await connection.execute(
            sa.update(jobs).where(jobs.c.id == job.id).values(values)
        )
        if not changed.rowcount:
            await connection.execute(sa.insert(jobs).values(values | {"to_cancel": False}))


async def get(connection: AsyncConnection, key: str) -> StoredJob | None:
    """Return a job by id, or None."""
    return await read_first(connection, _SELECT.where(jobs.c.id == key), _read)


async def newest(
    connection: AsyncConnection, team: str, count: int, *, kind: str | None = None
) -> Sequence[StoredJob]:
    """Return a team's (or the organisers') newest jobs, newest first."""
    query = _SELECT.where(jobs.c.team == team)
    if kind is not None:
        query = query.where(jobs.c.kind == kind)
    query = query.order_by(jobs.c.began_at.desc(), jobs.c.id).limit(count)
    return [_read(row) for row in await connection.execute(query)]


async def at_work(connection: AsyncConnection, team: str) -> Sequence[StoredJob]:
    """Return a team's (or the organisers') running jobs, without lost jobs."""
    query = _SELECT.where(jobs.c.team == team, jobs.c.state == JobState.RUNNING.value, ~_LOST)
    return [_read(row) for row in await connection.execute(query)]


async def ask_to_cancel(connection: AsyncConnection, key: str) -> None:
    """Ask the process that does a job to cancel it."""
    await connection.execute(sa.update(jobs).where(jobs.c.id == key).values(to_cancel=True))


async def to_cancel(connection: AsyncConnection, keys: Collection[str]) -> Set[str]:
    """Return which of some jobs are to be cancelled."""
    query = sa.select(jobs.c.id).where(jobs.c.id.in_(keys), jobs.c.to_cancel)
    return set((await connection.execute(query)).scalars())


async def forget(connection: AsyncConnection, team: str, keep: int, before: float) -> None:
    """Delete an owner's jobs beyond the newest, and all that began before a time."""
    newest_ids = (
        sa.select(jobs.c.id)
        .where(jobs.c.team == team)
        .order_by(jobs.c.began_at.desc(), jobs.c.id)
        .limit(keep)
    )
    beyond = sa.and_(jobs.c.team == team, jobs.c.id.not_in(newest_ids))
    runs = sa.and_(jobs.c.state == JobState.RUNNING.value, ~_LOST)
    old = sa.select(jobs.c.id).where(sa.or_(beyond, jobs.c.began_at < before), sa.not_(runs))
    old_ids = (await connection.execute(old.order_by(jobs.c.id).with_for_update())).scalars().all()
    await connection.execute(sa.delete(jobs).where(jobs.c.id.in_(old_ids)))


_LOST = jobs.c.process.not_in(
    sa.select(workers.c.id).where(workers.c.seen > database_now() - LOST_SECONDS)
)
_SELECT = sa.select(jobs, sa.and_(jobs.c.state == JobState.RUNNING.value, _LOST).label("lost"))


def _read(row: sa.Row[Any]) -> StoredJob:
    return read_row(row, StoredJob, lost=bool(row.lost))
