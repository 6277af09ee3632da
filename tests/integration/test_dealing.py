"""Free lanes are dealt, each to one process: one contract for one process and for several."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import pytest

from metaserver.model.errors import UnavailableError
from metaserver.model.lanes import LaneKey, Ticket
from metaserver.phases import shared_dealing
from metaserver.phases.dealing import Dealer, OwnDealer
from metaserver.phases.shared_dealing import SharedDealer
from metaserver.store.place import PostgresUrl
from metaserver.store.postgres import connecting
from tests import stores
from tests.waiting import patience, until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

TICKETS = [Ticket(LaneKey(1, number), number + 3) for number in range(450)]


class Taker:
    """A process that takes what it is dealt, until it is full."""

    def __init__(self, places: int = 10_000) -> None:
        self.places = places
        self.taken: list[Ticket] = []
        self.fails = 0

    @property
    def spare(self) -> int:
        return self.places - len(self.taken)

    async def take(self, tickets: Sequence[Ticket]) -> None:
        if self.fails:
            self.fails -= 1
            raise UnavailableError("disk full")
        self.taken += tickets


@pytest.fixture
def database(tmp_path: Path) -> PostgresUrl:
    return stores.database_of(tmp_path / "dealt")


@asynccontextmanager
async def shared(url: PostgresUrl, taker: Taker) -> AsyncIterator[Dealer]:
    dealer = SharedDealer(connecting(url, "test"), taker.take, lambda: taker.spare)
    running = asyncio.create_task(dealer.run())
    try:
        await until(lambda: dealer.is_connected)
        yield dealer
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.fixture(params=["own", "shared"])
async def dealt(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Dealer, Taker]]:
    taker = Taker()
    if request.param == "own":
        yield OwnDealer(taker.take), taker
        return
    async with shared(stores.database_of(tmp_path / "dealt"), taker) as dealer:
        yield dealer, taker


async def test_each_ticket_is_dealt_once(dealt: tuple[Dealer, Taker]) -> None:
    dealer, taker = dealt
    await dealer.offer(TICKETS)
    await until(lambda: len(taker.taken) >= len(TICKETS))
    assert sorted(taker.taken) == TICKETS
    await dealer.offer([])
    later = [ticket._replace(epoch=ticket.epoch + 1) for ticket in TICKETS[:3]]
    await dealer.offer(later)  # the same lanes, free again
    await until(lambda: len(taker.taken) >= len(TICKETS) + 3)
    assert sorted(taker.taken[-3:]) == later


async def test_a_lane_that_could_not_be_taken_is_dealt_when_it_is_offered_again(
    dealt: tuple[Dealer, Taker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_dealing, "OFFERED_SECONDS", 0.05)
    dealer, taker = dealt
    taker.fails = 1
    with suppress(UnavailableError):
        await dealer.offer(TICKETS[:1])
    await until(lambda: not taker.fails)
    assert not taker.taken

    async def again() -> bool:
        await dealer.offer(TICKETS[:1])
        return bool(taker.taken)

    await _until(again)
    assert set(taker.taken) == {TICKETS[0]}


async def _until(true: Callable[[], Awaitable[bool]]) -> None:
    async with patience():
        while not await true():
            await asyncio.sleep(0.1)


async def test_nobody_is_dealt_more_than_there_is_room_for(database: PostgresUrl) -> None:
    one, two = Taker(20), Taker(30)
    async with shared(database, one) as dealer, shared(database, two):
        await dealer.offer(TICKETS[:60])
        await until(lambda: not one.spare and not two.spare)
        await asyncio.sleep(0.5)  # nothing more comes
        assert (len(one.taken), len(two.taken)) == (20, 30)
        one.places += 30
        await until(lambda: len(one.taken) == 30)
    assert sorted(one.taken + two.taken) == TICKETS[:60]


async def test_a_queue_that_is_offered_the_same_by_several_deals_it_once(
    database: PostgresUrl,
) -> None:
    one, two = Taker(0), Taker(0)
    async with shared(database, one) as dealer, shared(database, two) as other:
        await dealer.offer(TICKETS)
        await other.offer(TICKETS)
        one.places = two.places = 300
        await until(lambda: len(one.taken) + len(two.taken) >= len(TICKETS))
        assert sorted(one.taken + two.taken) == TICKETS


async def test_a_broken_connection_is_mended(
    database: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_dealing, "RESTART_SECONDS", 0.05)
    monkeypatch.setattr(shared_dealing, "OFFERED_SECONDS", 0.05)
    taker = Taker()
    async with shared(database, taker) as dealer:
        await dealer.offer(TICKETS[:5])
        await until(lambda: len(taker.taken) == 5)
        connection = await asyncpg.connect(database.secret)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        await connection.close()

        async def more() -> bool:
            await dealer.offer(TICKETS[5:10])
            return set(TICKETS[:10]) <= set(taker.taken)

        await _until(more)
