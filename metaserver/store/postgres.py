"""A store in a PostgreSQL database: connections, the demands on it, its migration, its writer.

What SQLite has by its nature is asked for here: control writes one at a time, order by bytes,
commits that outlive a crash.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeAlias

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from metaserver.base.errors import HubError, InputError, UnavailableError
from metaserver.base.lanes import AttemptRecord, LaneKey
from metaserver.base.states import Backoff
from metaserver.store import rows
from metaserver.store.database import LOST, close, said, unavailable
from metaserver.store.place import POOL, PostgresUrl
from metaserver.store.rows import storable
from metaserver.store.schema import (
    knows,
    newest_schema,
    require_newest_schema,
    stored_schema,
    upgrade,
)
from metaserver.store.writer import TRIAL_BYTES, Writer, stale_error

# -- the driver of PostgreSQL, asyncpg, whose errors are made to say no values of rows -------------
# An error's words go into logs and onto pages. By themselves they have a DETAIL, which shows the
# key or the whole row that was refused (texts, digests of tokens, gold), and quote what was
# malformed.


def keep_values_out_of_errors() -> None:
    """Make all the driver's errors, in this process, say what is wrong but not which value."""
    asyncpg.PostgresError.__str__ = _said
    asyncpg.DataError.__init__ = _quote_nothing  # SQLAlchemy takes its words from `args`


def _said(error: Any) -> str:
    """Return an error's words; its `detail` stays an attribute."""
    message = str(error.args[0]) if error.args else ""
    return f"{message}\nHINT:  {error.hint}" if error.hint else message


def _quote_nothing(error: Exception, message: str = "") -> None:
    """Drop a malformed value, which stands after a colon, from an error."""
    Exception.__init__(error, message.partition(":")[0])


# -- a store in a PostgreSQL database: connections, the demands on it, its migration ---------------

log = logging.getLogger(__name__)

keep_values_out_of_errors()

WRITES, MIGRATES, ALONE = 7301, 7302, 7303
"""Advisory lock keys: who writes, who migrates, and the single hub that has the store."""
PREPARED_ELSEWHERE = (
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidSQLStatementNameError,
)
"""Errors of statements that were prepared on another client's connection, which a pool has given.
"""
OLDEST_SERVER = 14
LEFT_SECONDS = 10.0
"""Seconds for which the connections of a process that was killed may be there still."""
CONNECT_SECONDS = 10.0
RETRY_SECONDS = 1.0
"""Seconds between two tries to reach a server that is away when a hub starts."""
OPEN, MORE = 8, 8
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

    The limit holds on the server too, which would otherwise wait for a frozen process' COPY rows.
    """
    settings = dict(_PATIENT if patient else _SETTINGS)
    if seconds is not None and seconds < STATEMENT_SECONDS:
        settings["statement_timeout"] = f"{seconds:g}s"
    name = f"metaserver/{role}/{socket.gethostname()}-{os.getpid()}"

    async def connect() -> PgConnection:
        connection = await asyncpg.connect(
            url.secret,
            timeout=CONNECT_SECONDS,
            command_timeout=seconds,
            server_settings={"application_name": name[:63]},
        )
        try:  # afterwards: PgBouncer refuses a connection that begins with settings
            await connection.execute("".join(f"SET {key} = '{settings[key]}';" for key in settings))
        except BaseException:
            connection.terminate()
            raise
        return connection

    return connect


def postgres_engine(url: PostgresUrl, role: str, *, patient: bool = False) -> AsyncEngine:
    """Return an engine on a database for everything but the writer."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connecting(url, role, patient=patient, seconds=None if patient else 40.0),
        pool_size=OPEN,
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
    """Open the store in a database and migrate it; raises `InputError` if it is unfit.

    Raises `UnavailableError` if its server is away, or goes away meanwhile: that passes.
    """
    drop_reports_of_outages()
    try:
        await _prepare(url)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, InputError) else error
        if cause is None or (reason := unavailable(cause)) is None:
            raise
        raise UnavailableError(f"no connection: {reason}", str(url)) from error
    engine = postgres_engine(url, role)
    try:
        with _leftovers_dropped():
            yield engine
    finally:
        await close(engine)


LIBRARIES: Final = ("pgqueuer", "sqlalchemy.pool.impl.AsyncAdaptedQueuePool")
"""Loggers that write each error of a connection, with its traceback."""


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a library says more than that the store is away, as its writer says.

    What PgQueuer could not store at its end is offered again.
    """
    if str(record.msg).startswith("Shutdown flush failed"):
        return False
    error = record.exc_info[1] if record.exc_info else None
    return error is None or unavailable(error) is None


def drop_reports_of_outages() -> None:
    """Let libraries say nothing of an outage; what is added twice is there once."""
    for name in LIBRARIES:
        logging.getLogger(name).addFilter(_is_news)


@contextmanager
def _leftovers_dropped() -> Iterator[None]:
    """Log no error that nobody waits for: asyncpg leaves an error after a broken COPY."""
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
    """Return a new connection; raises `InputError` on one line if it cannot connect."""
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
            if error.__cause__ is None or unavailable(error.__cause__) is None:
                raise
            if not is_logged:
                log.warning("%s; waiting until it is there", error)
                is_logged = True
        else:
            return
        await asyncio.sleep(RETRY_SECONDS)


async def _prepare(url: PostgresUrl) -> None:
    """Check a database against the hub's requirements, and migrate it."""
    connection = await require_connection(url)
    try:
        if (fault := await unfitness(connection)) is not None:
            raise InputError(str(url), fault)
        if await shares_processes(connection, url):
            raise InputError(str(url), POOL)
    except PREPARED_ELSEWHERE as error:
        raise InputError(str(url), POOL) from error
    finally:
        await connection.close()
    engine = postgres_engine(url, "migration", patient=True)
    try:
        if await stored_schema(engine) != newest_schema():
            await _migrate(engine, url)
    finally:
        await close(engine)


async def shares_processes(connection: PgConnection, url: PostgresUrl) -> bool:
    """Return whether a pool gives each transaction another connection: two of ours would be one."""
    query = "SELECT pg_backend_pid()"
    before = await connection.fetchval(query)
    second = await require_connection(url)
    try:
        async with second.transaction():  # it keeps its process meanwhile
            other, after = await second.fetchval(query), await connection.fetchval(query)
    finally:
        await second.close()
    return bool(before != after or before == other)


async def unfitness(connection: PgConnection) -> str | None:
    """Return why a database is not fit for a hub's store, or None."""
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
    """Migrate the schema in a transaction; a single process does it, the others wait."""
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

    A killed process holds it for some seconds more.
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
    """Give texts byte order, as in SQLite, whatever the database's collation."""
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


# -- the writer of a store in PostgreSQL: batches by COPY on a connection of its own (ADR 67) ------

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
_TRIAL = """
CREATE TABLE trial_of_{process} AS
SELECT repeat('x', 1024) AS filling FROM generate_series(1, {bytes} / 1024);
DROP TABLE trial_of_{process}
"""
"""Fails if nothing can be written: a read-only server, a disk without space for new pages."""


class PostgresWriter(Writer):
    """A database's writer: failed writes are repeated on a new connection.

    Its row locks on lanes keep an earlier holder from committing after a later holder has read
    where the lane stands. A commit whose end was not heard of is looked up before it is sent again.
    Its connection holds the lock of the single hub that has the store; a hub's processes that are
    not `alone` share it.
    """

    def __init__(self, connect: Connect, place: PostgresUrl, *, alone: bool) -> None:
        super().__init__(place)
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
        """Return the connection, a new connection if it is lost; raises `UnavailableError`."""
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
            raise UnavailableError(said(error)) from error
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
            await connection.execute(
                _TRIAL.format(process=connection.get_server_pid(), bytes=TRIAL_BYTES)
            )
            return []
        standings = await _standings(connection, {entry.lane for entry in batch})
        stored = await _known(connection, batch) if self._unheard else {}
        unstored = [entry for entry in batch if _row_key(entry) not in stored]
        numbered = list(rows.numbered(unstored, standings))
        if fresh := [(entry, serial) for entry, serial in numbered if serial]:
            await _copy(connection, rows.rows_of(fresh))
        new_serials = (serial for _, serial in numbered)
        all_serials = (stored.get(_row_key(entry)) or next(new_serials) for entry in batch)
        return [serial or stale_error() for serial in all_serials]

    def _unavailable(self, error: BaseException) -> str | None:
        reason = super()._unavailable(error)
        if reason is None and (self._is_lost or _is_out_of_step(error)):
            return LOST
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

    This happens if the server ended the connection between two calls; errors from the calls that
    end the transaction hide it.
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
    """Lock lanes, in key order, and return their standings."""
    rows_found = await connection.fetch(_STANDINGS, *_columns(keys, 2))
    return {
        LaneKey(phase, server): rows.LaneStanding(epoch, serial)
        for phase, server, epoch, serial in rows_found
    }


async def _known(connection: PgConnection, batch: Iterable[AttemptRecord]) -> Mapping[_Key, int]:
    """Return the serials of attempts already stored under the same epoch."""
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
    """Return the row columns, as `unnest` takes them."""
    return [list(column) for column in zip(*records, strict=True)] or [[]] * count
