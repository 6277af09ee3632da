"""Errors of PostgreSQL: what they say in logs and on pages, without the values of rows."""

import io
import logging
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
import sqlalchemy as sa
import structlog

from metaserver.base.plans import LogFormat
from metaserver.cli.logs import configure
from metaserver.store.database import close, said, writing
from metaserver.store.place import PostgresUrl
from metaserver.store.postgres import PgConnection, connecting, postgres_engine
from metaserver.store.tables import hub_keys

SECRET = "hush-d3ccaf6eff75db87"
INSERT = "INSERT INTO hub_keys VALUES ($1, '')"
log = logging.getLogger("metaserver.tests")


@pytest.fixture
async def connection(url: PostgresUrl) -> AsyncIterator[PgConnection]:
    connection = await connecting(url, "test")()
    await connection.execute(INSERT, SECRET)
    yield connection
    await connection.close()


@pytest.fixture(params=LogFormat)
def stream(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    taken = io.StringIO()
    configure(stream=taken, form=request.param)
    yield taken
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


async def test_a_row_that_is_there_is_refused_without_its_values(connection, stream):
    with pytest.raises(asyncpg.UniqueViolationError) as caught:
        await connection.execute(INSERT, SECRET)
    assert SECRET in caught.value.detail  # else this tests nothing
    log.error("not stored: %s", said(caught.value), exc_info=caught.value)
    assert "duplicate key value violates unique constraint" in stream.getvalue()
    assert SECRET not in stream.getvalue()


async def test_errors_of_queries_have_no_values_either(url, connection, stream):
    engine = postgres_engine(url, "test")
    try:
        with pytest.raises(sa.exc.IntegrityError) as caught:
            async with writing(engine, url) as session:
                await session.execute(sa.insert(hub_keys).values(name=SECRET, value=""))
    finally:
        await close(engine)
    log.error("refused", exc_info=caught.value)
    assert "UniqueViolationError" in stream.getvalue()
    assert SECRET not in stream.getvalue()


async def test_nor_have_those_of_malformed_values_of_queries(url, stream):
    engine = postgres_engine(url, "test")
    try:
        with pytest.raises(sa.exc.DBAPIError) as caught:
            async with writing(engine, url) as session:
                await session.execute(sa.text("SELECT :value ::int"), {"value": SECRET})
    finally:
        await close(engine)
    log.error("refused", exc_info=caught.value)
    assert "invalid input for query argument $1" in stream.getvalue()
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize(
    ("query", "value", "expected"),
    [
        ("SELECT $1::int", SECRET, "invalid input for query argument $1"),
        (f"SELECT '{SECRET}'::int", None, "invalid input syntax for type integer"),
    ],
)
async def test_what_is_malformed_is_not_quoted(connection, stream, query, value, expected):
    with pytest.raises(asyncpg.DataError) as caught:
        await connection.fetch(query, *([value] if value else []))
    log.error("refused", exc_info=caught.value)
    assert expected in stream.getvalue()
    assert SECRET not in stream.getvalue()


async def test_hints_are_said(connection: PgConnection) -> None:
    with pytest.raises(asyncpg.UndefinedFunctionError, match=r"does not exist\nHINT:  No function"):
        await connection.fetch("SELECT no_such_function()")
