"""Copies of a store: made while its hub is at work, dumped, or carried to the other database."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import asyncpg
import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.store.database import said
from metaserver.store.place import PostgresUrl, StorePlace
from metaserver.store.postgres import ALONE, PgConnection, open_postgres, require_connection
from metaserver.store.rows import storable
from metaserver.store.schema import newest_schema, refusal, unread
from metaserver.store.tables import hub_keys, jobs, kept_files, kept_parts, metadata

BUSY_SECONDS = 30.0


def copy_store(store: StorePlace, out: Path) -> None:
    """Copy a store as it is now into an SQLite file; no writer is blocked.

    The copy has all the store's data, including token digests and team addresses, so only its owner
    can read it. Raises `InputError` if there is no store or the copy cannot be written, `HubError`
    if the store is damaged. Slow: not for the event loop.
    """
    if not isinstance(store, Path):
        asyncio.run(copy_out(store, out))
        return
    if not store.is_file():
        raise InputError(store, "there is no store; expected one that a hub has written")
    try:
        files.create(out).close()
        with closing(sqlite3.connect(store, timeout=BUSY_SECONDS)) as connection:
            connection.execute("VACUUM INTO ?", [str(out)])
        _check(store, out)
        with out.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error
    except sqlite3.Error as error:
        raise HubError(f"{store}: cannot be copied: {error}") from error


def _check(store: Path, copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        findings = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        strays = connection.execute("PRAGMA foreign_key_check").fetchone()
    if findings != ["ok"] or strays is not None:
        damage = "; ".join(findings) if findings != ["ok"] else "rows that refer to missing rows"
        raise HubError(f"{store}: the copy is damaged: {damage}")


def faults(store: Path, *, deep: bool = False) -> Sequence[str]:
    """Return why a hub would not start on a file, or (`deep`) what is damaged anywhere in it.

    Empty if there is nothing. A hub may be at work on it. `deep` reads the whole file.
    """
    try:
        with closing(_reading(store)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if deep and not tables:
                return ["is empty: if there was a store, restore it"]
            schema = None
            if "alembic_version" in tables:
                row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
                schema = None if row is None else str(row[0])
            if (fault := refusal(schema)) is not None:
                return [fault]
            checked = connection.execute("PRAGMA quick_check(5)").fetchall() if deep else []
    except sqlite3.Error as error:
        return [f"not a hub's SQLite store: {error}"]
    return [text for (text,) in checked if text != "ok"]


def _reading(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)


def keys_elsewhere(store: StorePlace) -> Mapping[str, str]:
    """Return the digests of keys by machine, of the processes that were seen within a minute."""
    query = "SELECT host, key FROM workers WHERE key <> ''"
    return dict(_found(store, f"{query} AND seen > extract(epoch FROM clock_timestamp()) - 60"))


def sealed_secrets(store: StorePlace) -> Mapping[str, str]:
    """Return the encrypted secrets in a store by server; empty if it has none, or is older."""
    return dict(_found(store, "SELECT name, secret FROM servers WHERE secret IS NOT NULL"))


def called_back(store: StorePlace, protocols: Sequence[str]) -> Mapping[str, bool]:
    """Return whether each server in use with these protocols has a callback key, by name.

    None if the store has no such server, or is older.
    """
    query = (
        "SELECT protocol, name, callback_key IS NOT NULL FROM servers WHERE retired_at IS NULL"
        " ORDER BY id"
    )
    return {
        name: bool(key) for protocol, name, key in _found(store, query) if protocol in protocols
    }


def _found(store: StorePlace, query: str) -> Sequence[tuple[Any, ...]]:
    """Return a query's rows; empty if there is no store, or no such table or column."""
    if not isinstance(store, Path):
        return asyncio.run(_found_in_database(store, query))
    if not store.is_file():
        return []
    try:
        with closing(_reading(store)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.Error:
        return []


async def _found_in_database(url: PostgresUrl, query: str) -> Sequence[tuple[Any, ...]]:
    try:
        connection = await require_connection(url)
    except InputError:
        return []
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    except asyncpg.PostgresError:
        return []
    finally:
        await connection.close()


# -- dumps of a PostgreSQL database, made and read by PostgreSQL's own programs --------------------

_OPTIONS = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
"""URL options that the programs get as well, by environment variable."""


def dump(url: PostgresUrl, out: Path) -> None:
    """Write a whole database, as it is now, into a new file, and check the file.

    Only its owner can read it. Raises `InputError` if `pg_dump` is missing or cannot reach the
    database. Slow: not for the event loop.
    """
    try:
        files.create(out).close()
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error
    _run(url, "pg_dump", ["--format=custom", "--no-owner", "--no-privileges", f"--file={out}"])
    listed = _run(url, "pg_restore", ["--list", str(out)], connects=False)
    if "alembic_version" not in listed:
        raise InputError(str(url), "there is no store; expected one that a hub has written")
    with out.open("rb") as file:
        os.fsync(file.fileno())


def restore(dumped: Path, url: PostgresUrl) -> None:
    """Read a dump into an empty database, all or nothing."""
    if not dumped.is_file():
        raise InputError(dumped, "there is no such file")
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    _run(url, "pg_restore", [*options, f"--dbname={url.database}", str(dumped)])


def _run(url: PostgresUrl, program: str, arguments: Sequence[str], *, connects: bool = True) -> str:
    """Run a program; the password is in its environment, where other users do not see it."""
    environment = dict(os.environ) | (_environment(url) if connects else {})
    try:
        process = subprocess.run(  # noqa: S603 (our own arguments)
            [program, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise InputError(
            program, "is not installed; it is in the package postgresql-client"
        ) from None
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines() or [f"exit status {process.returncode}"]
        raise HubError(f"{url}: {lines[0]}")
    return process.stdout


def _environment(url: PostgresUrl) -> dict[str, str]:
    parts = urlsplit(url.secret)
    options = dict(parse_qsl(parts.query))
    password = options.get("password") or unquote(parts.password or "")
    variables = {
        "PGUSER": url.user,
        "PGHOST": url.host,
        "PGPORT": str(url.port),
        "PGDATABASE": url.database,
    }
    if password:
        variables["PGPASSWORD"] = password
    return variables | {
        variable: options[name] for name, variable in _OPTIONS.items() if name in options
    }


# -- whole stores carried between SQLite and PostgreSQL, row by row, and compared afterwards -------

ROWS = 500
"""How many rows are read at a time."""
TABLES: Final = tuple(metadata.sorted_tables)
"""All tables, each after those that it refers to."""

OF_PROCESSES: Final = (jobs, kept_files, kept_parts)
"""Tables that processes keep for each other: large, and useless in a copy."""

_DIALECT: Final[sa.Dialect] = postgresql.dialect()  # type: ignore[no-untyped-call]
Counted: TypeAlias = Callable[[int], None]


class _Digest:
    """A digest over a table's rows in key order."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = hashlib.sha256()

    def add(self, row: Sequence[Any]) -> None:
        self.rows += 1
        self._digest.update(msgspec.msgpack.encode(row))

    @property
    def value(self) -> tuple[int, str]:
        return self.rows, self._digest.hexdigest()


async def move_in(source: Path, url: PostgresUrl, counted: Counted) -> int:
    """Carry a file's rows into an empty database, in a single transaction; return their number.

    All are read back and compared before the commit. The file must have the newest schema, and no
    hub may use it. Raises `InputError` if the database has rows or is in use.
    """
    async with open_postgres(url, "move"):
        pass
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(source)), hide_parameters=True)
    connection = await require_connection(url)
    try:
        await _require_unused(connection, url)
        with engine.connect() as reader:
            async with connection.transaction():
                await _require_empty(connection, url)
                await connection.execute(str(sa.delete(hub_keys)))
                moved = 0
                for table in TABLES:
                    moved += await _move_table(reader, connection, table, counted)
                return moved
    except asyncpg.PostgresError as error:
        raise InputError(str(url), f"the rows cannot be stored: {said(error)}") from error
    finally:
        await connection.close()
        engine.dispose()


async def _require_unused(connection: PgConnection, url: PostgresUrl) -> None:
    """Take the lock of the single hub that has the store, for the connection's lifetime."""
    if not await connection.fetchval(f"SELECT pg_try_advisory_lock({ALONE})"):
        raise InputError(str(url), "in use by a running hub; stop that one first")


async def _require_empty(connection: PgConnection, url: PostgresUrl) -> None:
    for table in TABLES:
        query = str(sa.select(sa.literal_column("1")).select_from(table))
        if table is not hub_keys and await connection.fetchval(f"{query} LIMIT 1"):
            raise InputError(
                str(url), f"has rows in {table.name} already; expected an empty database"
            )


async def _move_table(
    reader: sa.Connection, connection: PgConnection, table: sa.Table, counted: Counted
) -> int:
    digest_read, digest_stored = _Digest(), _Digest()

    def records() -> Iterator[Sequence[Any]]:
        for row in _file_rows(reader, table):
            digest_read.add(row)
            if digest_read.rows % ROWS == 0:
                counted(ROWS)
            yield _as_stored(table, row)

    names = [column.name for column in table.columns]
    try:
        await connection.copy_records_to_table(table.name, columns=names, records=records())
    except (asyncpg.InterfaceError, OverflowError) as error:
        raise HubError(f"{table.name}: a value does not fit: {error}") from error
    async for row in _database_rows(connection, table):
        digest_stored.add(row)
    if digest_read.value != digest_stored.value:
        raise HubError(f"{table.name}: the database gives other rows back than it was given")
    await _set_sequence(connection, table)
    counted(digest_read.rows % ROWS)
    return digest_read.rows


async def _set_sequence(connection: PgConnection, table: sa.Table) -> None:
    """Let new rows have ids above those that are there."""
    key = table.autoincrement_column
    if key is None:
        return
    sequence = await connection.fetchval(
        "SELECT pg_get_serial_sequence($1, $2)", table.name, key.name
    )
    highest = await connection.fetchval(str(sa.select(sa.func.max(key))))
    if sequence is not None and highest is not None:
        await connection.execute("SELECT setval($1::regclass, $2)", sequence, highest)


async def move_out(url: PostgresUrl, out: Path, counted: Counted) -> int:
    """Carry a database's rows into a new file; return their number.

    All are read back and compared. No hub may use the database. Raises `InputError` if one does, if
    the database has no store with the newest schema, or if the file exists.
    """
    async with _copying(url, out, alone=True) as (connection, writer):
        moved = 0
        for table in TABLES:
            copied, stored = await _copy_table(connection, writer, table), _Digest()
            for row in _file_rows(writer, table):
                stored.add(row)
            if stored.value != copied.value:
                raise HubError(f"{table.name}: the file gives other rows back than it was given")
            moved += copied.rows
            counted(copied.rows)
        return moved


async def copy_out(url: PostgresUrl, out: Path) -> None:
    """Copy a database, as it is at this moment, into a new SQLite file."""
    async with _copying(url, out) as (connection, writer):
        for table in TABLES:
            if table not in OF_PROCESSES:
                await _copy_table(connection, writer, table)


@asynccontextmanager
async def _copying(
    url: PostgresUrl, out: Path, *, alone: bool = False
) -> AsyncIterator[tuple[PgConnection, sa.Connection]]:
    """Make a file with all tables; yields connections to the database and to the file.

    With `alone`, raises `InputError` if a hub works with the database.
    """
    files.create(out).close()
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(out)), hide_parameters=True)
    connection = await require_connection(url)
    try:
        if alone:
            await _require_unused(connection, url)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            schema = await connection.fetchval("SELECT version_num FROM alembic_version")
            if schema != newest_schema():
                raise InputError(str(url), unread(str(schema)))
            with engine.begin() as writer:
                writer.exec_driver_sql("PRAGMA synchronous = OFF")
                metadata.create_all(writer)
                writer.exec_driver_sql(
                    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"
                )
                writer.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (schema,))
                yield connection, writer
    except asyncpg.UndefinedTableError:
        raise InputError(str(url), "there is no store; expected one that a hub has made") from None
    except asyncpg.PostgresError as error:
        raise HubError(f"{url}: cannot be copied: {said(error)}") from error
    finally:
        await connection.close()
        engine.dispose()


async def _copy_table(connection: PgConnection, writer: sa.Connection, table: sa.Table) -> _Digest:
    names = [column.name for column in table.columns]
    copied = _Digest()
    batch: list[Mapping[str, Any]] = []
    async for row in _database_rows(connection, table):
        copied.add(row)
        batch.append(dict(zip(names, row, strict=True)))
        if len(batch) == ROWS:
            writer.execute(sa.insert(table), batch)
            batch = []
    if batch:
        writer.execute(sa.insert(table), batch)
    return copied


def _file_rows(reader: sa.Connection, table: sa.Table) -> Iterator[Sequence[Any]]:
    """Yield a table's rows in key order."""
    query = sa.select(table).order_by(*table.primary_key.columns)
    for row in reader.execution_options(yield_per=ROWS).execute(query):
        yield tuple(storable(value) if isinstance(value, str) else value for value in row)


async def _database_rows(connection: PgConnection, table: sa.Table) -> AsyncIterator[Sequence[Any]]:
    """Yield a table's rows in key order, as SQLite gives them."""
    query = str(sa.select(table).order_by(*table.primary_key.columns).compile(dialect=_DIALECT))
    documents = [isinstance(column.type, sa.JSON) for column in table.columns]
    plain = not any(documents)
    async for record in connection.cursor(query, prefetch=ROWS):
        if plain:
            yield tuple(record)
        else:
            yield tuple(
                json.loads(value) if is_document else value
                for value, is_document in zip(record, documents, strict=True)
            )


def _as_stored(table: sa.Table, row: Sequence[Any]) -> Sequence[Any]:
    """Return a row as PostgreSQL's driver takes it."""
    return tuple(
        json.dumps(value) if isinstance(column.type, sa.JSON) else value
        for column, value in zip(table.columns, row, strict=True)
    )
