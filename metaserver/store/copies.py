"""Copies of a store, made while its hub is at work."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.store.place import PostgresUrl, StorePlace

BUSY_SECONDS = 30.0


def copy_store(store: StorePlace, out: Path) -> None:
    """Copy a store as it is at this moment into one SQLite file; no writer is blocked.

    The copy has all data of the store, digests of tokens and addresses of teams included, so only
    its owner can read it. Raises `InputError` where there is no store or the copy cannot be
    written, `HubError` where the store is damaged. Slow: not for the event loop.
    """
    if not isinstance(store, Path):
        from metaserver.store.transfer import copy_out

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


def sealed_secrets(store: StorePlace) -> Mapping[str, str]:
    """Return the encrypted secrets in a store by server; none where it has none, or is older."""
    return dict(_found(store, "SELECT name, secret FROM servers WHERE secret IS NOT NULL"))


def called_back(store: StorePlace, protocols: Sequence[str]) -> Mapping[str, bool]:
    """Return whether each server in use of some protocols has a callback key, by name.

    None where the store has none of these, or is older.
    """
    query = (
        "SELECT protocol, name, callback_key IS NOT NULL FROM servers WHERE retired_at IS NULL"
        " ORDER BY id"
    )
    return {
        name: bool(key) for protocol, name, key in _found(store, query) if protocol in protocols
    }


def _found(store: StorePlace, query: str) -> Sequence[tuple[Any, ...]]:
    """Return the rows of a query; none where there is no store, or no such table or column."""
    if not isinstance(store, Path):
        return asyncio.run(_found_in_database(store, query))
    if not store.is_file():
        return []
    try:
        with closing(
            sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.Error:
        return []


async def _found_in_database(url: PostgresUrl, query: str) -> Sequence[tuple[Any, ...]]:
    import asyncpg

    from metaserver.store.postgres import require_connection

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
