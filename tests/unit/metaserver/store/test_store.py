"""The store on a real SQLite file: commits are stored once; stale entries are refused."""

import asyncio
import dataclasses
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from metaserver.base.compression import pack
from metaserver.base.errors import HubError, InputError, StaleLaneError, UnavailableError
from metaserver.base.lanes import AttemptRecord, CheckedAnswer, Corpus, LaneKey, Tries
from metaserver.base.records import (
    Article,
    ArticleId,
    Attempt,
    Problem,
    Server,
    ServerName,
    TaskName,
    Timings,
)
from metaserver.base.states import Control, Outcome
from metaserver.store import leases, opening, postgres, servers
from metaserver.store.store import Store, open_store
from tests import stores
from tests.kept import keep_lane, keep_phase, take_lane
from tests.waiting import until

ARTICLES = [
    Article(id=ArticleId(name), text=f"{name} binds <p53> & MDM2.\nÄ \U0001f9ec", title=name)
    for name in ("100", "200", "300")
]
INT = TaskName("INT")


def answer(*accessions: str) -> CheckedAnswer:
    hits = [[accession, rank, 0.5] for rank, accession in enumerate(accessions, 1)]
    return CheckedAnswer(
        outcome=Outcome.OK, message="", payloads={INT: hits}, problems=(), problem_count=0,
        hits_kept=len(hits), hits_dropped=0,
    )  # fmt: skip


def entry(key, position, *, number=1, epoch=1, outcome=Outcome.OK, final=True, cursor=0):
    return AttemptRecord(
        lane=key,
        epoch=epoch,
        position=position,
        attempt=Attempt(
            server=ServerName("peer"),
            article=ARTICLES[position].id,
            number=number,
            started_at=1000.0 + position,
            outcome=outcome,
            message="said so",
            timings=Timings(connect=0.25, total=1.5),
            bytes_out=10,
            bytes_in=20,
            problems=(Problem(path="normalizations[0].rank", message="expected int"),),
            problem_count=1,
            raw=pack(b"<raw/>"),
        ),
        answer=answer("P04637") if outcome is Outcome.OK else None,
        final=final,
        cursor=cursor,
    )


async def a_lane(store: Store) -> tuple[LaneKey, Corpus]:
    corpus = await store.add_corpus(ARTICLES)
    server = Server(name=ServerName("peer"), url="http://127.0.0.1/")
    key = await keep_lane(store, await keep_phase(store, corpus), server)
    await take_lane(store, key)
    return key, corpus


async def a_second_lane(store: Store, first: LaneKey) -> LaneKey:
    server = Server(name=ServerName("another"), url="http://127.0.0.1/")
    key = await keep_lane(store, first.phase_id, server)
    await take_lane(store, key)
    return key


async def test_articles_are_kept_as_they_are_in_order(store: Store) -> None:
    corpus = await store.add_corpus(ARTICLES)
    assert corpus.ids == ("100", "200", "300")
    texts = await store.article_texts(corpus.id, range(1, 17))
    assert texts == [article.text for article in ARTICLES[1:]]
    assert (await store.add_corpus(ARTICLES)).id == corpus.id
    assert (await store.add_corpus(ARTICLES[:2])).id != corpus.id
    first = dataclasses.replace(ARTICLES[0], original=b"<article>\xe4</article>")
    with_xml = await store.add_corpus([first, *ARTICLES[1:]])
    assert with_xml.id != corpus.id
    assert [await store.original(with_xml.id, place) for place in (0, 1)] == [first.original, b""]


async def test_lanes_taken_together_go_on_each_behind_its_own(store: Store) -> None:
    one, _ = await a_lane(store)
    two = await a_second_lane(store, one)
    await store.record(entry(one, 0, cursor=1))
    await store.record(entry(one, 2, cursor=1, outcome=Outcome.FAULT))  # given up
    await store.record(entry(two, 0, outcome=Outcome.FAULT, final=False, cursor=0))
    await store.record(entry(two, 0, number=2, outcome=Outcome.CANCELLED, final=False, cursor=0))
    async with store.writing() as connection:
        server = Server(name=ServerName("third"), url="http://127.0.0.1/")
        new = await servers.add(connection, server, None)
        await servers.set_control(connection, LaneKey(one.phase_id, new), Control.PAUSED)
        keys = [LaneKey(one.phase_id, new), two, one]
        for key in keys:
            await leases.order(connection, key, due=True)
        tickets = await leases.offers(connection)
    assert [ticket.key for ticket in tickets] == sorted(keys)
    taken = {lane.state.key[1]: lane.state for lane in await store.take_lanes(tickets, "a")}
    assert {lane.key for lane in taken.values()} == {one, two, LaneKey(one.phase_id, new)}
    first, second, third = (taken[at] for at in (one.server_id, two.server_id, new))
    assert (first.epoch, first.cursor, first.finished, first.tries) == (2, 1, {2}, {})
    assert (second.epoch, second.cursor, second.finished) == (2, 0, frozenset())
    assert second.tries == {0: Tries(made=2, charged=1)}
    assert (third.epoch, third.cursor, third.finished, third.tries) == (1, 0, frozenset(), {})
    assert await store.take_lanes([], "a") == []
    assert await store.take_lanes(tickets, "b") == []  # they are of earlier epochs


async def test_a_stale_epoch_is_refused_and_others_of_the_batch_are_kept(store: Store) -> None:
    key, corpus = await a_lane(store)
    await take_lane(store, key)  # another hub: epoch 2
    results = await asyncio.gather(
        store.record(entry(key, 0, epoch=1)),
        store.record(entry(key, 1, epoch=2)),
        return_exceptions=True,
    )
    assert isinstance(results[0], StaleLaneError)
    assert results[1] == 1  # its serial: a refused attempt takes none
    stored = [row.position async for row in store.attempts(key, ServerName("peer"), corpus)]
    assert stored == [1]


async def test_nothing_is_stored_twice(store: Store) -> None:
    key, corpus = await a_lane(store)
    results = await asyncio.gather(
        store.record(entry(key, 0)),
        store.record(entry(key, 0)),
        store.record(entry(key, 0, number=2)),  # a second answer to an article that has one
        store.record(entry(key, 1)),
        return_exceptions=True,
    )
    assert [isinstance(result, StaleLaneError) for result in results] == [False, True, True, False]
    assert len([row async for row in store.attempts(key, ServerName("peer"), corpus)]) == 2


async def test_an_entry_that_cannot_be_stored_stops_its_own_lane_only(store: Store) -> None:
    key, corpus = await a_lane(store)
    other = await a_second_lane(store, key)
    bad = entry(key, 0)
    bad = replace(bad, attempt=replace(bad.attempt, bytes_in=2**70))  # no column holds it
    results = await asyncio.gather(
        store.record(bad), store.record(entry(key, 1)), store.record(entry(other, 0)),
        return_exceptions=True,
    )  # fmt: skip
    assert [type(result) for result in results] == [HubError, HubError, int]
    with pytest.raises(HubError, match="an earlier answer"):  # its cursor would pass the first
        await store.record(entry(key, 2))
    assert [row async for row in store.attempts(key, ServerName("peer"), corpus)] == []
    taken = await take_lane(store, key)
    assert (taken.cursor, taken.finished) == (0, frozenset())
    await store.record(entry(key, 0, epoch=taken.epoch))


async def test_gold_gets_a_new_version_when_it_changes(store: Store) -> None:
    corpus = await store.add_corpus(ARTICLES)
    phase = await keep_phase(store, corpus)
    assert await store.set_gold(phase, INT, "gold.tsv", b"100\tP04637\n") == 1
    assert await store.set_gold(phase, INT, "gold.tsv", b"100\tP04637\n") == 1
    assert await store.set_gold(phase, INT, "gold.tsv", b"100\tQ00987\n") == 2


async def test_one_hub_at_a_time(store, place, monkeypatch):
    monkeypatch.setattr(opening, "TAKEN_SECONDS", 0.2)
    with pytest.raises((InputError, UnavailableError), match="in use by another running hub"):
        async with open_store(place):
            pass


async def test_a_hub_has_its_database_again_when_its_connection_was_cut(tmp_path, monkeypatch):
    """The lock that keeps other hubs out goes with a connection, though nothing is written."""
    place = stores.database_of(tmp_path / "hub")
    locks = "FROM pg_locks JOIN pg_stat_activity USING (pid)"
    ours = f"WHERE locktype = 'advisory' AND objid = {postgres.ALONE}"
    ours += " AND datname = current_database()"
    async with open_store(place) as store:

        async def holders() -> set[int]:
            async with store.reading() as connection:
                return set(
                    (await connection.execute(sa.text(f"SELECT pid {locks} {ours}"))).scalars()
                )

        [first] = await holders()
        async with store.reading() as connection:
            await connection.execute(sa.text(f"SELECT pg_terminate_backend({first})"))

        async def is_held_again() -> bool:
            return bool(await holders() - {first})

        await until(is_held_again)
        assert store.blocked is None
        monkeypatch.setattr(opening, "TAKEN_SECONDS", 0.2)
        with pytest.raises(UnavailableError, match="in use by another running hub"):
            async with open_store(place):
                pass


async def test_a_file_that_is_no_store_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    path.write_text("these are my notes\n" * 100)
    with pytest.raises(InputError, match="not a hub's SQLite store"):
        async with open_store(path):
            pass
    assert path.read_text().startswith("these are my notes")


@pytest.mark.parametrize(
    ("schema", "advice"), [("v9999", "the hub's version that wrote it"), ("0034", "a new store")]
)
async def test_store_of_another_version_is_refused(place, schema, advice):
    async with open_store(place) as store, store.writing() as connection:
        await connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{schema}'"))
    for opened in (open_store, opening.opened_for_reading):
        with pytest.raises(InputError, match=advice):
            async with opened(place):
                pass


async def test_only_its_owner_can_read_a_store(tmp_path: Path) -> None:
    async with open_store(tmp_path / "hub.sqlite") as store:
        await store.add_corpus(ARTICLES)
        files = [path for path in tmp_path.iterdir() if path.suffix != ".lock"]
        assert {path.name: path.stat().st_mode & 0o777 for path in files} == {
            "hub.sqlite": 0o600, "hub.sqlite-shm": 0o600, "hub.sqlite-wal": 0o600,
        }  # fmt: skip
