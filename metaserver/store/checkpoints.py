"""Queries for checkpoints: aggregates over a lane's log up to a serial, one per lane.

A checkpoint holds nothing that the log does not: a missing checkpoint only costs time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import LaneKey
from metaserver.store.logs import LogEnd
from metaserver.store.reader import of_lane, of_lanes
from metaserver.store.tables import checkpoints


class StoredCheckpoint(NamedTuple):
    """A checkpoint: `end` is the log's when it was made, `content` is compressed."""

    key: LaneKey
    end: LogEnd
    content: bytes


async def put(
    connection: AsyncConnection, batch: Sequence[StoredCheckpoint], created_at: float
) -> None:
    """Store checkpoints, replacing their lanes' earlier checkpoints."""
    if batch:
        await connection.execute(
            _REPLACED,
            [{"p": checkpoint.key.phase_id, "s": checkpoint.key.server_id} for checkpoint in batch],
        )
        await connection.execute(
            sa.insert(checkpoints), [_row(checkpoint, created_at) for checkpoint in batch]
        )


async def get(connection: AsyncConnection, key: LaneKey) -> StoredCheckpoint | None:
    """Return a lane's checkpoint, or None."""
    query = sa.select(checkpoints).where(of_lane(checkpoints, key))
    row = (await connection.execute(query)).first()
    return None if row is None else _checkpoint(row)


async def get_all(
    connection: AsyncConnection, keys: Sequence[LaneKey]
) -> Mapping[LaneKey, StoredCheckpoint]:
    """Return the lane checkpoints, by lane."""
    query = sa.select(checkpoints).where(of_lanes(checkpoints, keys))
    checkpoints_read = [_checkpoint(row) for row in await connection.execute(query)]
    return {checkpoint.key: checkpoint for checkpoint in checkpoints_read}


async def ends(connection: AsyncConnection, phase_id: int) -> Mapping[int, LogEnd]:
    """Return the log ends that a phase's checkpoints cover, by server id."""
    query = sa.select(checkpoints.c.server_id, checkpoints.c.serial, checkpoints.c.revision)
    rows = await connection.execute(query.where(checkpoints.c.phase_id == phase_id))
    return {server: LogEnd(serial, revision) for server, serial, revision in rows}


async def delete(connection: AsyncConnection, keys: Iterable[LaneKey]) -> None:
    """Delete the lane checkpoints."""
    for key in keys:
        await connection.execute(sa.delete(checkpoints).where(of_lane(checkpoints, key)))


def _checkpoint(row: sa.Row[Any]) -> StoredCheckpoint:
    key = LaneKey(row.phase_id, row.server_id)
    return StoredCheckpoint(key, LogEnd(row.serial, row.revision), row.content)


def _row(checkpoint: StoredCheckpoint, created_at: float) -> dict[str, Any]:
    return {
        "phase_id": checkpoint.key.phase_id,
        "server_id": checkpoint.key.server_id,
        "serial": checkpoint.end.serial,
        "revision": checkpoint.end.revision,
        "created_at": created_at,
        "content": checkpoint.content,
    }


_REPLACED = sa.delete(checkpoints).where(
    checkpoints.c.phase_id == sa.bindparam("p"), checkpoints.c.server_id == sa.bindparam("s")
)
