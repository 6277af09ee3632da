"""Queries for the leader: the one process that does what is to be done once, by a stored epoch.

The epoch rises whenever another process leads, and each write of a leader looks at it in its own
transaction: one that was frozen or cut off cannot write when it comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.store.leases import LEASE_SECONDS, database_now
from metaserver.store.tables import leader


@dataclass(frozen=True, kw_only=True, slots=True)
class Leadership:
    """The leadership of a process since an epoch."""

    process: str
    epoch: int


async def lead(connection: AsyncConnection, process: str, *, alone: bool) -> Leadership | None:
    """Lead, or go on leading; None while another process does.

    It has led until its lease runs out; not where this process is `alone`.
    """
    now = database_now()
    row = (await connection.execute(sa.select(leader, (now - leader.c.seen).label("idle")))).first()
    if row is None:
        values = {"id": 1, "process": process, "epoch": 1}
        await connection.execute(sa.insert(leader).values(**values, seen=now))
        return Leadership(process=process, epoch=1)
    if row.process and row.process != process and not alone and row.idle < LEASE_SECONDS:
        return None
    epoch = row.epoch if row.process == process else row.epoch + 1
    await connection.execute(sa.update(leader).values(process=process, epoch=epoch, seen=now))
    return Leadership(process=process, epoch=epoch)


async def resign(connection: AsyncConnection, leadership: Leadership) -> None:
    """Let another process lead at once."""
    await connection.execute(
        sa.update(leader)
        .where(leader.c.process == leadership.process, leader.c.epoch == leadership.epoch)
        .values(process="")
    )


async def current(connection: AsyncConnection) -> Leadership | None:
    """Return who leads; None where nobody has."""
    row = (await connection.execute(sa.select(leader.c.process, leader.c.epoch))).first()
    return Leadership(process=row.process, epoch=row.epoch) if row and row.process else None
