"""The database connection: settings, migration to the newest schema, one-hub lock."""

from __future__ import annotations

import asyncio
import fcntl
import functools
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from metaserver.files import private
from metaserver.model.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from alembic.config import Config

BUSY_SECONDS = 5.0
CLOSE_SECONDS = 2.0
LOG_BYTES = 2**24
"""The size of the write-ahead log above which the writer empties it: four times SQLite's mark."""
LOG_PAUSE, LOG_WAIT = 1.0, 0.05
"""Seconds between two trials to empty the log, and for which a trial waits for readers."""


def sqlite_engine(path: Path) -> AsyncEngine:
    """Return an engine on an SQLite file for everything but the writer."""
    url = sa.URL.create("sqlite+aiosqlite", database=str(path))
    engine = create_async_engine(url, connect_args={"timeout": BUSY_SECONDS})
    _prepare(engine.sync_engine)
    return engine


def writer_engine(path: Path) -> sa.Engine:
    """Return an engine for the writer's own thread (ADR 6)."""
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(
        url, connect_args={"timeout": BUSY_SECONDS}, execution_options={"writes": True}
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


@functools.cache
def newest_schema() -> str:
    """Return the newest schema that this hub knows; Alembic takes longer to load than to say it."""
    versions = files("metaserver.store") / "migrations" / "versions"
    chain = {
        _revision("revision", text): _revision("down_revision", text)
        for text in (item.read_text("utf-8") for item in versions.iterdir() if item.is_file())
    }
    [newest] = chain.keys() - chain.values()
    return newest


def _revision(name: str, migration: str) -> str:
    found = re.search(rf'^{name} = "?(\w+)"?$', migration, re.MULTILINE)
    assert found is not None, migration
    return found[1]


def alembic_config() -> Config:
    """Return the migrations' configuration, without an ini file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "metaserver.store:migrations")
    config.set_main_option("path_separator", "os")
    return config


@asynccontextmanager
async def writing(engine: AsyncEngine, place: Path) -> AsyncIterator[AsyncConnection]:
    """Yield a connection in a write transaction; raises `UnavailableError` where writing fails."""
    try:
        async with engine.connect() as connection:
            connection = await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection
    except sa.exc.OperationalError as error:
        raise UnavailableError(str(error.orig), place) from error


async def insert(connection: AsyncConnection, table: sa.Table, row: Mapping[str, Any]) -> int:
    """Insert a row; return its id."""
    key = (await connection.execute(sa.insert(table).values(**row))).inserted_primary_key
    assert key is not None
    return int(key[0])


async def migrate(engine: AsyncEngine, place: Path) -> None:
    """Migrate the schema to the newest version; a database of a newer hub is refused."""
    if await _schema(engine) != newest_schema():
        await _upgrade(engine, place)


async def _schema(engine: AsyncEngine) -> str | None:
    """Return the schema of a database; None where it has none, or cannot be read."""
    try:
        async with engine.connect() as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DatabaseError:
        return None
    return None if found is None else str(found)


async def _upgrade(engine: AsyncEngine, place: Path) -> None:
    # Not at each start: loading it takes 0.2 s of a core, 7 % of a start.
    from alembic import command
    from alembic.util import CommandError

    def upgrade(connection: sa.Connection) -> None:
        config = alembic_config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise InputError(
                place,
                f"this hub knows its store up to schema {newest_schema()} and cannot read this one "
                f"({error}); use the hub's version that wrote it",
            ) from error

    try:
        async with writing(engine, place) as connection:
            await connection.run_sync(upgrade)
    except sa.exc.DatabaseError as error:
        raise InputError(place, f"not a hub's SQLite store: {error.orig}") from error


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
            private.create(path).close()  # SQLite's files beside it get the same mode
        engine = sqlite_engine(path)
        try:
            await migrate(engine, path)
            yield engine
        finally:
            await _close(engine)


def _open_lock(path: Path) -> IO[bytes]:
    try:
        return private.open_or_create(path.with_name(path.name + ".lock"))
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from error


async def _close(engine: AsyncEngine) -> None:
    """Close an engine's connections, waiting at most `CLOSE_SECONDS` for readers to finish."""
    pool = engine.pool
    assert isinstance(pool, sa.AsyncAdaptedQueuePool)
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            while pool.checkedout():  # noqa: ASYNC110 (a pool has no event)
                await asyncio.sleep(0.01)
    await engine.dispose()


@asynccontextmanager
async def reading_sqlite(path: Path) -> AsyncIterator[AsyncEngine]:
    """Open an existing store for reading, also while a hub uses it; it is not migrated."""
    engine = sqlite_engine(path)
    try:
        await _require_newest_schema(engine, path)
        yield engine
    finally:
        await _close(engine)


async def _require_newest_schema(engine: AsyncEngine, place: Path) -> None:
    newest = newest_schema()
    try:
        async with engine.connect() as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DatabaseError as error:
        raise InputError(place, f"not a hub's SQLite store: {error.orig}") from error
    if found != newest:
        raise InputError(
            place, f"has schema {found}, this command reads {newest}; run its hub once"
        )
