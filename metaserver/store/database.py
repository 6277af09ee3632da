"""Connections of either database, for reading and writing, and its errors."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.base.errors import UnavailableError
from metaserver.store.place import StorePlace

T = TypeVar("T")


def read_row(row: sa.Row[Any], kind: type[T], **values: Any) -> T:
    """Return a row as a dataclass or struct: its columns by name, or the `values` in their place.

    Example: `read_row(row, Team, notices=NoticePlan())`.
    """
    columns = {str(name): value for name, value in row._asdict().items()}  # a key may be quoted
    return msgspec.convert(columns | values, kind)


async def read_first(
    connection: AsyncConnection,
    query: sa.Select[Any],
    kind: type[T] | Callable[[sa.Row[Any]], T],
) -> T | None:
    """Return the first row of a query as a dataclass or struct, or as a function makes it, or None.

    Example: `await read_first(connection, sa.select(persons).where(persons.c.id == 7), Person)`.
    """
    row = (await connection.execute(query.limit(1))).first()
    if row is None:
        return None
    return read_row(row, kind) if isinstance(kind, type) else kind(row)


# -- errors of a database: those that pass, and those of what was to be stored ---------------------
# By SQLSTATE where PostgreSQL says one: the classes of a driver's errors differ by where a
# connection breaks.

_PASSING: Final = (
    "08",  # the connection
    "0A000",  # a cached plan that a migration has outdated
    "25006",  # the server is read-only, or a standby
    "25P03",  # it ended a transaction that stood idle
    "40001",  # transactions that exclude one another
    "40P01",  # a deadlock
    "53",  # no room, no memory, too many connections
    "55P03",  # a lock that was not had in time
    "57014",  # a statement that took too long
    "57P",  # it stops, has crashed or does not accept connections yet
    "58",  # its files
)
"""SQLSTATEs, or their beginnings, for errors that pass: it is worth trying again."""
_THERE_ALREADY: Final = "23505"
LOST: Final = "the connection to the database was lost"


def unavailable(error: BaseException, connection: sa.Connection | None = None) -> str | None:
    """Return why nothing can be stored or read now; None if the error lies in the query.

    `connection` is the connection in use when the error came; None while connecting.
    """
    if isinstance(error, sa.exc.DBAPIError):
        if isinstance(error.orig, sqlite3.Error):
            return str(error.orig) if isinstance(error, sa.exc.OperationalError) else None
        if error.connection_invalidated or passes(error.orig):
            return said(error.orig)
        return None
    if isinstance(error, UnavailableError):
        return error.reason
    if passes(error) or is_cut_off(error):
        return said(error)
    if not isinstance(error, (OSError, TimeoutError, sa.exc.TimeoutError)):
        return None
    return said(error) if connection is None or is_lost(connection) else None


def is_lost(connection: sa.Connection) -> bool:
    """Return whether the connection to a database server has ended."""
    if connection.dialect.name == "sqlite":
        return False
    if connection.closed or connection.invalidated:
        return True
    driver = connection.connection.driver_connection
    return driver is None or bool(driver.is_closed())


def passes(error: BaseException | None) -> bool:
    """Return whether a PostgreSQL error is worth retrying."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_PASSING)


def is_cut_off(error: BaseException) -> bool:
    """Return whether asyncpg found its connection closed, or in an unusable state.

    A server that ends a connection may say so before any query; the next query, until the
    connection is closed, fails with the driver's internal error.
    """
    name = type(error).__name__  # the driver is loaded for its URL alone
    return name == "InternalClientError" or (name == "InterfaceError" and "closed" in str(error))


def is_there_already(error: BaseException) -> bool:
    """Return whether a row is refused because its key exists."""
    if isinstance(error, sa.exc.IntegrityError):
        return True
    return getattr(error, "sqlstate", None) == _THERE_ALREADY


def said(error: BaseException | None) -> str:
    """Return an error's message on one line, without the classes that drivers put before it."""
    cause = getattr(error, "__cause__", None) or error
    if cause is not None and is_cut_off(cause):
        return LOST
    text = " ".join(str(cause).split())
    return text or type(cause).__name__


# -- connections of either database: for reading, and in a transaction that writes -----------------

CLOSE_SECONDS = 2.0


@asynccontextmanager
async def writing(
    engine: AsyncEngine, place: StorePlace, *, in_turn: bool = True
) -> AsyncIterator[AsyncConnection]:
    """Yield a connection in a write transaction, `in_turn`: only one such writer at a time.

    Raises `UnavailableError` if writing fails.
    """
    async with _connected(engine, place) as connection, _available(connection, place):
        await connection.execution_options(writes=in_turn)
        async with connection.begin():
            yield connection


@asynccontextmanager
async def reading(engine: AsyncEngine, place: StorePlace) -> AsyncIterator[AsyncConnection]:
    """Yield a connection that only reads; raises `UnavailableError` while none can be had.

    A file can be read whatever is the matter with it; a database server can be away.
    """
    if engine.dialect.name == "sqlite":
        async with engine.connect() as connection:
            yield connection
        return
    async with _connected(engine, place) as connection, _available(connection, place):
        yield connection


@asynccontextmanager
async def _available(connection: AsyncConnection, place: StorePlace) -> AsyncIterator[None]:
    """Turn a fault that says the database is away into `UnavailableError`."""
    try:
        yield
    except UnavailableError:
        raise
    except Exception as error:  # a cursor's are the driver's own
        if (reason := unavailable(error, connection.sync_connection)) is None:
            raise
        raise UnavailableError(reason, str(place)) from error


@asynccontextmanager
async def _connected(engine: AsyncEngine, place: StorePlace) -> AsyncIterator[AsyncConnection]:
    connection = engine.connect()
    try:
        await connection.start()
    except (sa.exc.DBAPIError, sa.exc.TimeoutError, OSError, TimeoutError) as error:
        reason = unavailable(error)
        if reason is None and engine.dialect.name == "sqlite":
            raise
        raise UnavailableError(reason or said(getattr(error, "orig", error)), str(place)) from error
    try:
        yield connection
    finally:
        try:
            await connection.__aexit__(None, None, None)  # to its end, also when cancelled
        except Exception:
            driver = connection.sync_connection
            if driver is not None and not is_lost(driver):
                raise  # else all that was read or committed before is had all the same


async def insert(connection: AsyncConnection, table: sa.Table, row: Mapping[str, Any]) -> int:
    """Insert a row; return its id."""
    key = (await connection.execute(sa.insert(table).values(**row))).inserted_primary_key
    assert key is not None
    return int(key[0])


async def close(engine: AsyncEngine) -> None:
    """Close an engine's connections, waiting at most `CLOSE_SECONDS` for readers to finish."""
    pool = engine.pool
    assert isinstance(pool, sa.AsyncAdaptedQueuePool)
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            while pool.checkedout():  # noqa: ASYNC110 (a pool has no event)
                await asyncio.sleep(0.01)
    with suppress(TimeoutError):  # a server that was cut off says no farewell
        async with asyncio.timeout(CLOSE_SECONDS):
            await engine.dispose()
