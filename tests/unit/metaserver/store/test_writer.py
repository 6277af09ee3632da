"""The writer on either database: each lane's entries, its cursor, and what holds it up."""

import asyncio
import errno
import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import asyncpg
import pytest
import sqlalchemy as sa
from msgspec.structs import fields, replace

from metaserver.base.compression import pack, unpack_json
from metaserver.base.errors import HubError, StaleLaneError
from metaserver.base.lanes import Asides, AttemptRecord, CheckedAnswer, LaneKey
from metaserver.base.plans import PhasePlan
from metaserver.base.records import (
    Article,
    ArticleId,
    PhaseName,
    Problem,
    Server,
    ServerName,
    TaskName,
    Timings,
)
from metaserver.base.states import Backoff, Outcome
from metaserver.store import phases, postgres, servers, sqlite
from metaserver.store.database import is_there_already
from metaserver.store.place import PostgresUrl, StorePlace
from metaserver.store.sqlite import SqliteWriter, writer_engine
from metaserver.store.store import Store, open_store
from metaserver.store.writer import MAX_BATCH, TRIAL_BYTES
from tests.fakes.caller import ended
from tests.kept import take_lane
from tests.virtual import now, timed
from tests.waiting import PATIENCE, until

_HOURS = Backoff(base=7_200.0, cap=7_200.0)
ARTICLES = [Article(id=ArticleId(str(n)), text=f"article {n}", title="") for n in range(4)]
PEER = Server(name=ServerName("peer"), url="http://127.0.0.1/")


@pytest.fixture
async def key(store: Store) -> LaneKey:
    return await taken(store, "test", "peer")


async def taken(store: Store, phase: str, server: str) -> LaneKey:
    """Take the lane of a server in a phase, made where they are new."""
    corpus = await store.add_corpus(ARTICLES)
    made = Server(name=ServerName(server), url="http://127.0.0.1/")
    async with store.writing() as connection:
        await phases.set_challenge(connection, "bc", "A challenge", "UTC")
        [challenge] = await phases.list_challenges(connection)
        known = {one.name: one.id for one in await phases.list_all(connection)}
        phase_id = known.get(PhaseName(phase)) or await phases.add(
            connection, PhaseName(phase), challenge.id, PhasePlan(), corpus_id=corpus.id,
            release="2026_01",
        )  # fmt: skip
        registered = await servers.get(connection, made.name)
        server_id = registered.id if registered else await servers.add(connection, made, None)
    key = LaneKey(phase_id, server_id)
    await take_lane(store, key)
    return key


def record(key, position, *, epoch=1, final=True, cursor=0):
    attempt, answer = ended(PEER, position, 1, Outcome.OK)
    return AttemptRecord(
        lane=key, epoch=epoch, position=position, attempt=attempt, answer=answer, final=final,
        cursor=cursor,
    )  # fmt: skip


def unstorable(entry: AttemptRecord) -> AttemptRecord:
    return replace(entry, attempt=replace(entry.attempt, bytes_in=2**70))  # no column holds it


def tries(store: Store) -> Callable[[], int]:
    """Count the transactions that the writer begins from now on, or tries to."""
    begun: list[object] = []
    writer, commit = store._writer, store._writer._commit

    def counted(batch: Sequence[AttemptRecord]) -> Awaitable[Sequence[int | HubError]]:
        begun.append(batch)
        return commit(batch)

    writer._commit = counted  # type: ignore[method-assign]
    return lambda: len(begun)


async def turns(store: Store, count: int = 20) -> None:
    """Let the writer go on while another has its turns with the database."""
    for _ in range(count):
        async with store.reading() as connection:
            await connection.execute(sa.text("SELECT 1"))


async def cursors(store: Store) -> dict[LaneKey, int]:
    async with store.reading() as connection:
        rows = await connection.execute(sa.text("SELECT phase_id, server_id, cursor FROM lanes"))
        return {LaneKey(phase, server): cursor for phase, server, cursor in rows}


async def test_each_lane_has_its_own_cursor(store: Store) -> None:
    """Of one batch: two servers of a phase, and one of them in another phase."""
    lanes = [await taken(store, *names) for names in (("a", "x"), ("a", "y"), ("b", "x"))]
    idle = await taken(store, "b", "y")
    begun = tries(store)
    await asyncio.gather(
        *(store.record(record(key, 0, cursor=n)) for n, key in enumerate(lanes, 1))
    )
    assert begun() == 1
    expected = dict(zip(lanes, (1, 2, 3), strict=True)) | {idle: 0}
    assert await cursors(store) == expected
    await store.record(record(lanes[1], 1, cursor=4))
    assert await cursors(store) == expected | {lanes[1]: 4}


async def test_a_lanes_last_cursor_of_a_batch_counts(store: Store, key: LaneKey) -> None:
    batch = [record(key, 0, cursor=1), record(key, 1, cursor=2)]
    await asyncio.gather(*map(store.record, batch))
    assert await cursors(store) == {key: 2}


async def test_an_attempt_that_is_not_the_last_leaves_the_cursor(store, key):
    await store.record(record(key, 0, final=False, cursor=3))
    assert await cursors(store) == {key: 0}


async def test_the_epoch_of_another_lane_does_not_count(store: Store) -> None:
    first, second = await taken(store, "a", "x"), await taken(store, "a", "y")
    await take_lane(store, second)  # its epoch is 2, the first lane's is 1
    results = await asyncio.gather(
        store.record(record(first, 0, epoch=1)), store.record(record(second, 0, epoch=1)),
        store.record(record(first, 1, epoch=2)), store.record(record(second, 1, epoch=2)),
        return_exceptions=True,
    )  # fmt: skip
    assert [type(result) for result in results] == [int, StaleLaneError, StaleLaneError, int]


async def test_a_lone_stale_entry_does_not_end_the_writer(store: Store, key: LaneKey) -> None:
    await take_lane(store, key)
    with pytest.raises(StaleLaneError, match="another hub has taken this lane"):
        await store.record(record(key, 0, epoch=1))
    async with asyncio.timeout(30):
        await store.record(record(key, 0, epoch=2))
    assert store.blocked is None


async def test_a_lane_that_is_not_known_is_stale(store: Store, key: LaneKey) -> None:
    with pytest.raises(StaleLaneError):
        await store.record(record(LaneKey(key.phase_id, key.server_id + 1), 0))


async def test_nothing_is_written_where_nothing_waits(store: Store, key: LaneKey) -> None:
    begun = tries(store)
    await store.record(record(key, 0))
    await turns(store)
    assert begun() == 1


async def test_what_waits_is_written_in_batches_of_a_bounded_size(store, key):
    begun = tries(store)
    stale = [record(key, 0, epoch=7)] * (2 * MAX_BATCH + 1)
    results = await asyncio.gather(*map(store.record, stale), return_exceptions=True)
    assert {type(result) for result in results} == {StaleLaneError}
    assert begun() == 3


async def test_all_of_an_attempt_is_kept(store: Store, key: LaneKey) -> None:
    attempt = replace(
        record(key, 2).attempt,
        number=3,
        started_at=1000.5,
        outcome=Outcome.PARTIAL,
        message="said so",
        timings=Timings(**{field.name: n + 0.5 for n, field in enumerate(fields(Timings))}),
        bytes_out=10,
        bytes_in=20,
        problems=(Problem(path="normalizations[0].rank", message="expected int"),),
        problem_count=7,
    )
    payloads = {TaskName("INT"): [["P1", 1, 0.5]]}
    answer = CheckedAnswer(
        outcome=Outcome.PARTIAL, message="", payloads=payloads, problems=(), problem_count=0,
        hits_kept=5, hits_dropped=6, asides=Asides(hits={TaskName("INT"): [("words", 9606)]}),
    )  # fmt: skip
    await store.record(
        replace(record(key, 2), attempt=replace(attempt, raw=pack(b"<raw/>")), answer=answer)
    )
    corpus = await store.corpus(1)
    [stored] = [one async for one in store.attempts(key, PEER.name, corpus)]
    assert (stored.position, stored.final, stored.attempt) == (2, True, attempt)
    assert await store.raw_answer(key, 2, 3) == b"<raw/>"
    assert await store.raw_answer(key, 1, 3) is None
    [packed] = await store.packed_answers(key, after=-1, limit=2)
    assert (packed.position, unpack_json(packed.payloads)) == (2, {"INT": [["P1", 1, 0.5]]})
    found = await store.answer(key, 2)
    assert found is not None
    assert Asides.unpacked(found.asides).hits == {"INT": [("words", 9606)]}
    assert await store.packed_asides(key, after=-1, limit=2) == [(2, found.asides)]
    assert await store.packed_asides(key, after=2, limit=2) == []
    assert await store.hits_kept(key) == {2: 5}
    async with store.reading() as connection:
        kept = await connection.execute(sa.text("SELECT number, hits_dropped FROM answers"))
        assert [tuple(row) for row in kept] == [(3, 6)]
        epochs = await connection.execute(sa.text("SELECT epoch, final FROM attempts"))
        assert [tuple(row) for row in epochs] == [(1, 1)]


async def test_what_an_attempt_does_not_have_is_not_kept(store: Store, key: LaneKey) -> None:
    entry = replace(record(key, 0, final=False), answer=None)
    assert entry.attempt.raw == b""
    await store.record(entry)
    async with store.reading() as connection:
        for table in ("raw_answers", "answers"):
            assert await connection.scalar(sa.text(f"SELECT count(*) FROM {table}")) == 0
        kept = await connection.execute(sa.text("SELECT problems, final FROM attempts"))
        assert [tuple(row) for row in kept] == [(None, 0)]


async def test_one_entry_that_cannot_be_stored_names_its_cause(store: Store, key: LaneKey) -> None:
    with pytest.raises(HubError, match=r"not stored: .*(too large|out of int64)") as failed:
        await store.record(unstorable(record(key, 0)))
    assert failed.value.__cause__ is not None
    assert not isinstance(failed.value, StaleLaneError)
    await store.record(record(await taken(store, "test", "another"), 0))


async def test_an_entry_that_is_there_already_names_its_cause(store: Store, key: LaneKey) -> None:
    await store.record(record(key, 0))
    with pytest.raises(StaleLaneError) as failed:
        await store.record(record(key, 0))
    assert failed.value.__cause__ is not None
    assert is_there_already(failed.value.__cause__)
    await store.record(record(key, 1))  # its lane goes on: nothing is missing


async def test_a_lane_with_an_entry_missing_is_refused_only_in_its_epoch(store, key):
    with pytest.raises(HubError, match="not stored"):
        await store.record(unstorable(record(key, 0)))
    with pytest.raises(HubError, match="an earlier answer of this lane could not be stored"):
        await store.record(record(key, 1))
    await take_lane(store, key)
    await store.record(record(key, 1, epoch=2))


async def test_who_waits_no_more_holds_nobody_up(store: Store, key: LaneKey) -> None:
    recordings = [asyncio.ensure_future(store.record(record(key, n))) for n in range(2)]
    await asyncio.sleep(0)  # both wait
    recordings[0].cancel()
    await recordings[1]
    await store.record(record(key, 2))
    assert recordings[0].cancelled()


class Holder:
    """Another program, which keeps all others from writing until it lets go."""

    def __init__(self, place: StorePlace) -> None:
        self._place = place
        self._held: list[Any] = []

    async def hold(self) -> None:
        if isinstance(self._place, PostgresUrl):
            connection = await asyncpg.connect(self._place.secret)
            await connection.execute("BEGIN; LOCK TABLE lanes IN EXCLUSIVE MODE")
        else:
            connection = sqlite3.connect(self._place, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
        self._held.append(connection)

    async def let_go(self) -> None:
        while self._held:
            ended = self._held.pop().close()
            if ended is not None:
                await ended


@pytest.fixture
async def locked(place, monkeypatch):
    """A store whose database another program holds."""
    monkeypatch.setattr("metaserver.store.sqlite.BUSY_SECONDS", 0.01)
    monkeypatch.setitem(postgres._SETTINGS, "lock_timeout", "10ms")
    monkeypatch.setattr("metaserver.store.sqlite.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("metaserver.store.postgres.RETRY", Backoff(base=0.01, cap=0.02))
    async with open_store(place) as store:
        key = await taken(store, "test", "peer")
        await store.record(record(key, 3))  # it has a connection
        holder = Holder(place)
        await holder.hold()
        yield store, key, holder
        await holder.let_go()


async def test_transactions_of_a_hub_on_a_file_wait_for_each_other(tmp_path, monkeypatch):
    """However long: not by SQLite's time-out, for which the loop must not stand still."""
    monkeypatch.setattr("metaserver.store.sqlite.BUSY_SECONDS", 0.0)
    inside, goes_on, insert = threading.Event(), threading.Event(), sqlite._insert

    def held(*args: Any) -> None:
        insert(*args)
        inside.set()
        goes_on.wait(PATIENCE)

    monkeypatch.setattr(sqlite, "_insert", held)
    async with open_store(tmp_path / "hub.sqlite") as store:
        key = await taken(store, "test", "peer")
        async with store.writing() as connection:
            await phases.set_challenge(connection, "bc", "Another title", "UTC")
            recording = asyncio.ensure_future(store.record(record(key, 0)))
            await turns(store)
            assert (store.blocked, inside.is_set()) == (None, False)
        await until(inside.is_set)
        another = Article(id=ArticleId("5"), text="another", title="")
        changing = asyncio.ensure_future(store.add_corpus([another]))
        await turns(store)
        waits = not changing.done()
        goes_on.set()
        assert waits
        await recording
        await changing
        assert store.failed_writes == 0


async def until_blocked(store: Store) -> None:
    await until(lambda: store.blocked is not None)


async def test_between_two_tries_the_writer_waits(locked, monkeypatch):
    monkeypatch.setattr("metaserver.store.sqlite.RETRY_SECONDS", 3_600.0)
    monkeypatch.setattr("metaserver.store.postgres.RETRY", _HOURS)
    store, key, _ = locked
    begun = tries(store)
    recording = asyncio.ensure_future(store.record(record(key, 0)))
    await until_blocked(store)
    await turns(store)
    assert begun() == 1
    recording.cancel()


@timed
async def test_a_file_that_cannot_be_written_is_tried_every_second(tmp_path: Path) -> None:
    tried: list[float] = []

    class Full(SqliteWriter):
        async def _commit(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
            tried.append(now())
            raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "hub.sqlite"
    writer = Full(writer_engine(path), path)
    writer.wake()
    with suppress(TimeoutError):
        await asyncio.wait_for(writer.run(), 3.5)
    assert tried == [0, 1, 2, 3]
    await writer.close()


async def test_what_could_not_be_written_is_tried_again_with_what_came_before(locked, caplog):
    store, key, holder = locked
    caplog.set_level(logging.INFO, "metaserver.store.writer")
    begun = tries(store)
    recording = asyncio.ensure_future(store.record(record(key, 0)))
    await until(lambda: begun() >= 3)
    why = store.blocked
    assert why in ("database is locked", "canceling statement due to lock timeout")
    await holder.let_go()
    await recording
    assert store.blocked is None
    said = [(line.levelname, line.getMessage()) for line in caplog.records]
    assert said == [  # once each, however often it was tried
        ("ERROR", f"nothing can be stored, so no article is sent: {store.place}: {why}"),
        ("WARNING", "answers can be stored again"),
    ]


async def test_an_entry_that_cannot_be_stored_does_not_block_what_could(locked):
    store, key, holder = locked
    recording = asyncio.ensure_future(store.record(unstorable(record(key, 0))))
    await until_blocked(store)
    await holder.let_go()
    with pytest.raises(HubError, match="not stored"):
        await recording
    assert store.blocked is None


async def test_who_finds_that_nothing_can_be_written_has_it_tried(store, caplog):
    """By a page that is written: a full disk lets transactions begin."""
    caplog.set_level(logging.INFO, "metaserver.store.writer")
    begun = tries(store)
    store._writer.mark_unwritable("the disk is full")
    assert (store.blocked, store.failed_writes) == ("the disk is full", 1)
    await until(lambda: store.blocked is None)
    assert begun() == 1
    assert [line.levelname for line in caplog.records] == ["ERROR", "WARNING"]


async def test_a_trial_writes_to_the_file(tmp_path: Path) -> None:
    async with open_store(tmp_path / "hub.sqlite") as store:
        with closing(sqlite3.connect(tmp_path / "hub.sqlite")) as other:
            [before] = other.execute("PRAGMA data_version")
            store._writer.mark_unwritable("the disk is full")
            await until(lambda: store.blocked is None)
            [after] = other.execute("PRAGMA data_version")
    assert after != before


async def test_a_trial_needs_the_space_that_answers_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    reserve = Mock(side_effect=[full, None])
    monkeypatch.setattr("os.posix_fallocate", reserve)
    monkeypatch.setattr("metaserver.store.sqlite.RETRY_SECONDS", 0.01)
    async with open_store(tmp_path / "hub.sqlite") as store:
        begun = tries(store)
        store.try_to_write()
        await until(lambda: begun() == 2 and store.blocked is None)
    assert f"so no article is sent: {store.place}: [Errno 28] No space left" in caplog.text
    assert [call.args[1:] for call in reserve.mock_calls] == [(0, TRIAL_BYTES)] * 2


async def test_characters_that_no_text_can_hold_are_replaced(store: Store, key: LaneKey) -> None:
    entry = record(key, 0)
    await store.record(replace(entry, attempt=replace(entry.attempt, message="a\0b\ud800c")))
    async with store.reading() as connection:
        assert await connection.scalar(sa.text("SELECT message FROM attempts")) == "a\ufffdb\ufffdc"


async def test_a_writer_that_ends_leaves_no_thread_and_no_connection(tmp_path: Path) -> None:
    async with open_store(tmp_path / "hub.sqlite") as store:
        await store.record(record(await taken(store, "test", "peer"), 0))
        assert isinstance(store._writer, SqliteWriter)
        engine, thread = store._writer._engine, store._writer._thread
        assert isinstance(engine.pool, sa.QueuePool)
    with pytest.raises(RuntimeError, match="after shutdown"):
        thread.submit(print)
    assert engine.pool.checkedin() == 0
