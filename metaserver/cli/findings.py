"""Findings of `metaserver doctor`: on the store, and on what processes need of the machine."""

from __future__ import annotations

import asyncio
import re
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from metaserver.base.errors import InputError
from metaserver.base.states import PhaseState
from metaserver.config import Settings
from metaserver.store.copies import faults
from metaserver.store.leases import ALONE, LEASE_SECONDS
from metaserver.store.place import POOL, PostgresUrl
from metaserver.uniprot.vocabulary import Policies, split_name

if TYPE_CHECKING:
    from metaserver.store.postgres import PgConnection


OTHERS = 0o077
"""In a file's mode: what others than its owner may do."""


class FindingSeverity(StrEnum):
    """A finding's severity."""

    OK = "ok"
    WARNING = "warning"  # the hub starts, but not as it should run in public
    ERROR = "error"  # the hub does not start, or a phase cannot run


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: where, and what was found."""

    severity: FindingSeverity
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity:8} {self.place}: {self.message}"


# -- findings of `metaserver doctor` on what a hub's processes need of database and machine --------
# Each is found by asking the database, as one of them would; nothing is changed.

MOST_CLOCK_SECONDS = 1.0
"""The most that a machine's clock may differ from the database's: dates of phases go by them."""
OF_PROCESS, OF_COMMANDS = 20, 10
"""The maximum connections per hub process, and for commands beside it."""


async def examine_fleet(
    connection: PgConnection, settings: Settings, *, schema_exists: bool
) -> Sequence[Finding]:
    """Return the findings on the machine and its database.

    The database has a hub's tables if `schema_exists`.
    """
    processes = await _processes(connection) if schema_exists else []
    return [
        *clock_finding(*await _clocks(connection)),
        *await _connections(connection, len(processes)),
        *version_finding(processes, version("biocreative-metaserver")),
        *(_releases(await _needed(connection), settings) if schema_exists else []),
        *dump_finding(connection.get_server_version().major, _version_of_pg_dump()),
    ]


# -- clocks ----------------------------------------------------------------------------------------


async def _clocks(connection: PgConnection) -> tuple[float, float, float]:
    """Return this machine's clock, the database's, and this machine's again."""
    before = time.time()
    there = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
    return before, float(there), time.time()


def clock_finding(before: float, there: float, after: float) -> Iterator[Finding]:
    """Yield that the clocks differ, by more than the time that it took to ask."""
    off = max(before - there, there - after, 0.0)
    if off > MOST_CLOCK_SECONDS:
        side = "behind" if there > after else "ahead of"
        message = f"this machine's clock is {off:.1f} s {side} the database's: let NTP set both"
        yield Finding(FindingSeverity.WARNING, "store", message)


# -- connections -----------------------------------------------------------------------------------


async def _connections(connection: PgConnection, processes: int) -> Iterator[Finding]:
    """Detect fewer connections than the living processes, and one more, may need."""
    row = await connection.fetchrow(
        "SELECT current_setting('max_connections')::int"
        "  - current_setting('superuser_reserved_connections')::int AS most,"
        " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role,"
        " (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS base"
    )
    limits = {"the server": row["most"], "the role": row["role"], "the database": row["base"]}
    return connection_finding(limits, processes)


def connection_finding(limits: dict[str, int], processes: int) -> Iterator[Finding]:
    """Yield which limits (below 0: none) are too low for so many processes, or one."""
    need = OF_PROCESS * max(processes, 1) + OF_COMMANDS
    hub = f"a hub of {processes} processes" if processes > 1 else "a hub of one process"
    for where, limit in limits.items():
        if 0 <= limit < need:
            message = f"{where} allows {limit} connections; {hub} and its commands"
            message += f" open up to {need}"
            yield Finding(FindingSeverity.WARNING, "store", message)


# -- processes -------------------------------------------------------------------------------------


async def _processes(connection: PgConnection) -> Sequence[tuple[str, str]]:
    """Return the hub's living processes, with their versions."""
    rows = await connection.fetch(
        "SELECT id, version FROM workers"
        " WHERE seen > extract(epoch FROM clock_timestamp()) - $1 AND seen < $2 ORDER BY id",
        LEASE_SECONDS,
        ALONE,  # a process that is alone is not seen to end
    )
    return [(row["id"], row["version"]) for row in rows]


def version_finding(processes: Sequence[tuple[str, str]], own_version: str) -> Iterator[Finding]:
    """Yield that processes with different versions run, or with another than this command's."""
    versions = {version for _, version in processes}
    if len(versions) > 1:
        listed = ", ".join(f"{name}: {version}" for name, version in processes)
        message = f"processes of different versions work together: {listed}"
        yield Finding(FindingSeverity.WARNING, "processes", message)
    elif versions and versions != {own_version}:
        message = f"the hub at work is of version {versions.pop()}, this command of {own_version}"
        yield Finding(FindingSeverity.WARNING, "processes", message)
    elif processes:
        message = f"{len(processes)} at work, all of version {own_version}"
        yield Finding(FindingSeverity.OK, "processes", message)


# -- releases --------------------------------------------------------------------------------------


async def _needed(connection: PgConnection) -> Sequence[tuple[str, str]]:
    """Return the phases that are not over, with the releases by which answers are checked."""
    over = [PhaseState.FROZEN.value, PhaseState.CLOSED.value]
    rows = await connection.fetch(
        "SELECT name, release FROM phases WHERE standing IS NULL OR standing <> ALL($1)"
        " ORDER BY name",
        over,
    )
    return [(row["name"], split_name(row["release"], Policies())[0]) for row in rows]


def _releases(needed: Sequence[tuple[str, str]], settings: Settings) -> Iterator[Finding]:
    """Yield the phases of the store whose release this machine has not: it works no lane there."""
    folder = Path(settings.uniprot.releases)
    for phase, release in needed:
        if not (folder / release).is_dir():
            message = f"phase {phase} needs release {release}, which is not in {folder}"
            yield Finding(FindingSeverity.ERROR, "uniprot.releases", message)


# -- programs --------------------------------------------------------------------------------------


def _version_of_pg_dump() -> int | None:
    """Return `pg_dump`'s major version, or None."""
    try:
        process = subprocess.run(
            ["pg_dump", "--version"],  # noqa: S607 (as `metaserver backup` runs it)
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    match = re.search(r"\) (\d+)", process.stdout)
    return int(match[1]) if match else None


def dump_finding(server: int, program: int | None) -> Iterator[Finding]:
    """Yield that `metaserver backup` cannot dump the database from this machine."""
    if program is None:
        message = "pg_dump is not installed here: metaserver backup and restore need it"
        message += " (the package postgresql-client)"
        yield Finding(FindingSeverity.WARNING, "backup", message)
    elif program < server:
        message = f"pg_dump is of PostgreSQL {program}, the server of {server}: it will be refused"
        yield Finding(FindingSeverity.WARNING, "backup", message)


# -- findings of `metaserver doctor` on a hub's store ----------------------------------------------

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
VERIFIED = "verify-full"


def examine_store(settings: Settings) -> Iterator[Finding]:
    """Yield the findings on the store, a file or a database."""
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
    if not store.exists():
        yield Finding(FindingSeverity.OK, "folder", f"{store}: the store will be made")
    elif not store.stat().st_size:
        message = f"{store}: is empty: if there was a store, restore it; else it will be made"
        yield Finding(FindingSeverity.WARNING, "folder", message)
    elif found := faults(store):
        yield from (
            Finding(FindingSeverity.ERROR, "folder", f"{store}: {fault}") for fault in found
        )
    else:
        yield Finding(FindingSeverity.OK, "folder", f"{store}: the store is there")
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
    """Return what the database says about itself."""
    from metaserver.store.postgres import (
        PREPARED_ELSEWHERE,
        require_connection,
        shares_processes,
        unfitness,
    )
    from metaserver.store.schema import newest_schema

    connection = await require_connection(url)
    try:
        if (fault := await unfitness(connection)) is not None:
            return [Finding(FindingSeverity.ERROR, "store", f"{url}: {fault}")]
        if await shares_processes(connection, url):
            return [Finding(FindingSeverity.ERROR, "store", f"{url}: {POOL}")]
        schema_exists = await connection.fetchval(
            "SELECT to_regclass('alembic_version') IS NOT NULL"
        )
        state = "the store is there" if schema_exists else "the store will be made"
        findings = [Finding(FindingSeverity.OK, "store", f"{url}: {state}")]
        if await connection.fetchval("SHOW fsync") == "off":
            message = f"{url}: fsync is off: a power cut can destroy the database"
            findings.append(Finding(FindingSeverity.WARNING, "store", message))
        newest = schema_exists and newest_schema() == await connection.fetchval(
            "SELECT version_num FROM alembic_version"
        )
        return findings + list(await examine_fleet(connection, settings, schema_exists=newest))
    except PREPARED_ELSEWHERE:
        return [Finding(FindingSeverity.ERROR, "store", f"{url}: {POOL}")]
    finally:
        await connection.close()
