"""The migrations lead to the schema of the tables, and keep what is stored."""

import subprocess
import sys
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from metaserver.store import logs
from metaserver.store.schema import alembic_config, newest_schema
from metaserver.store.sqlite import migrate, sqlite_engine
from metaserver.store.store import Store
from metaserver.store.tables import metadata


def test_the_newest_schema_is_known_without_alembic() -> None:
    assert newest_schema() == ScriptDirectory.from_config(alembic_config()).get_current_head()
    opened = "import metaserver.store.store, sys; sys.exit('alembic' in sys.modules)"
    subprocess.run([sys.executable, "-c", opened], check=True)


async def test_the_newest_schema_is_the_tables(store: Store) -> None:
    def differences(connection: sa.Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with store.reading() as connection:
        assert await connection.run_sync(differences) == []


ATTEMPTS = [  # server, position, number, began
    (1, 0, 1, 10.0),
    (1, 2, 1, 11.0),  # it began together with the next, and is stored before it
    (1, 1, 1, 11.0),
    (1, 0, 2, 30.0),
    (2, 0, 1, 5.0),
]


async def test_stored_attempts_are_numbered_in_the_order_they_began(tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path / "hub.sqlite")

    def earlier(connection: sa.Connection) -> None:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        connection.exec_driver_sql("INSERT INTO corpora VALUES (1, 'x', 3, 0.0)")
        connection.exec_driver_sql(
            "INSERT INTO phases (id, name, corpus_id, release, created_at)"
            " VALUES (1, 'test', 1, 'r', 0.0)"
        )
        for server in (1, 2, 3):
            connection.exec_driver_sql(
                "INSERT INTO servers (id, name, url, method, parameters, tasks, concurrency)"
                f" VALUES ({server}, 's{server}', '', '', '', '[]', 1)"
            )
            connection.exec_driver_sql(
                f"INSERT INTO lanes (phase_id, server_id, epoch, cursor) VALUES (1, {server}, 4, 2)"
            )
        for attempt in ATTEMPTS:
            connection.exec_driver_sql(
                "INSERT INTO attempts (phase_id, server_id, position, number, started_at, epoch,"
                " outcome, message, total, bytes_out, bytes_in, problem_count, final)"
                " VALUES (1, ?, ?, ?, ?, 4, 'fault', '', 1.0, 1, 1, 0, 0)",
                attempt,
            )

    async with engine.begin() as connection:
        await connection.run_sync(earlier)
    await migrate(engine, tmp_path)
    async with engine.connect() as connection:
        query = "SELECT server_id, serial, position, number FROM attempts ORDER BY 1, 2"
        rows = await connection.exec_driver_sql(query)
        assert [tuple(row) for row in rows] == [
            (1, 1, 0, 1),
            (1, 2, 1, 1),
            (1, 3, 2, 1),
            (1, 4, 0, 2),
            (2, 1, 0, 1),
        ]
        query = "SELECT server_id, epoch, cursor, serial, revision FROM lanes ORDER BY 1"
        rows = await connection.exec_driver_sql(query)
        assert [tuple(row) for row in rows] == [(1, 4, 2, 4, 0), (2, 4, 2, 1, 0), (3, 4, 2, 0, 0)]
        assert await logs.are_whole(connection)
        await connection.exec_driver_sql("UPDATE lanes SET serial = 3 WHERE server_id = 1")
        assert not await logs.are_whole(connection)
        await connection.exec_driver_sql("UPDATE lanes SET serial = 4 WHERE server_id = 1")
        await connection.exec_driver_sql("UPDATE attempts SET serial = 2 WHERE server_id = 2")
        await connection.exec_driver_sql("UPDATE lanes SET serial = 2 WHERE server_id = 2")
        assert not await logs.are_whole(connection)
    await engine.dispose()
