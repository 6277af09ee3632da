"""Queries for lanes' logs: a lane's attempts by serial, with the accepted answers.

A log only grows, but for a requeue, which changes attempts and raises the lane's revision.
A checkpoint has the aggregates over a log up to a serial, one per lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import Corpus, LaneKey
from metaserver.base.records import Attempt, ServerName
from metaserver.store.database import read_first
from metaserver.store.reader import of_lane, of_lanes, read_attempt
from metaserver.store.rows import ANSWER, ATTEMPT, BatchRows
from metaserver.store.tables import answers, attempts, checkpoints, lanes


class LogEnd(NamedTuple):
    """The last serial in a lane's log, and the revision of its content."""

    serial: int = 0
    revision: int = 0


class LoggedAttempt(NamedTuple):
    """An attempt of a log, with the accepted answer that it brought, compressed as it is stored."""

    serial: int
    position: int
    attempt: Attempt
    final: bool
    hits_kept: int
    payloads: bytes | None


async def ends(
    connection: AsyncConnection, phase_id: int, server_id: int | None = None
) -> Mapping[int, LogEnd]:
    """Return the ends of the logs of a phase's lanes, or of one of them, by server id."""
    query = sa.select(lanes.c.server_id, lanes.c.serial, lanes.c.revision)
    query = query.where(lanes.c.phase_id == phase_id)
    if server_id is not None:
        query = query.where(lanes.c.server_id == server_id)
    rows = await connection.execute(query)
    return {server: LogEnd(serial, revision) for server, serial, revision in rows}


async def end(connection: AsyncConnection, key: LaneKey) -> LogEnd:
    """Return a lane's log end; an empty log's if there is no such lane."""
    query = sa.select(lanes.c.serial, lanes.c.revision).where(of_lane(lanes, key))
    row = (await connection.execute(query)).first()
    return LogEnd() if row is None else LogEnd(*row)


async def rows_after(
    connection: AsyncConnection, key: LaneKey, serial: int, *, limit: int
) -> Sequence[sa.Row[Any]]:
    """Return the first `limit` rows in a lane's log after a serial, for `decode`."""
    query = _LOG.where(of_lane(attempts, key), attempts.c.serial > serial)
    return (await connection.execute(query.limit(limit))).all()


async def new_rows(
    connection: AsyncConnection, phase_id: int, ranges: Mapping[int, tuple[int, int]]
) -> Sequence[sa.Row[Any]]:
    """Return rows for several of a phase's lanes, lane by lane, after a serial up to another.

    `ranges` has both by server id. In PostgreSQL only: it is for hubs with several processes.
    """
    parameters = {
        "phase": phase_id,
        "servers": list(ranges),
        "after": [after for after, _ in ranges.values()],
        "until": [until for _, until in ranges.values()],
        "most": max(until - after for after, until in ranges.values()),
    }
    return (await connection.execute(_NEW, parameters)).all()


def decode(
    rows: Sequence[sa.Row[Any]], server: ServerName, corpus: Corpus
) -> Sequence[LoggedAttempt]:
    """Return rows' attempts; slow for many: call it in a thread."""
    return [
        LoggedAttempt(
            serial=row.serial,
            position=row.position,
            attempt=read_attempt(row, server, corpus),
            final=row.final,
            hits_kept=row.hits_kept or 0,
            payloads=row.payloads,
        )
        for row in rows
    ]


_LOG = (
    sa.select(attempts, answers.c.hits_kept, answers.c.payloads)
    .outerjoin(
        answers,
        sa.and_(
            answers.c.phase_id == attempts.c.phase_id,
            answers.c.server_id == attempts.c.server_id,
            answers.c.position == attempts.c.position,
            answers.c.number == attempts.c.number,
        ),
    )
    .order_by(attempts.c.serial)
)
_WANTED = (
    sa.func.unnest(
        sa.bindparam("servers", type_=postgresql.ARRAY(sa.Integer)),
        sa.bindparam("after", type_=postgresql.ARRAY(sa.BigInteger)),
        sa.bindparam("until", type_=postgresql.ARRAY(sa.BigInteger)),
    )
    .table_valued("server_id", "after", "until")
    .render_derived(name="wanted")
)
_OF_LANE = (
    _LOG.where(
        attempts.c.phase_id == sa.bindparam("phase"),
        attempts.c.server_id == _WANTED.c.server_id,
        attempts.c.serial > _WANTED.c.after,
        attempts.c.serial <= _WANTED.c.until,
    )
    .limit(
        sa.bindparam("most")
    )  # so that each lane is looked up, also in tables without statistics
    .lateral("log")
)
_NEW = (
    sa.select(_OF_LANE)
    .select_from(_WANTED.join(_OF_LANE, sa.true()))
    .order_by(_OF_LANE.c.server_id, _OF_LANE.c.serial)
)


async def put(
    connection: AsyncConnection, key: LaneKey, batches: Iterable[BatchRows], cursor: int
) -> None:
    """Store the whole log of a lane that has none; the rows' own lanes do not count."""
    serial = 0
    for batch in batches:
        for table, columns, rows in (
            (attempts, ATTEMPT, batch.attempts),
            (answers, ANSWER, batch.answers),
        ):
            values = [dict(zip(columns, (*key, *row[len(key) :]), strict=True)) for row in rows]
            if values:
                await connection.execute(sa.insert(table), values)
        serial += len(batch.attempts)
    changed = {"serial": serial, "cursor": cursor}
    await connection.execute(sa.update(lanes).where(of_lane(lanes, key)).values(**changed))


class StoredCheckpoint(NamedTuple):
    """A checkpoint: `end` is the log's when it was made, `content` is compressed."""

    key: LaneKey
    end: LogEnd
    content: bytes


async def put_checkpoint(
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


async def get_checkpoint(connection: AsyncConnection, key: LaneKey) -> StoredCheckpoint | None:
    """Return a lane's checkpoint, or None."""
    query = sa.select(checkpoints).where(of_lane(checkpoints, key))
    return await read_first(connection, query, _checkpoint)


async def get_checkpoints(
    connection: AsyncConnection, keys: Sequence[LaneKey]
) -> Mapping[LaneKey, StoredCheckpoint]:
    """Return the lane checkpoints, by lane."""
    query = sa.select(checkpoints).where(of_lanes(checkpoints, keys))
    checkpoints_read = [_checkpoint(row) for row in await connection.execute(query)]
    return {checkpoint.key: checkpoint for checkpoint in checkpoints_read}


async def checkpoint_ends(connection: AsyncConnection, phase_id: int) -> Mapping[int, LogEnd]:
    """Return the log ends that a phase's checkpoints cover, by server id."""
    query = sa.select(checkpoints.c.server_id, checkpoints.c.serial, checkpoints.c.revision)
    rows = await connection.execute(query.where(checkpoints.c.phase_id == phase_id))
    return {server: LogEnd(serial, revision) for server, serial, revision in rows}


async def delete_checkpoints(connection: AsyncConnection, keys: Iterable[LaneKey]) -> None:
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
