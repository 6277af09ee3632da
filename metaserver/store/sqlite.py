"""A store in one SQLite file: its settings, its lock, which one hub holds, and its writer."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import WeakSet

import aiosqlite
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql.compiler import SQLCompiler

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.base.lanes import AttemptRecord, LaneKey
from metaserver.store import rows
from metaserver.store.database import CLOSE_SECONDS, close, writing
from metaserver.store.schema import (
    newest_schema,
    require_newest_schema,
    stored_schema,
    upgrade,
)
from metaserver.store.tables import answers, attempts, lanes, raw_answers
from metaserver.store.writer import TRIAL_BYTES, Writer, stale_error

BUSY_SECONDS = 5.0
FETCHED = 64
"""Rows that a cursor takes at once: the driver's own number."""
LOG_BYTES = 2**24
"""The size of the write-ahead log above which the writer empties it: four times SQLite's mark."""
LOG_PAUSE, LOG_WAIT = 1.0, 0.05
"""Seconds between two trials to empty the log, and for which a trial waits for readers."""


class _Connection(aiosqlite.Connection):
    """A connection whose thread is stopped once, and whose end can be awaited.

    If a task is cancelled while its connection closes, SQLAlchemy stops the connection, and the
    closing, which goes on beside it, stops it again: that waits for ever for a thread that has
    ended, and the loop with it (wapiti 802).
    """

    ending: asyncio.Future[Any] | None = None

    def stop(self) -> asyncio.Future[Any] | None:
        if self.ending is None:
            self.ending = super().stop()
        return self.ending


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[AsyncEngine]:
    """Yield an engine on an SQLite file for everything but the writer; then close it.

    The threads of its connections have ended then: a thread that answers a closed loop fails.
    """
    connections: WeakSet[_Connection] = WeakSet()

    def connect(database: str, **options: Any) -> _Connection:
        connection = _Connection(partial(sqlite3.connect, database, **options), FETCHED)
        connection._thread.daemon = True  # noqa: SLF001 (as SQLAlchemy does for its own)
        connections.add(connection)
        return connection

    engine = create_async_engine(
        sa.URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS, "async_creator_fn": connect},
        hide_parameters=True,
    )
    _prepare(engine.sync_engine)
    try:
        yield engine
    finally:
        await close(engine)
        if endings := [each.ending for each in connections if each.ending is not None]:
            await asyncio.wait(endings, timeout=CLOSE_SECONDS)


def writer_engine(path: Path) -> sa.Engine:
    """Return an engine for the writer's own thread (ADR 6)."""
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(
        url,
        connect_args={"timeout": BUSY_SECONDS},
        execution_options={"writes": True},
        hide_parameters=True,
    )
    _prepare(engine)
    _bound_log(engine, path)
    return engine


def _bound_log(engine: sa.Engine, path: Path) -> None:
    """Empty the write-ahead log after a transaction that left it larger than `LOG_BYTES`.

    SQLite copies the log into the database by itself, but begins it again only in a moment without
    readers: the busier the hub, the larger it grows. Here the writer waits `LOG_WAIT` for them;
    those that begin meanwhile read from the database. If a reader takes longer, as a backup does,
    the log grows until it ends.
    """
    log = path.with_name(path.name + "-wal")
    tried = -LOG_PAUSE

    @sa.event.listens_for(engine, "checkin")
    def _empty(connection: Any, _record: object) -> None:
        nonlocal tried
        if connection is None or _size(log) <= LOG_BYTES or time.monotonic() < tried + LOG_PAUSE:
            return
        tried = time.monotonic()
        with suppress(sqlite3.Error):  # what was written is committed; the next commit says it
            connection.execute(f"PRAGMA busy_timeout={LOG_WAIT * 1e3:.0f}")
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1e3:.0f}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _prepare(engine: sa.Engine) -> None:
    """Set WAL mode, and let the engine instead of the driver begin transactions.

    `synchronous=NORMAL` is safe against a killed process. A power cut may lose the last answers,
    never their order: their articles are sent again.
    """

    @sa.event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        immediate = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


async def migrate(engine: AsyncEngine, path: Path) -> None:
    """Migrate the schema to the newest version; a database of a newer hub is refused."""
    if await stored_schema(engine) == newest_schema():
        return
    try:
        async with writing(engine, path) as connection:
            await upgrade(connection, path)
    except sa.exc.DatabaseError as error:
        raise InputError(path, f"not a hub's SQLite store: {error.orig}") from error


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[AsyncEngine]:
    """Open (or create) the store in a file and lock it; raises `InputError` if it is in use.

    The lock is the operating system's, so a killed hub leaves none behind.
    """
    with _open_lock(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(path, "in use by another running hub; stop that one first") from None
        if not path.exists():  # noqa: ASYNC240 (once, at start)
            files.create(path).close()  # SQLite's files beside it get the same mode
        async with _opened(path) as engine:
            await migrate(engine, path)
            yield engine


def _open_lock(path: Path) -> IO[bytes]:
    try:
        return files.open_or_create(path.with_name(path.name + ".lock"))
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from error


@asynccontextmanager
async def reading_sqlite(path: Path) -> AsyncIterator[AsyncEngine]:
    """Open an existing store for reading, also while a hub uses it; it is not migrated."""
    async with _opened(path) as engine:
        await require_newest_schema(engine, path)
        yield engine


# -- the writer of a store in SQLite: transactions in a thread of its own (ADR 6) ------------------

RETRY_SECONDS = 1.0


class SqliteWriter(Writer):
    """A file's writer: failed writes are repeated every second.

    A file has one transaction that writes at a time. Those of the hub take turns here, and not by
    SQLite's time-out: a loop that stands still ends no transaction of its own, however short.
    """

    def __init__(self, engine: sa.Engine, place: Path) -> None:
        super().__init__(place, asyncio.Lock())
        self._engine = engine
        self._inserts = _Inserts(engine)
        self._thread = ThreadPoolExecutor(1, "store-writer")

    async def _commit(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
        async with self.turn:
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

    SQLAlchemy writes each statement once. Dictionary rows would pass through it each time, which
    takes longer than the database takes per row.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.attempts = _statement(engine, attempts, rows.ATTEMPT)
        self.raw = _statement(engine, raw_answers, rows.RAW)
        self.answers = _statement(engine, answers, rows.ANSWER)


def _statement(engine: sa.Engine, table: sa.Table, columns: Sequence[str]) -> str:
    """Return an insert for rows with these columns, as the driver takes it."""
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
            _require_space(engine)
            return []
        standings = _standings(connection, {entry.lane for entry in batch})
        numbered = list(rows.numbered(batch, standings))
        if fresh := [(entry, serial) for entry, serial in numbered if serial]:
            _insert(connection, inserts, rows.rows_of(fresh))
    return [serial or stale_error() for _, serial in numbered]


def _require_space(engine: sa.Engine) -> None:
    """Raise `OSError` if the disk of a file has no space."""
    assert engine.url.database is not None
    with TemporaryFile(dir=Path(engine.url.database).parent) as file:
        os.posix_fallocate(file.fileno(), 0, TRIAL_BYTES)


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
