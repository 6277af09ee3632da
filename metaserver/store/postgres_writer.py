"""The writer of a store in PostgreSQL: batches by COPY on a connection of its own (ADR 67)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

import asyncpg

from metaserver.base.errors import HubError, UnavailableError
from metaserver.base.lanes import AttemptRecord, LaneKey
from metaserver.base.states import Backoff
from metaserver.store import rows
from metaserver.store.postgres import Connect, PgConnection, take_store
from metaserver.store.writer import Writer, stale_error

RETRY: Final = Backoff(base=0.05, cap=2.0)
CLOSE_SECONDS = 2.0
LOOK_SECONDS = 1.0
"""Seconds between two looks whether the connection is there, whose lock keeps other hubs out."""

_STANDINGS = """
SELECT phase_id, server_id, epoch, serial
FROM lanes JOIN unnest($1::int[], $2::int[]) AS asked (phase_id, server_id)
USING (phase_id, server_id)
ORDER BY phase_id, server_id FOR NO KEY UPDATE OF lanes
"""
_KNOWN = """
SELECT phase_id, server_id, position, number, epoch, serial
FROM attempts
JOIN unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::bigint[])
  AS asked (phase_id, server_id, position, number, epoch)
USING (phase_id, server_id, position, number, epoch)
"""
_PROGRESS = """
UPDATE lanes SET serial = made.serial, cursor = coalesce(made.cursor, lanes.cursor)
FROM unnest($1::int[], $2::int[], $3::bigint[], $4::int[])
  AS made (phase_id, server_id, serial, cursor)
WHERE lanes.phase_id = made.phase_id AND lanes.server_id = made.server_id
"""
_TRIAL = "UPDATE hub_keys SET value = value"
"""Changes nothing, and fails where nothing can be written: a read-only server, a full disk."""


class PostgresWriter(Writer):
    """The writer of a database: what it cannot write now it tries again, on a new connection.

    Its row locks on lanes keep an earlier holder from committing after a later one has read where
    the lane stands. A commit whose end was not heard of is looked up before it is sent again.
    Its connection holds the lock of the one hub that has the store; those of the processes of a hub
    that are not `alone` hold it together.
    """

    def __init__(self, connect: Connect, *, alone: bool) -> None:
        super().__init__()
        self._connect = connect
        self._alone = alone
        self._connection: PgConnection | None = None
        self._unheard = False  # of the end of a commit
        self._committing: asyncio.Future[Sequence[int | HubError]] | None = None

    async def run(self) -> None:
        """Write until cancelled; a lost connection is opened again though nothing waits."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name="writing")
            group.create_task(self._look(), name="looking at the connection")

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._connection is not None and self._connection.is_closed():
                self._wake.set()  # tries to write, on a new connection

    async def open(self) -> PgConnection:
        """Return the connection, a new one where it is lost; raises `UnavailableError` for none."""
        if self._connection is None or self._is_lost:
            connection = await self._connect()
            try:
                await take_store(connection, alone=self._alone)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    async def _commit(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
        self._committing = asyncio.ensure_future(self._try(batch))
        return await asyncio.shield(self._committing)  # cancelled, it is written to its end

    async def _try(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
        try:
            connection = await self.open()
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise UnavailableError(str(error) or type(error).__name__) from error
        try:
            async with connection.transaction():
                serials = await self._write_rows(connection, batch)
        except BaseException as error:
            if self._unavailable(error) is not None or not isinstance(error, Exception):
                self._unheard = True
                self._drop()
            raise
        self._unheard = False
        return serials

    async def _write_rows(
        self, connection: PgConnection, batch: Sequence[AttemptRecord]
    ) -> Sequence[int | HubError]:
        if not batch:
            await connection.execute(_TRIAL)
            return []
        standings = await _standings(connection, {entry.lane for entry in batch})
        stored = await _known(connection, batch) if self._unheard else {}
        unstored = [entry for entry in batch if _row_key(entry) not in stored]
        serials = list(rows.numbered(unstored, standings))
        fresh = [(entry, serial) for entry, serial in zip(unstored, serials, strict=True) if serial]
        if fresh:
            await _copy(connection, rows.rows_of(fresh))
        new_serials = iter(serials)
        all_serials = (stored.get(_row_key(entry)) or next(new_serials) for entry in batch)
        return [serial or stale_error() for serial in all_serials]

    def _unavailable(self, error: BaseException) -> str | None:
        reason = super()._unavailable(error)
        if reason is None and (self._is_lost or _is_out_of_step(error)):
            return "the connection to the database was lost"
        return reason

    @property
    def _is_lost(self) -> bool:
        return self._connection is None or self._connection.is_closed()

    def _pause(self, failures: int) -> float:
        return RETRY.base / 2 + RETRY.wait(failures, random.Random())

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """Wait for a batch under way, which is written to its end, and close the connection."""
        if self._committing is not None:
            await asyncio.wait([self._committing], timeout=CLOSE_SECONDS)
            self._committing.cancel()
        self._drop()


def _is_out_of_step(error: BaseException | None) -> bool:
    """Return whether asyncpg and the server have lost each other, though a connection is open.

    So it is where the server said its last word between two calls; errors of the calls that end the
    transaction hide it.
    """
    while error is not None and not isinstance(error, asyncpg.InternalClientError):
        error = error.__context__
    return error is not None


_Key = tuple[int, int, int, int, int]


def _row_key(entry: AttemptRecord) -> _Key:
    return (*entry.lane, entry.position, entry.attempt.number, entry.epoch)


async def _standings(
    connection: PgConnection, keys: Set[LaneKey]
) -> Mapping[LaneKey, rows.LaneStanding]:
    """Lock lanes, in the order of their keys, and return how they stand."""
    rows_found = await connection.fetch(_STANDINGS, *_columns(keys, 2))
    return {
        LaneKey(phase, server): rows.LaneStanding(epoch, serial)
        for phase, server, epoch, serial in rows_found
    }


async def _known(connection: PgConnection, batch: Iterable[AttemptRecord]) -> Mapping[_Key, int]:
    """Return the serials of those attempts that are stored already, under the same epoch."""
    records = await connection.fetch(_KNOWN, *_columns(map(_row_key, batch), 5))
    return {tuple(key): serial for *key, serial in records}


async def _copy(connection: PgConnection, batch_rows: rows.BatchRows) -> None:
    for table, columns, records in (
        ("attempts", rows.ATTEMPT, batch_rows.attempts),
        ("raw_answers", rows.RAW, batch_rows.raw),
        ("answers", rows.ANSWER, batch_rows.answers),
    ):
        if records:
            await connection.copy_records_to_table(table, columns=columns, records=records)
    progress = ((*lane, serial, cursor) for lane, serial, cursor in batch_rows.progress)
    await connection.execute(_PROGRESS, *_columns(progress, 4))


def _columns(records: Iterable[Sequence[int | None]], count: int) -> Sequence[Sequence[int | None]]:
    """Return the columns of rows, as `unnest` takes them."""
    return [list(column) for column in zip(*records, strict=True)] or [[]] * count
