"""The writer of a store in SQLite: transactions in a thread of its own (ADR 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from metaserver.base.errors import HubError
from metaserver.base.lanes import AttemptRecord, LaneKey
from metaserver.store import rows
from metaserver.store.tables import answers, attempts, lanes, raw_answers
from metaserver.store.writer import Writer, stale_error

RETRY_SECONDS = 1.0


class SqliteWriter(Writer):
    """The writer of a file: what it cannot write now it tries again every second."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__()
        self._engine = engine
        self._inserts = _Inserts(engine)
        self._thread = ThreadPoolExecutor(1, "store-writer")

    async def _commit(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, _commit, self._engine, self._inserts, batch
        )

    def _pause(self, failures: int) -> float:
        return RETRY_SECONDS

    async def close(self) -> None:
        """Wait for a batch under way, which is written to its end, and close the connection."""
        self._thread.shutdown()
        self._engine.dispose()


class _Inserts:
    """The statements that insert a batch; each row is a tuple of its table's columns in order.

    SQLAlchemy writes each statement once. A row of dictionaries would pass through it each time,
    which takes longer than the database takes for the row.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.attempts = _statement(engine, attempts, rows.ATTEMPT)
        self.raw = _statement(engine, raw_answers, rows.RAW)
        self.answers = _statement(engine, answers, rows.ANSWER)


def _statement(engine: sa.Engine, table: sa.Table, columns: Sequence[str]) -> str:
    """Return an insert of rows of these columns, as the driver takes it."""
    compiled = sa.insert(table).compile(engine, column_keys=list(columns))
    assert isinstance(compiled, SQLCompiler)
    assert compiled.positiontup == list(columns)  # else the rows' values would be mixed up
    return compiled.string


def _commit(
    engine: sa.Engine, inserts: _Inserts, batch: Sequence[AttemptRecord]
) -> Sequence[int | HubError]:
    with engine.begin() as connection:
        if not batch:
            connection.exec_driver_sql("PRAGMA user_version = 0")
            return []
        standings = _standings(connection, {entry.lane for entry in batch})
        serials = list(rows.numbered(batch, standings))
        fresh = [(entry, serial) for entry, serial in zip(batch, serials, strict=True) if serial]
        if fresh:
            _insert(connection, inserts, rows.rows_of(fresh))
    return [serial or stale_error() for serial in serials]


def _insert(connection: sa.Connection, inserts: _Inserts, batch_rows: rows.BatchRows) -> None:
    connection.exec_driver_sql(inserts.attempts, list(batch_rows.attempts))
    if batch_rows.raw:
        connection.exec_driver_sql(inserts.raw, list(batch_rows.raw))
    if batch_rows.answers:
        connection.exec_driver_sql(inserts.answers, list(batch_rows.answers))
    progress = [
        {"p": lane.phase_id, "s": lane.server_id, "c": cursor, "n": serial}
        for lane, serial, cursor in batch_rows.progress
    ]
    connection.execute(_PROGRESS, progress)


_PROGRESS = (
    sa.update(lanes)
    .where(lanes.c.phase_id == sa.bindparam("p"), lanes.c.server_id == sa.bindparam("s"))
    .values(serial=sa.bindparam("n"), cursor=sa.func.coalesce(sa.bindparam("c"), lanes.c.cursor))
)
_STANDINGS = sa.select(lanes.c.phase_id, lanes.c.server_id, lanes.c.epoch, lanes.c.serial).where(
    sa.tuple_(lanes.c.phase_id, lanes.c.server_id).in_(sa.bindparam("keys", expanding=True))
)


def _standings(connection: sa.Connection, keys: set[LaneKey]) -> dict[LaneKey, rows.LaneStanding]:
    result = connection.execute(_STANDINGS, {"keys": [tuple(key) for key in keys]})
    return {
        LaneKey(phase, server): rows.LaneStanding(epoch, serial)
        for phase, server, epoch, serial in result
    }
