"""Dumps of a PostgreSQL database, made and read by PostgreSQL's own programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.store.place import PostgresUrl

_OPTIONS = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
"""Options of a URL that the programs are given as well, by environment variable."""


def dump(url: PostgresUrl, out: Path) -> None:
    """Write all of a database into one new file, as it is at this moment, and look into the file.

    Only its owner can read it. Raises `InputError` where `pg_dump` is missing or cannot reach the
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
    """Read a dump into an empty database, all of it or nothing."""
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
