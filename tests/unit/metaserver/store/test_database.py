"""A store's file: its log, which the writer empties, and its connections, which all end."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.store import sqlite
from metaserver.store.sqlite import open_sqlite, writer_engine
from tests.waiting import until

ROW = b"x" * 10_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a table, whose log is emptied at 20 rows, and tried at every transaction."""
    monkeypatch.setattr(sqlite, "LOG_BYTES", 20 * len(ROW))
    monkeypatch.setattr(sqlite, "LOG_PAUSE", 0.0)
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE found (row BLOB)")
    return path


@contextmanager
def writing(path: Path) -> Iterator[sa.Engine]:
    """Open the writer's engine."""
    engine = writer_engine(path)
    yield engine
    engine.dispose()


def write(engine: sa.Engine, rows: int) -> None:
    """Write rows, each in a transaction."""
    for _ in range(rows):
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO found VALUES (?)", (ROW,))


def log_size(path: Path) -> int:
    """Return the size of the write-ahead log."""
    return path.with_name(path.name + "-wal").stat().st_size


def count(path: Path) -> int:
    """Return the number of rows."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM found").fetchone()[0])


def test_the_log_is_bounded(store: Path) -> None:
    with writing(store) as engine:
        for _ in range(10):
            write(engine, 15)
            assert log_size(store) < 2 * sqlite.LOG_BYTES
        assert count(store) == 150


def test_a_log_of_16_mib_is_emptied(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with writing(store) as engine:
        for size, is_emptied in ((15, False), (17, True)):
            with engine.begin() as connection:
                connection.exec_driver_sql("INSERT INTO found VALUES (zeroblob(?))", (size << 20,))
            assert (log_size(store) == 0) is is_emptied


def test_a_reader_holds_the_log_until_it_ends(store: Path) -> None:
    with writing(store) as engine:
        write(engine, 1)
        with closing(sqlite3.connect(store)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM found").fetchone() == (1,)
            write(engine, 60)
            assert log_size(store) > 2 * sqlite.LOG_BYTES
            assert reader.execute("SELECT count(*) FROM found").fetchone() == (1,)
        write(engine, 1)
        assert log_size(store) == 0
        assert count(store) == 62
        with engine.connect() as connection:
            timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
        assert timeout == sqlite.BUSY_SECONDS * 1e3


def test_what_is_written_stays_where_the_log_cannot_be_emptied(store, monkeypatch):
    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            if "wal_checkpoint" in sql:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *given)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Failing))
    with writing(store) as engine:
        write(engine, 30)
    monkeypatch.undo()
    assert count(store) == 30


LONG = """WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 1000000)
          SELECT count(*) FROM rows"""


async def test_a_reader_that_is_cancelled_twice_ends(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "store.sqlite") as engine:

        async def read() -> None:
            async with engine.connect() as connection:
                await connection.execute(sa.text(LONG))

        reader = asyncio.create_task(read())
        while not engine.pool.checkedout():
            await asyncio.sleep(0)
        for _ in range(2):  # the second meets the end of the connection, which waits for the query
            await asyncio.sleep(0.02)
            reader.cancel()
        await asyncio.wait([reader])
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left or not (await asyncio.wait(left, timeout=5))[1]


async def test_a_closed_store_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    async with open_sqlite(tmp_path / "store.sqlite") as engine:
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        started = set(threading.enumerate()) - before
    assert started
    await until(lambda: not any(thread.is_alive() for thread in started), seconds=5)
