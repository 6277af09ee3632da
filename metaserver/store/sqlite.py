"""A store in one SQLite file: its settings and its lock, which one hub holds."""

from __future__ import annotations

import fcntl
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from metaserver.base import files
from metaserver.base.errors import InputError
from metaserver.store.database import close, writing
from metaserver.store.schema import (
    newest_schema,
    require_newest_schema,
    stored_schema,
    upgrade,
)

BUSY_SECONDS = 5.0
LOG_BYTES = 2**24
"""The size of the write-ahead log above which the writer empties it: four times SQLite's mark."""
LOG_PAUSE, LOG_WAIT = 1.0, 0.05
"""Seconds between two trials to empty the log, and for which a trial waits for readers."""


def sqlite_engine(path: Path) -> AsyncEngine:
    """Return an engine on an SQLite file for everything but the writer."""
    url = sa.URL.create("sqlite+aiosqlite", database=str(path))
    engine = create_async_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)
    _prepare(engine.sync_engine)
    return engine


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

    SQLite copies the log into the database by itself, but begins it again only in a moment
    without readers: the busier the hub, the larger it grows. Here the writer waits `LOG_WAIT`
    for them; those that begin meanwhile read from the database. Where one reads for longer, as a
    backup does, the log grows by what is written until it ends.
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
    """Open (or create) the store in one file and lock it; raises `InputError` if it is in use.

    The lock is the operating system's, so a killed hub leaves none behind.
    """
    with _open_lock(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(path, "in use by another running hub; stop that one first") from None
        if not path.exists():  # noqa: ASYNC240 (once, at start)
            files.create(path).close()  # SQLite's files beside it get the same mode
        engine = sqlite_engine(path)
        try:
            await migrate(engine, path)
            yield engine
        finally:
            await close(engine)


def _open_lock(path: Path) -> IO[bytes]:
    try:
        return files.open_or_create(path.with_name(path.name + ".lock"))
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from error


@asynccontextmanager
async def reading_sqlite(path: Path) -> AsyncIterator[AsyncEngine]:
    """Open an existing store for reading, also while a hub uses it; it is not migrated."""
    engine = sqlite_engine(path)
    try:
        await require_newest_schema(engine, path)
        yield engine
    finally:
        await close(engine)
