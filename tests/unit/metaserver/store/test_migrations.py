"""The migrations lead to the schema of the tables."""

from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from metaserver.store.database import migrate, sqlite_engine
from metaserver.store.tables import metadata


async def test_the_newest_schema_is_the_tables(tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path / "hub.sqlite")
    await migrate(engine, tmp_path)

    def differences(connection: sa.Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()
