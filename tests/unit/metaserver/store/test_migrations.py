"""The first migration makes the declared tables; a later one keeps what is stored."""

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from metaserver.base.errors import InputError
from metaserver.store import postgres, schema
from metaserver.store.opening import making
from metaserver.store.store import Store, open_store
from metaserver.store.tables import metadata

LATER = """
import sqlalchemy as sa
from alembic import op

revision = "later"
down_revision = "v1"


def upgrade() -> None:
    op.add_column("hub_keys", sa.Column("note", sa.String(), nullable=True))
"""


def test_newest_schema_is_known_without_alembic() -> None:
    head = ScriptDirectory.from_config(schema.alembic_config()).get_current_head()
    assert schema.newest_schema() == head
    opened = "import metaserver.store.store, sys; sys.exit('alembic' in sys.modules)"
    subprocess.run([sys.executable, "-c", opened], check=True)


async def test_newest_schema_is_the_tables(store: Store) -> None:
    def differences(connection: sa.Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with store.reading() as connection:
        assert await connection.run_sync(differences) == []


@pytest.fixture
def later_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Return what makes the hub a later version, with a second migration."""
    versions = tmp_path / "versions"
    versions.mkdir()
    for migration in schema.VERSIONS.glob("*.py"):
        (versions / migration.name).write_text(migration.read_text("utf-8"))
    (versions / "0002_later.py").write_text(LATER)

    def update() -> None:
        monkeypatch.setattr(schema, "VERSIONS", versions)
        schema._chain.cache_clear()

    yield update
    schema._chain.cache_clear()


async def test_later_migration_keeps_what_is_stored(place, later_hub, caplog):
    caplog.set_level(logging.INFO, "metaserver")
    async with making(place):
        pass
    assert not caplog.messages  # a new store is no news
    later_hub()
    async with open_store(place) as store, store.reading() as connection:
        version = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        [(value, note)] = await connection.execute(sa.text("SELECT value, note FROM hub_keys"))
    assert (version, len(value), note) == ("later", 64, None)
    assert f"migrating store {place} from schema v1 to later" in caplog.messages


async def test_tables_are_not_changed_while_an_earlier_hub_works(url, later_hub, monkeypatch):
    monkeypatch.setattr(postgres, "LEFT_SECONDS", 0.2)
    async with making(url):
        pass
    later_hub()
    process = await postgres.connecting(url, "test")()
    await postgres.take_store(process, alone=False)
    with pytest.raises(InputError, match="stop all processes of that hub first"):
        async with making(url):
            pass
    await process.close()
    async with making(url):
        pass
