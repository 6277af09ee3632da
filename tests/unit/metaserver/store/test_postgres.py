"""What a store in PostgreSQL has to get right and one in a file need not."""

import asyncio
import gc
import itertools
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import pytest
import sqlalchemy as sa

from metaserver.base.errors import InputError, UnavailableError
from metaserver.store import audit, postgres
from metaserver.store.database import reading, writing
from metaserver.store.leases import LEASE_SECONDS
from metaserver.store.place import PostgresUrl, read_url
from metaserver.store.postgres import (
    PostgresWriter,
    postgres_engine,
    wait_for_server,
)
from metaserver.store.store import Store, open_store
from tests import stores
from tests.unit.metaserver.store.test_writer import ARTICLES, record, taken
from tests.waiting import patience, until

COMMIT = b"COMMIT;"
READY = b"Z\0\0\0\5"  # and how the transaction stands
FATAL = b"E\0\0\0\x32SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"


class Wire:
    """A proxy before the server's socket, which can cut a connection at a commit.

    `cut` is asked at each commit: "before", it never arrives; "after", its end is not heard of.
    `ends` is asked whenever the server is ready for the next statement: whether it says then that
    it ends the connection.
    """

    def __init__(self) -> None:
        self.cut: Callable[[], str] = lambda: ""
        self.ends: Callable[[], bool] = lambda: False
        self.cuts = 0

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        folder = stores.server().folder
        server, requests = await asyncio.open_unix_connection(folder / ".s.PGSQL.5432")
        deaf, told = asyncio.Event(), asyncio.Event()
        passing = asyncio.create_task(self._pass(server, answers, deaf, told))
        try:
            while sent := await client.read(2**16):
                how = self.cut() if COMMIT in sent else ""
                if how == "after":
                    deaf.set()
                if how != "before":
                    requests.write(sent)
                    await requests.drain()
                if how == "after":
                    await told.wait()  # it is committed
                if how:
                    self.cuts += 1
                    break
        finally:
            passing.cancel()
            for end in (requests, answers):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    async def _pass(self, server, answers, deaf, told):
        while answer := await server.read(2**16):
            if deaf.is_set():
                told.set()
                return
            if answer[-6:-1] == READY and self.ends():
                answer += FATAL
            answers.write(answer)
            await answers.drain()
        answers.close()


@asynccontextmanager
async def behind_a_wire(url: PostgresUrl) -> AsyncIterator[tuple[Wire, PostgresUrl]]:
    """Give the proxy, and the URL of the database behind it."""
    wire = Wire()
    with TemporaryDirectory() as folder:
        listening = await asyncio.start_unix_server(wire.serve, Path(folder) / ".s.PGSQL.5432")
        through = f"postgresql://{stores.USER}@/{url.database}?host={folder}"
        async with listening:
            yield wire, read_url(through, "store")


@pytest.mark.parametrize("how", ["before", "after"])
async def test_a_commit_whose_end_was_not_heard_of_is_looked_up(url: PostgresUrl, how: str) -> None:
    async with behind_a_wire(url) as (wire, through), open_store(through) as store:
        keys = [await taken(store, "test", name) for name in ("a", "b", "c")]
        cuts = iter([how, "", how, how, "", how])
        wire.cut = lambda: next(cuts, "")
        serials = []
        for position in range(4):
            async with patience():
                serials += await asyncio.gather(
                    *(store.record(record(key, position, cursor=position + 1)) for key in keys)
                )
        assert wire.cuts == 4
        assert serials == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
        assert store.blocked is None
        async with store.reading() as connection:
            rows = await connection.execute(
                sa.text("SELECT server_id, serial, position FROM attempts ORDER BY 1, 2")
            )
            assert [tuple(row) for row in rows] == [
                (key.server_id, position + 1, position) for key in keys for position in range(4)
            ]
            ends = await connection.execute(sa.text("SELECT DISTINCT serial, cursor FROM lanes"))
            assert [tuple(row) for row in ends] == [(4, 4)]


@pytest.mark.parametrize("place", range(6))
async def test_a_connection_that_ends_between_two_statements_loses_no_answer(url, place, caplog):
    """The client hears of it with the answer before, and the connection is still open."""
    async with behind_a_wire(url) as (wire, through), open_store(through) as store:
        key = await taken(store, "test", "a")
        await store.record(record(key, 0, cursor=1))
        statements = itertools.count()
        wire.ends = lambda: next(statements) == place
        async with patience():
            serials = [await store.record(record(key, n, cursor=n + 1)) for n in (1, 2)]
        assert next(statements) > place
        assert serials == [2, 3]
        assert store.blocked is None
        gc.collect()
        await asyncio.sleep(0)
    assert not [one for one in caplog.records if one.exc_info], caplog.text


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("used", ["reading", "writing", "renewing"])
async def test_a_connection_that_ends_in_use_is_no_fault_of_the_hub(url, used, place):
    """Whoever uses it has what was asked for, or hears that the store is away; later it is back."""
    async with behind_a_wire(url) as (wire, through), open_store(through) as store:

        async def use() -> int:
            async with getattr(store, used)() as connection:
                found = await connection.execute(sa.text("SELECT count(*) FROM teams"))
                return int(found.scalar_one())

        assert await use() == 0
        statements = itertools.count()
        wire.ends = lambda: next(statements) == place
        with suppress(UnavailableError):
            assert await use() == 0
        assert next(statements) > place
        wire.ends = lambda: False
        await until(lambda: store.blocked is None)
        assert await use() == 0


async def test_an_answer_that_was_stored_counts_though_the_lane_was_taken_since(url):
    """Its commit's end was not heard of, and another hub took the lane before it was looked up."""
    async with behind_a_wire(url) as (wire, through), open_store(through) as store:
        key = await taken(store, "test", "a")
        writer = store._writer
        assert isinstance(writer, PostgresWriter)
        connect = writer._connect
        may = asyncio.Event()

        async def later() -> object:
            await may.wait()
            return await connect()

        writer._connect = later  # type: ignore[assignment]
        cuts = iter(["after"])
        wire.cut = lambda: next(cuts, "")
        recording = [store.record(record(key, 0))]
        await until(lambda: wire.cuts == 1)
        recording.append(store.record(record(key, 1)))
        connection = await asyncpg.connect(url.secret)
        await connection.execute("UPDATE lanes SET epoch = epoch + 1")
        await connection.close()
        may.set()
        first, second = await asyncio.gather(*recording, return_exceptions=True)
        assert first == 1
        assert type(second).__name__ == "StaleLaneError"


async def test_an_earlier_holder_cannot_commit_after_the_lane_was_read(url: PostgresUrl) -> None:
    """A batch waits for who takes its lane, and finds its epoch risen."""
    async with open_store(url) as store:
        key = await taken(store, "test", "a")
        other = await asyncpg.connect(url.secret)
        async with other.transaction():
            await other.execute("UPDATE lanes SET epoch = epoch + 1")
            recording = asyncio.ensure_future(store.record(record(key, 0)))
            waits = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND application_name LIKE 'metaserver/writer/%'"
            )
            await until(lambda: stores.server().ask(waits, url.database)[0][0] == 1)
        await other.close()
        [ended] = await asyncio.gather(recording, return_exceptions=True)
        assert type(ended).__name__ == "StaleLaneError"


async def test_control_writes_come_one_at_a_time_also_of_two_processes(url: PostgresUrl) -> None:
    """Each reads the number of entries and writes one that depends on it."""
    async with open_store(url):
        pass
    engines = [postgres_engine(url, f"hub-{number}") for number in range(2)]

    async def count_up(engine: sa.ext.asyncio.AsyncEngine) -> None:
        for _ in range(20):
            async with writing(engine, url) as connection:
                entries = await connection.execute(sa.text("SELECT count(*) FROM audit"))
                await audit.add(
                    connection, actor="x", action="y", subject=str(entries.scalar()), detail=None
                )

    await asyncio.gather(*(count_up(engine) for engine in engines for _ in range(2)))
    async with reading(engines[0], url) as connection:
        subjects = await connection.execute(sa.text("SELECT subject FROM audit ORDER BY id"))
        assert list(subjects.scalars()) == [str(number) for number in range(80)]
    for engine in engines:
        await engine.dispose()


async def test_names_are_ordered_by_bytes_whatever_the_collation(tmp_path: Path) -> None:
    stores.server().ask(
        "CREATE DATABASE natural_order TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"
    )
    place = read_url(stores.server().url("natural_order"), "store")
    names = ["b", "a", "B", "A", "a-b", "ab", "a.b", "Z", "_"]
    for where in (place, tmp_path / "hub.sqlite"):
        async with open_store(where) as store, store.writing() as connection:
            for name in names:
                await connection.execute(
                    sa.text(
                        "INSERT INTO teams (name, title, email, created_at) VALUES (:n, '', '', 0)"
                    ),
                    {"n": name},
                )
            found = await connection.execute(sa.text("SELECT name FROM teams ORDER BY name"))
            assert list(found.scalars()) == sorted(names)


@pytest.mark.slow
async def test_several_processes_migrate_once(tmp_path: Path) -> None:
    stores.server().ask("CREATE DATABASE migrated_by_many")
    url = stores.server().url("migrated_by_many")
    code = (
        "import asyncio, sys\n"
        "from metaserver.store.opening import making\n"
        "from metaserver.store.place import read_url\n"
        "async def make():\n"
        "    async with making(read_url(sys.argv[1], 'store')): pass\n"
        "asyncio.run(make())\n"
    )
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, url, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(3)
    ]
    for process in started:
        _, said = await process.communicate()
        assert process.returncode == 0, said.decode()
    assert len(stores.server().ask("SELECT * FROM alembic_version", "migrated_by_many")) == 1


async def test_a_text_with_characters_that_no_text_can_hold_is_stored(url: PostgresUrl) -> None:
    async with open_store(url) as store:
        async with store.writing() as connection:
            await audit.add(
                connection, actor="a\0b", action="x", subject="\ud800", detail={"name": "a\0"}
            )
        async with store.reading() as connection:
            rows = await connection.execute(sa.text("SELECT actor, subject FROM audit"))
            assert [tuple(row) for row in rows] == [("a\ufffdb", "\ufffd")]


async def test_a_server_that_is_away_is_named_without_its_password(tmp_path: Path) -> None:
    url = read_url(f"postgresql://hub:s3cret@/db?host={tmp_path}", "store")
    assert "s3cret" not in repr(url) + str(url)
    with pytest.raises(UnavailableError) as refused:  # no fault of the settings: a unit tries again
        async with open_store(url):
            pass
    assert "no connection" in str(refused.value)
    assert "s3cret" not in str(refused.value)


async def test_a_start_waits_for_a_server_that_is_away(caplog):
    with stores.own_server() as server:
        url = read_url(server.url("postgres"), "store")
        server.stop()
        start = asyncio.create_task(wait_for_server(url))

        async def is_said() -> bool:
            return "waiting until it is there" in caplog.text

        await until(is_said)
        assert not start.done()
        server.start()
        await start
        with pytest.raises(InputError, match="no connection"):
            await wait_for_server(read_url(server.url("unknown"), "store"))


@pytest.mark.slow
async def test_reading_says_that_the_database_is_away() -> None:
    with stores.own_server() as server:
        server.ask("CREATE DATABASE hub")
        async with open_store(read_url(server.url("hub"), "store")) as store:
            corpus = await store.add_corpus(ARTICLES)
            server.stop("fast")
            with pytest.raises(UnavailableError):
                await store.corpus(corpus.id)
            with pytest.raises(UnavailableError):
                async with store.writing():
                    pass
            assert store.blocked
            server.start()
            await until(lambda: store.blocked is None)
            assert (await store.corpus(corpus.id)).ids == corpus.ids


async def failing(store: Store, error: Exception) -> None:
    async with store.writing() as connection:
        await connection.execute(sa.text("SELECT 1"))
        raise error


async def test_what_fails_within_a_write_is_not_taken_for_the_database(url: PostgresUrl) -> None:
    async with open_store(url) as store:
        for error in (OSError("no such file"), TimeoutError(), ValueError("x")):
            with pytest.raises(type(error)):
                await failing(store, error)
        assert store.blocked is None


async def test_locks_of_a_frozen_process_last_no_longer_than_its_lease(url: PostgresUrl) -> None:
    async def shown(connection: postgres.PgConnection, setting: str) -> float:
        query = "SELECT extract(epoch FROM current_setting($1)::interval)::float8"
        seconds: float = await connection.fetchval(query, setting)
        return seconds

    writer = await postgres.connecting(url, "writer", seconds=10.0)()
    other = await postgres.connecting(url, "test")()
    patient = await postgres.connecting(url, "test", patient=True)()
    for connection in (writer, other):
        idle = await shown(connection, "idle_in_transaction_session_timeout")
        assert 0 < idle <= LEASE_SECONDS
    assert await shown(writer, "statement_timeout") == 10.0  # as long as its client waits
    assert await shown(other, "statement_timeout") == 30.0
    for setting in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"):
        assert await shown(patient, setting) == 0
    for connection in (writer, other, patient):
        await connection.close()


async def test_a_cursor_that_is_cut_off_says_that_the_store_is_away(url):
    async def cut_off(store: Store) -> None:
        async with store.reading() as connection:
            pid = await connection.scalar(sa.text("SELECT pg_backend_pid()"))
            rows = await connection.stream(sa.text("SELECT generate_series(1, 10000)"))
            end = f"SELECT pg_terminate_backend({pid}, 60000)"
            await asyncio.to_thread(stores.server().ask, end)
            async for _ in rows:
                pass

    async with open_store(url) as store:
        with pytest.raises(UnavailableError):
            await cut_off(store)
        assert store.blocked is None
