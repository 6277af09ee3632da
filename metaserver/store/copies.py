"""Copies of a store, made while its hub is at work."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from metaserver.files import private
from metaserver.model.errors import HubError, InputError

BUSY_SECONDS = 30.0


def copy_store(store: Path, out: Path) -> None:
    """Copy a store as it is at this moment into one new file, and check it; no writer is blocked.

    The copy has all data of the store, digests of tokens and addresses of teams included, so only
    its owner can read it. Raises `InputError` where there is no store or the copy cannot be
    written, `HubError` where the store is damaged. Slow: not for the event loop.
    """
    if not store.is_file():
        raise InputError(store, "there is no store; expected one that a hub has written")
    try:
        private.create(out).close()
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
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        strays = connection.execute("PRAGMA foreign_key_check").fetchone()
    if found != ["ok"] or strays is not None:
        damage = "; ".join(found) if found != ["ok"] else "rows that refer to missing rows"
        raise HubError(f"{store}: the copy is damaged: {damage}")


def sealed_secrets(store: Path) -> Mapping[str, str]:
    """Return the encrypted secrets in a store by server; none where it has none, or is older."""
    if not store.is_file():
        return {}
    query = "SELECT name, secret FROM servers WHERE secret IS NOT NULL"
    try:
        with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as found:
            return dict(found.execute(query).fetchall())
    except sqlite3.Error:
        return {}
