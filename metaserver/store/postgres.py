"""A store in a PostgreSQL database: connections, the demands on it, its migration.

What SQLite has by its nature is asked for here: control writes one at a time, order by bytes,
commits that outlive a crash.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from metaserver.base.errors import InputError, UnavailableError
from metaserver.store.database import close
from metaserver.store.driver import keep_values_out_of_errors
from metaserver.store.faults import passes, said
from metaserver.store.place import PostgresUrl
from metaserver.store.rows import storable
from metaserver.store.schema import (
    knows,
    newest_schema,
    require_newest_schema,
    stored_schema,
    upgrade,
)

log = logging.getLogger(__name__)

keep_values_out_of_errors()

WRITES, MIGRATES, ALONE = 7301, 7302, 7303
"""Keys of advisory locks: who writes, who migrates, and the one hub that has the store."""
OLDEST_SERVER = 14
LEFT_SECONDS = 10.0
"""Seconds for which the connections of a process that was killed may be there still."""
CONNECT_SECONDS = 10.0
RETRY_SECONDS = 1.0
"""Seconds between two tries to reach a server that is away when a hub starts."""
POOL, MORE = 8, 8
"""Connections that stay open, and those that are opened when all of these are in use."""

PgConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Connect: TypeAlias = Callable[[], Coroutine[Any, Any, PgConnection]]

STATEMENT_SECONDS = 30.0

_SETTINGS = {
    # As long as a lease (`leases`): a process that is frozen in a transaction has its locks no
    # longer than its lanes.
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "5s",
    "statement_timeout": f"{STATEMENT_SECONDS:g}s",
    # A machine that was cut off is noticed, and its locks are free again.
    "tcp_user_timeout": "8s",
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "2",
}
_PATIENT = {
    name: _SETTINGS[name]
    for name in _SETTINGS
    if name not in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")
}
"""For migrations, backups and exports, which take as long as they take."""


def connecting(
    url: PostgresUrl, role: str, *, patient: bool = False, seconds: float | None = None
) -> Connect:
    """Return what opens a connection for a role; a statement takes `seconds` at most.

    So it does for the server too, which would wait for the rows of a COPY of a frozen process.
    """
    settings = dict(_PATIENT if patient else _SETTINGS)
    if seconds is not None and seconds < STATEMENT_SECONDS:
        settings["statement_timeout"] = f"{seconds:g}s"
    name = f"metaserver/{role}/{socket.gethostname()}-{os.getpid()}"

    async def connect() -> PgConnection:
        return await asyncpg.connect(
            url.secret,
            timeout=CONNECT_SECONDS,
            command_timeout=seconds,
            server_settings={"application_name": name[:63], **settings},
        )

    return connect


def postgres_engine(url: PostgresUrl, role: str, *, patient: bool = False) -> AsyncEngine:
    """Return an engine on a database for everything but the writer."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connecting(url, role, patient=patient, seconds=None if patient else 40.0),
        pool_size=POOL,
        max_overflow=MORE,
        hide_parameters=True,
        pool_pre_ping=True,
    )

    @sa.event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITES})")

    @sa.event.listens_for(engine.sync_engine, "before_cursor_execute", retval=True)
    def _texts(
        _connection: object,
        _cursor: object,
        statement: str,
        parameters: Any,
        _context: object,
        many: bool,
    ) -> tuple[str, Any]:
        if many:
            return statement, [tuple(map(_storable, row)) for row in parameters]
        return statement, tuple(map(_storable, parameters))

    return engine


def _storable(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


@asynccontextmanager
async def open_postgres(url: PostgresUrl, role: str) -> AsyncIterator[AsyncEngine]:
    """Open the store in a database and migrate it; raises `InputError` where it is unfit."""
    await _prepare(url)
    engine = postgres_engine(url, role)
    try:
        with _leftovers_dropped():
            yield engine
    finally:
        await close(engine)


@contextmanager
def _leftovers_dropped() -> Iterator[None]:
    """Log no error that nobody waits for any more: asyncpg leaves one of a broken COPY."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), asyncpg.ConnectionDoesNotExistError):
            return  # whoever used the connection has another error, and heeds that
        if before is None:
            loop.default_exception_handler(context)
        else:
            before(loop, context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


@asynccontextmanager
async def reading_postgres(url: PostgresUrl) -> AsyncIterator[AsyncEngine]:
    """Open an existing store for reading, also while hubs use it; it is not migrated."""
    await (await require_connection(url)).close()
    engine = postgres_engine(url, "reader", patient=True)
    try:
        await require_newest_schema(engine, url)
        yield engine
    finally:
        await close(engine)


async def has_schema(url: PostgresUrl) -> bool:
    """Return whether a hub has made its tables in a database."""
    connection = await require_connection(url)
    try:
        return bool(await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"))
    finally:
        await connection.close()


async def require_connection(url: PostgresUrl) -> PgConnection:
    """Return a new connection; raises `InputError` in one line where there is none to be had."""
    try:
        return await connecting(url, "start", patient=True)()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise InputError(str(url), f"no connection: {said(error)}") from error
    except ValueError:
        raise InputError(str(url), "no connection: an option of the URL is not known") from None


async def wait_for_server(url: PostgresUrl) -> None:
    """Wait while the database server is away, as a hub at work does; one line says so.

    Raises `InputError` if no waiting helps: a wrong password, an unknown database.
    """
    is_logged = False
    while True:
        try:
            await (await require_connection(url)).close()
        except InputError as error:
            cause = error.__cause__
            if not (isinstance(cause, OSError | TimeoutError) or passes(cause)):
                raise
            if not is_logged:
                log.warning("%s; waiting until it is there", error)
                is_logged = True
        else:
            return
        await asyncio.sleep(RETRY_SECONDS)


async def _prepare(url: PostgresUrl) -> None:
    """Check what a hub needs of a database, and migrate it."""
    connection = await require_connection(url)
    try:
        if (fault := await unfitness(connection)) is not None:
            raise InputError(str(url), fault)
    finally:
        await connection.close()
    engine = postgres_engine(url, "migration", patient=True)
    try:
        if await stored_schema(engine) != newest_schema():
            await _migrate(engine, url)
    finally:
        await close(engine)


async def unfitness(connection: PgConnection) -> str | None:
    """Return why a database is not fit for a hub's store; None for one that is."""
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        return f"is of PostgreSQL {version}; expected {OLDEST_SERVER} or newer"
    if (encoding := await connection.fetchval("SHOW server_encoding")) != "UTF8":
        return f"has the encoding {encoding}; expected UTF8"
    if await connection.fetchval("SHOW synchronous_commit") == "off":
        return (
            "has synchronous_commit = off: a crash would lose answers that the hub counts as "
            "stored; expected on"
        )
    if await connection.fetchval("SELECT pg_is_in_recovery()"):
        return "is a standby, which cannot be written; expected the primary server"
    return None


async def _migrate(engine: AsyncEngine, url: PostgresUrl) -> None:
    """Migrate the schema in one transaction; of several processes one does, the others wait."""
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATES})")
            stored = await stored_schema(engine)
            if stored == newest_schema():
                return  # by another process, meanwhile
            if stored is not None and knows(stored):
                await _require_unused(connection, url)
            await upgrade(connection, url)
            await order_by_bytes(connection)
    except sa.exc.DBAPIError as error:
        raise InputError(str(url), f"cannot be migrated: {said(error.orig)}") from error


async def _require_unused(connection: AsyncConnection, url: PostgresUrl) -> None:
    """Check that no process works with a database whose tables are to be changed.

    One that was killed has it for some seconds more.
    """
    deadline = asyncio.get_running_loop().time() + LEFT_SECONDS
    query = sa.text(f"SELECT pg_try_advisory_xact_lock({ALONE})")
    while not await connection.scalar(query):
        if asyncio.get_running_loop().time() > deadline:
            message = (
                "a hub of an earlier version works with it, and its tables have to be changed: "
                "stop all processes of that hub first"
            )
            raise InputError(str(url), message)
        await asyncio.sleep(0.1)


async def order_by_bytes(connection: AsyncConnection) -> None:
    """Give texts the order of their bytes, as SQLite does, whatever the database's collation."""
    columns_found = await connection.execute(_ORDERED_OTHERWISE)
    columns: dict[str, list[str]] = {}
    for table, column, kind in columns_found:
        columns.setdefault(table, []).append(f'ALTER "{column}" TYPE {kind} COLLATE "C"')
    for table, changes in columns.items():
        await connection.exec_driver_sql(f'ALTER TABLE "{table}" {", ".join(changes)}')


_ORDERED_OTHERWISE = sa.text(
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)"
    " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    " JOIN pg_collation o ON o.oid = a.attcollation"
    " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
    " AND a.attnum > 0 AND NOT a.attisdropped AND o.collname <> 'C'"
    " ORDER BY c.relname, a.attnum"
)


async def take_store(connection: PgConnection, *, alone: bool) -> None:
    """Take the lock of the hub that has the store; raises `UnavailableError` if another has it.

    Processes that are not `alone` have it together.
    """
    kind = "" if alone else "_shared"
    if not await connection.fetchval(f"SELECT pg_try_advisory_lock{kind}({ALONE})"):
        raise UnavailableError("in use by another running hub; stop that one first")
