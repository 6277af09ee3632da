"""A store's schema: its version, and its migration to the newest."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.base.errors import InputError
from metaserver.store.database import said
from metaserver.store.place import StorePlace

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger(__name__)

VERSIONS = Path(__file__).with_name("migrations") / "versions"
"""The migrations' folder; the first makes the tables for version 1.0."""

_OLD_SCHEMA = re.compile("00[0-9]{2}")
"""Schemas up to version 0.3, whose stores are not read."""


def newest_schema() -> str:
    """Return the newest schema that this hub knows; Alembic takes longer to load than to say it."""
    [newest] = _chain().keys() - _chain().values()
    return newest


def knows(schema: str) -> bool:
    """Return whether this hub knows a schema, and can take it to its newest."""
    return schema in _chain()


@functools.cache
def _chain() -> Mapping[str, str]:
    """Return the schema before each schema."""
    texts = [migration.read_text("utf-8") for migration in VERSIONS.glob("*.py")]
    return {_revision("revision", text): _revision("down_revision", text) for text in texts}


def _revision(name: str, migration: str) -> str:
    match = re.search(rf'^{name} = "?(\w+)"?$', migration, re.MULTILINE)
    assert match is not None, migration
    return match[1]


def alembic_config() -> Config:
    """Return the migrations' configuration, without an ini file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "metaserver.store:migrations")
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(VERSIONS))
    return config


async def stored_schema(engine: AsyncEngine) -> str | None:
    """Return a database's schema; None if it has none, or cannot be read."""
    try:
        async with engine.connect() as connection:
            revision = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DBAPIError:
        return None
    return None if revision is None else str(revision)


async def upgrade(connection: AsyncConnection, place: StorePlace) -> None:
    """Make the tables of an empty store, or migrate a store to the newest schema.

    It runs in the caller's transaction. Raises `InputError` if the store was written by version 0.3
    or before, or by a newer hub.
    """
    # Not at each start: loading it takes 0.2 s of a core, 7 % of a start.
    from alembic import command
    from alembic.migration import MigrationContext

    def migrate(connection: sa.Connection) -> None:
        stored = MigrationContext.configure(connection).get_current_revision()
        if stored is not None and not knows(stored):
            raise InputError(str(place), _unreadable(stored))
        config = alembic_config()
        config.attributes["connection"] = connection
        if stored is not None:
            log.info("migrating store %s from schema %s to %s", place, stored, newest_schema())
        command.upgrade(config, "head")

    await connection.run_sync(migrate)


async def require_newest_schema(engine: AsyncEngine, place: StorePlace) -> None:
    """Check that a store has the newest schema; raises `InputError` if it has another."""
    try:
        async with engine.connect() as connection:
            stored = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DBAPIError as error:
        kind = "SQLite" if isinstance(place, Path) else "PostgreSQL"
        raise InputError(str(place), f"not a hub's {kind} store: {said(error.orig)}") from error
    if stored != newest_schema():
        raise InputError(str(place), unread(str(stored)))


def refusal(schema: str | None) -> str | None:
    """Return why a hub would not start on a store of a schema; None if it would, as on no store."""
    return None if schema is None or knows(schema) else _unreadable(schema)


def unread(schema: str) -> str:
    """Return why a command does not read a store of another schema than the newest."""
    if knows(schema):
        return f"has schema {schema}, this command reads {newest_schema()}; run its hub once"
    return _unreadable(schema)


def _unreadable(schema: str) -> str:
    if _OLD_SCHEMA.fullmatch(schema):
        return (
            f"has schema {schema}, of version 0.3 or before, whose stores this version does not "
            "read; keep that version for what this store holds, and begin with a new store"
        )
    return (
        f"this hub knows stores up to schema {newest_schema()} and cannot read this one, of schema "
        f"{schema}; use the hub's version that wrote it"
    )
