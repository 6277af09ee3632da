"""Queries for changes of servers' states on the monitor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import LaneKey, StateChange
from metaserver.base.states import ServerState
from metaserver.store.database import read_row
from metaserver.store.reader import of_lanes
from metaserver.store.tables import state_changes


async def add(connection: AsyncConnection, changes: Sequence[StateChange]) -> None:
    """Store changes, in the order they occurred."""
    rows = [
        {
            "phase_id": change.key.phase_id,
            "server_id": change.key.server_id,
            "at": change.at,
            "state": change.state.value,
            "note": change.note,
        }
        for change in changes
    ]
    if rows:
        await connection.execute(sa.insert(state_changes), rows)


async def list_changes(
    connection: AsyncConnection, key: LaneKey, *, since: float = 0.0, limit: int | None = None
) -> Sequence[StateChange]:
    """Return a lane's changes from `since` (Unix seconds) on and the change before, oldest first.

    `limit` restricts them to the newest.
    """
    return (await list_changes_of(connection, [key], since=since, limit=limit)).get(key, ())


async def list_changes_of(
    connection: AsyncConnection,
    keys: Sequence[LaneKey],
    *,
    since: float,
    limit: int | None = None,
) -> Mapping[LaneKey, Sequence[StateChange]]:
    """Return each lane's changes from `since` (Unix seconds) on and the change before.

    `limit` restricts them to the newest of all lanes together.
    """
    lanes = of_lanes(state_changes, keys)
    before = (
        sa.select(sa.func.max(state_changes.c.id))
        .where(lanes, state_changes.c.at < since)
        .group_by(state_changes.c.phase_id, state_changes.c.server_id)
    )
    recent = sa.or_(state_changes.c.at >= since, state_changes.c.id.in_(before))
    query = sa.select(state_changes).where(lanes, recent).order_by(state_changes.c.id.desc())
    rows = (await connection.execute(query.limit(limit))).all()
    by_lane: dict[LaneKey, list[StateChange]] = {}
    for change in map(_change, reversed(rows)):
        by_lane.setdefault(change.key, []).append(change)
    return by_lane


async def newest(
    connection: AsyncConnection,
    phase_id: int,
    among: Collection[ServerState] = tuple(ServerState),
    *,
    server_id: int | None = None,
) -> Mapping[int, StateChange]:
    """Return the last change of a phase's lanes, or one of them, by server id; `among` states."""
    wanted = state_changes.c.state.in_([state.value for state in among])
    last = (
        sa.select(sa.func.max(state_changes.c.id))
        .where(state_changes.c.phase_id == phase_id, wanted)
        .group_by(state_changes.c.server_id)
    )
    if server_id is not None:
        last = last.where(state_changes.c.server_id == server_id)
    query = sa.select(state_changes).where(state_changes.c.id.in_(last))
    rows = await connection.execute(query)
    return {row.server_id: _change(row) for row in rows}


async def last(connection: AsyncConnection) -> int:
    """Return the newest change's id; 0 without changes."""
    return await connection.scalar(sa.select(sa.func.max(state_changes.c.id))) or 0


async def after(connection: AsyncConnection, last_id: int) -> Sequence[StateChange]:
    """Return all lanes' changes after a given change, in order."""
    query = sa.select(state_changes).where(state_changes.c.id > last_id)
    rows = await connection.execute(query.order_by(state_changes.c.id))
    return [_change(row) for row in rows]


def _change(row: sa.Row[Any]) -> StateChange:
    return read_row(row, StateChange, key=LaneKey(row.phase_id, row.server_id))
