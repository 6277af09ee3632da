"""Connections of either database: for reading, and in a transaction that writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.base.errors import UnavailableError
from metaserver.store.faults import is_lost, said, unavailable
from metaserver.store.place import StorePlace

CLOSE_SECONDS = 2.0


@asynccontextmanager
async def writing(
    engine: AsyncEngine, place: StorePlace, *, in_turn: bool = True
) -> AsyncIterator[AsyncConnection]:
    """Yield a connection in a write transaction, `in_turn`: one at a time of all who write so.

    Raises `UnavailableError` where writing fails.
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
    except (sa.exc.DBAPIError, OSError, TimeoutError) as error:
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
        except (sa.exc.DBAPIError, OSError, TimeoutError):
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
