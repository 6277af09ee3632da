"""The schema of a store: which one it has, and its migration to the newest."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.model.errors import InputError
from metaserver.store.faults import said
from metaserver.store.place import StorePlace

if TYPE_CHECKING:
    from alembic.config import Config


def newest_schema() -> str:
    """Return the newest schema that this hub knows; Alembic takes longer to load than to say it."""
    [newest] = _chain().keys() - _chain().values()
    return newest


def knows(schema: str) -> bool:
    """Return whether this hub knows a schema, and can take it to its newest."""
    return schema in _chain()


@functools.cache
def _chain() -> Mapping[str, str]:
    """Return the schema before each one."""
    versions = files("metaserver.store") / "migrations" / "versions"
    texts = (item.read_text("utf-8") for item in versions.iterdir() if item.is_file())
    return {_revision("revision", text): _revision("down_revision", text) for text in texts}


def _revision(name: str, migration: str) -> str:
    found = re.search(rf'^{name} = "?(\w+)"?$', migration, re.MULTILINE)
    assert found is not None, migration
    return found[1]


def alembic_config() -> Config:
    """Return the migrations' configuration, without an ini file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "metaserver.store:migrations")
    config.set_main_option("path_separator", "os")
    return config


async def stored_schema(engine: AsyncEngine) -> str | None:
    """Return the schema of a database; None where it has none, or cannot be read."""
    try:
        async with engine.connect() as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DBAPIError:
        return None
    return None if found is None else str(found)


async def upgrade(connection: AsyncConnection, place: StorePlace) -> None:
    """Migrate to the newest schema, in a transaction; a database of a newer hub is refused."""
    # Not at each start: loading it takes 0.2 s of a core, 7 % of a start.
    from alembic import command
    from alembic.util import CommandError

    def migrated(connection: sa.Connection) -> None:
        config = alembic_config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise InputError(
                str(place),
                f"this hub knows its store up to schema {newest_schema()} and cannot read this one "
                f"({error}); use the hub's version that wrote it",
            ) from error

    await connection.run_sync(migrated)


async def require_newest_schema(engine: AsyncEngine, place: StorePlace) -> None:
    """Check that a store has the newest schema; raises `InputError` where it has another."""
    newest = newest_schema()
    try:
        async with engine.connect() as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.DBAPIError as error:
        kind = "SQLite" if isinstance(place, Path) else "PostgreSQL"
        raise InputError(str(place), f"not a hub's {kind} store: {said(error.orig)}") from error
    if found != newest:
        raise InputError(
            str(place), f"has schema {found}, this command reads {newest}; run its hub once"
        )
