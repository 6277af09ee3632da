"""Opening a store at its place; a database server's library is loaded only for its URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.ext.asyncio import AsyncEngine

from metaserver.base.errors import InputError, UnavailableError
from metaserver.store.place import PostgresUrl, StorePlace
from metaserver.store.sqlite import SqliteWriter, open_sqlite, reading_sqlite, writer_engine
from metaserver.store.writer import Writer

if TYPE_CHECKING:
    from metaserver.store.postgres import PostgresWriter

TAKEN_SECONDS = 5.0
"""Seconds for which a taken lock is waited for: a killed hub's connection may not have ended."""


@asynccontextmanager
async def opened(
    place: StorePlace, *, alone: bool = True
) -> AsyncIterator[tuple[AsyncEngine, Writer]]:
    """Open (or create) a store for the one hub that works it; `InputError` if it is unfit.

    Raises `UnavailableError` if another hub keeps a database locked: the other may be ending.
    A hub of several processes opens it in each, none of them `alone`: in PostgreSQL only.
    The writer does not run yet.
    """
    if isinstance(place, Path):
        async with open_sqlite(place) as engine:
            writer: Writer = SqliteWriter(writer_engine(place), place)
            try:
                yield engine, writer
            finally:
                await writer.close()
        return
    from metaserver.store.postgres import PostgresWriter, connecting, open_postgres

    async with open_postgres(place, "hub") as engine:
        copying = PostgresWriter(connecting(place, "writer", seconds=10.0), place, alone=alone)
        try:
            await _taken(copying, place)
            yield engine, copying
        finally:
            await copying.close()


async def _taken(writer: PostgresWriter, place: PostgresUrl) -> None:
    """Open the writer's connection, waiting a little for a hub that is ending."""
    deadline = asyncio.get_running_loop().time() + TAKEN_SECONDS
    while True:
        try:
            await writer.open()
            return
        except UnavailableError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise UnavailableError(error.reason, str(place)) from None
            await asyncio.sleep(0.1)


async def is_made(place: StorePlace) -> bool:
    """Return whether there is a store at a place, with whatever schema."""
    if isinstance(place, Path):
        return place.exists()
    from metaserver.store.postgres import has_schema

    return await has_schema(place)


async def wait_for(place: StorePlace) -> None:
    """Wait while the server of a database is away; a file is there or can be made."""
    if not isinstance(place, Path):
        from metaserver.store.postgres import wait_for_server

        await wait_for_server(place)


@asynccontextmanager
async def making(place: StorePlace) -> AsyncIterator[None]:
    """Make a store if there is none; an existing store is brought up to date."""
    if isinstance(place, Path):
        async with open_sqlite(place):
            yield
        return
    from metaserver.store.postgres import open_postgres

    async with open_postgres(place, "start"):
        yield


@asynccontextmanager
async def opened_for_reading(place: StorePlace) -> AsyncIterator[AsyncEngine]:
    """Open an existing store for reading, also while a hub writes to it; it is not migrated."""
    if isinstance(place, Path):
        if not place.is_file():
            raise InputError(place, "there is no store; expected one that a hub has written")
        async with reading_sqlite(place) as engine:
            yield engine
        return
    from metaserver.store.postgres import reading_postgres

    async with reading_postgres(place) as engine:
        yield engine
