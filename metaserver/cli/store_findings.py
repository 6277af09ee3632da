"""Findings of `metaserver doctor` on a hub's store."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.cli.findings import OTHERS, Finding, FindingSeverity
from metaserver.cli.fleet_findings import POOL, examine_fleet
from metaserver.config import Settings
from metaserver.store.place import PostgresUrl

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
VERIFIED = "verify-full"


def examine_store(settings: Settings) -> Iterator[Finding]:
    """Yield what is found of the store, a file or a database."""
    if settings.store_file:
        yield from _url_file(Path(settings.store_file))
    try:
        place = settings.place()
    except InputError as error:
        yield Finding(FindingSeverity.ERROR, error.place, error.message)
        return
    yield from _file(place) if isinstance(place, Path) else _database(place, settings)


def _url_file(path: Path) -> Iterator[Finding]:
    if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & OTHERS:
        message = f"{path}: others may open it (mode {mode:04o}), and a password is in it"
        yield Finding(FindingSeverity.ERROR, "store_file", f"{message}: chmod 600")


def _file(store: Path) -> Iterator[Finding]:
    found = "the store is there" if store.exists() else "the store will be made"
    yield Finding(FindingSeverity.OK, "folder", f"{store}: {found}")
    if store.exists() and (mode := stat.S_IMODE(store.stat().st_mode)) & OTHERS:
        message = f"{store}: others may open it (mode {mode:04o}), and gold is in it: chmod 600"
        yield Finding(FindingSeverity.WARNING, "folder", message)


def _database(url: PostgresUrl, settings: Settings) -> Iterator[Finding]:
    if not url.host.startswith("/") and url.host not in LOOPBACK and url.tls != VERIFIED:
        message = f"{url}: the server is not verified: add sslmode={VERIFIED} to the URL"
        yield Finding(FindingSeverity.WARNING, "store", message)
    try:
        yield from asyncio.run(_asked(url, settings))
    except InputError as error:
        yield Finding(FindingSeverity.ERROR, "store", str(error))


async def _asked(url: PostgresUrl, settings: Settings) -> list[Finding]:
    """Return what the database says of itself."""
    from asyncpg import DuplicatePreparedStatementError, InvalidSQLStatementNameError

    from metaserver.store.postgres import require_connection, unfitness
    from metaserver.store.schema import newest_schema

    connection = await require_connection(url)
    try:
        if (fault := await unfitness(connection)) is not None:
            return [Finding(FindingSeverity.ERROR, "store", f"{url}: {fault}")]
        made = await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL")
        found = "the store is there" if made else "the store will be made"
        findings = [Finding(FindingSeverity.OK, "store", f"{url}: {found}")]
        if await connection.fetchval("SHOW fsync") == "off":
            message = f"{url}: fsync is off: a power cut can destroy the database"
            findings.append(Finding(FindingSeverity.WARNING, "store", message))
        newest = made and newest_schema() == await connection.fetchval(
            "SELECT version_num FROM alembic_version"
        )
        connect = partial(require_connection, url)
        return findings + list(await examine_fleet(connection, connect, settings, made=newest))
    except (DuplicatePreparedStatementError, InvalidSQLStatementNameError):
        return [Finding(FindingSeverity.ERROR, "store", f"{url}: {POOL}")]  # another client's
    finally:
        await connection.close()
