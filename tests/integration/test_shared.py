"""What processes of a hub share: lanes dealt, limits of requests, counts of leases, states."""

import asyncio
import shutil
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import msgspec
import pytest
import sqlalchemy as sa
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from metaserver.base.errors import StaleLaneError, UnavailableError
from metaserver.base.lanes import AttemptRecord, LaneKey, Ticket
from metaserver.base.records import ServerName
from metaserver.base.states import Control, ProcessRole, ServerState
from metaserver.boards.forecast import KEPT, MeasuredPace
from metaserver.boards.metrics import Metrics
from metaserver.boards.windows import ServerWindow, Window
from metaserver.cli.doctor import examine
from metaserver.cli.serve import work_lanes
from metaserver.operations.monitoring import MachinesDetail
from metaserver.phases import follower, locked, shared_dealing
from metaserver.phases.holder import Dealer, OwnDealer
from metaserver.phases.membership import FencedRecorder, HubMember
from metaserver.phases.shared_dealing import SharedDealer
from metaserver.store import audit, leases, servers
from metaserver.store.leases import LEASE_SECONDS, LeaseCounts, Process
from metaserver.store.place import PostgresUrl
from metaserver.store.postgres import connecting
from metaserver.store.store import open_store
from metaserver.store.tables import lanes, leader, workers
from metaserver.web.access.throttle import Buckets, Delays, Failures
from tests import stores
from tests.fakes.clock import FakeClock
from tests.hubs.inside import Running, plan_phase
from tests.hubs.several import process, two
from tests.integration.kits import asked_server
from tests.unit.metaserver.store.test_writer import record, taken
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


@asynccontextmanager
async def web(
    path: Path, *, role: ProcessRole = ProcessRole.WEB, leaves: bool = True
) -> AsyncIterator[HubMember]:
    """Run the membership of a process, by default with pages, which may end without a word."""
    async with open_store(stores.place_of(path, stores.POSTGRESQL), alone=False) as store:
        member = HubMember(store, role)
        running = asyncio.create_task(member.run())
        try:
            yield member
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            if leaves:
                await member.leave()
            else:  # its lease runs out
                async with store.writing() as connection:
                    await connection.execute(
                        sa.update(workers)
                        .where(workers.c.id == member.id)
                        .values(seen=workers.c.seen - LEASE_SECONDS)
                    )


def at_once(buckets: Buckets, clock: FakeClock) -> int:
    """Return how many requests a client may send at once that has sent none for long."""
    clock.now += 3_600.0
    count = 0
    while not buckets.take("client"):
        count += 1
    return count


async def test_a_limit_is_divided_by_those_that_live(tmp_path: Path) -> None:
    clock = FakeClock()
    async with web(tmp_path) as first:
        limit = Buckets(60, clock=clock, sharers=lambda: first.webs)
        assert at_once(limit, clock) == 60
        async with web(tmp_path) as second:
            await until(lambda: first.webs == second.webs == 2)
            assert at_once(limit, clock) == 30
            async with web(tmp_path, leaves=False):
                await until(lambda: first.webs == second.webs == 3)
                other = Buckets(60, clock=clock, sharers=lambda: second.webs)
                assert at_once(limit, clock) + at_once(other, clock) == 40
            await until(lambda: first.webs == 2)  # one that was killed
            assert at_once(limit, clock) == 30
        await until(lambda: first.webs == 1)  # one that was stopped
        assert at_once(limit, clock) == 60


async def test_who_tries_each_process_in_turn_has_no_more_tries(tmp_path: Path) -> None:
    clock = FakeClock()
    async with web(tmp_path) as first, web(tmp_path) as second:
        await until(lambda: first.webs == second.webs == 2)
        each = [
            Failures(Delays(free=5), clock=clock, sharers=lambda member=member: member.webs)
            for member in (first, second)
        ]
        tries = 0
        while any(not one.wait("client") for one in each):
            next(one for one in each if not one.wait("client")).failed("client")
            tries += 1
        assert tries == 6  # 3 of each; of one process alone, 6


async def test_processes_that_all_lack_something_share_the_lanes(tmp_path: Path) -> None:
    async with web(tmp_path, role=ProcessRole.WORKER) as first:
        first.lacks = lambda: "the key of a server"
        async with web(tmp_path, role=ProcessRole.WORKER) as second:
            await until(lambda: (second.workers, second.sharing) == (2, 1))
            second.lacks = first.lacks
            await until(lambda: first.sharing == second.sharing == 2)


async def test_what_one_process_counts_all_show(tmp_path: Path) -> None:
    async with web(tmp_path) as first:
        first.count(turns=2)
        await until(lambda: first.totals.turns == 2)
        async with web(tmp_path, leaves=False) as second:
            second.count(taken_over=3, refused=1)
            await until(lambda: first.totals == LeaseCounts(3, 2, 1, 0))
            second.count(taken_over=1, missed=1)
            await until(lambda: first.totals == LeaseCounts(4, 2, 1, 1))
        async with web(tmp_path) as third:
            third.count(taken_over=1)  # a process that is gone takes nothing back with it
            await until(lambda: first.totals == LeaseCounts(5, 2, 1, 1))


async def test_a_lane_is_taken_over_from_a_process_whose_lease_ran_out(tmp_path: Path) -> None:
    place = stores.place_of(tmp_path / "hub", stores.POSTGRESQL)
    async with open_store(place, alone=False) as store:
        key = await taken(store, "test", "peer")
        async with store.writing() as connection:
            for name in ("one", "two"):
                process = Process(id=name, host="", role="worker", version="", capacity=1)
                await leases.enter(connection, process, alone=False)
            await connection.execute(sa.update(lanes).values(worker=None, due=True))

        async def take(process: str) -> bool:
            async with store.writing() as connection:
                [ticket] = await leases.offers(connection)
                assert isinstance(ticket, Ticket)
                orders = await leases.take(connection, [ticket], process)
                return orders[key].taken_over

        assert not await take("one")
        async with store.writing() as connection:
            await connection.execute(
                sa.update(workers)
                .where(workers.c.id == "one")
                .values(seen=workers.c.seen - LEASE_SECONDS)
            )
        assert await take("two")
        async with store.writing() as connection:
            await leases.leave(connection, "two")
            held = await leases.held(connection, "two")
        assert held == {}
        assert not await take("one")  # it was given back


class Refusing:
    """A recorder of a process whose lanes another one has."""

    blocked = None

    async def record(self, entry: AttemptRecord) -> int:
        raise StaleLaneError(str(entry.position))


async def test_refused_attempts_are_counted(tmp_path: Path) -> None:
    async with web(tmp_path) as member:
        recorder = FencedRecorder(Refusing(), member)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(StaleLaneError):
                await recorder.record(record(LaneKey(1, 1), 0))
        await asyncio.sleep(0)
        assert member.counts.refused == 2
        await until(lambda: member.totals.refused == 2)


NAME = ServerName("blue-1")


@asynccontextmanager
async def due(
    folder: Path, url: str = "http://127.0.0.1:9/", *, is_due: bool = True, **access: str
) -> AsyncIterator[Sequence[Running]]:
    """Run two processes with pages, and a lane that is to be at work; no worker lives."""
    async with two(folder) as (first, second):
        await plan_phase(first, teams=["blue"])
        await first.do("servers.register", first.team("blue"), server=NAME, url=url, **access)
        await first.do("phases.open", phase="test")
        async with first.service.store.writing() as connection:
            registered = await servers.get(connection, NAME)
            assert registered is not None
            key = first.service.phase("test").key(registered)
            await servers.set_control(
                connection, key, Control.RUNNING if is_due else Control.PAUSED
            )
            await leases.order(connection, key, due=is_due)
            await audit.add(connection, actor="a test", action="servers.start", subject=NAME)
        await second.service.phases.follower.reload_changes()
        yield first, second


def measures(running: Running) -> ServerWindow:
    return running.service.phase("test").windows.window(NAME, Window.HOUR)


async def all_in(state: ServerState, *processes: Running) -> None:
    """Wait until the measures of a server have its state in all processes."""
    for running in processes:
        await until(lambda running=running: measures(running).state is state)


async def found(running: Running, down: str) -> None:
    """Report what a worker would report that holds the lane."""
    async with running.service.store.writing() as connection:
        await connection.execute(sa.update(lanes).values(down=down))


async def lead(running: Running) -> None:
    """Let a process lead instead of the one that does."""
    async with running.service.store.writing() as connection:
        await connection.execute(
            sa.update(leader).values(
                process=running.service.phases.member.id, epoch=leader.c.epoch + 1
            )
        )
    await until(lambda: running.service.phases.leader.leads)


@pytest.mark.slow
async def test_each_process_has_the_states_that_the_leader_stores(tmp_path: Path) -> None:
    async with due(tmp_path) as (first, second):
        await all_in(ServerState.WAITING, first, second)
        await found(first, "connect: refused")
        await all_in(ServerState.DOWN, first, second)
        async with process(tmp_path) as third:
            await all_in(ServerState.DOWN, third)  # it was started later
            await lead(third)
            await found(third, "")
            await all_in(ServerState.WAITING, first, second, third)
            await lead(second)  # it has what the others recorded, and goes on
            await found(second, "connect: refused")
            await all_in(ServerState.DOWN, first, second, third)
            seen = [measures(one) for one in (first, second, third)]
            assert {one.note for one in seen} == {"connect: refused"}
            assert {one.availability.failures for one in seen} == {1}
            assert len({one.availability.neither for one in seen}) == 1  # the same times
            assert all(one.availability.down > 0.0 for one in seen)


@asynccontextmanager
async def worker(
    running: Running, folder: Path, *, health: tuple[str, int] | None = None
) -> AsyncIterator[None]:
    """Run a process that works lanes alone, on a machine of its own."""
    given = msgspec.structs.replace(running.service.settings, folder=str(folder / "worker"))
    task = asyncio.create_task(work_lanes(given, health=health))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def counted(running: Running) -> Mapping[str, float]:
    """Return the metrics of attempts, by name, all servers together."""
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(
        running.service.part(Metrics).render()[0].decode()
    ):
        for sample in family.samples:
            found[sample.name] += sample.value
    return found


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [256, 0], ids=["together", "one by one"])
async def test_each_process_counts_what_workers_store_while_it_lives(tmp_path, chunk, monkeypatch):
    monkeypatch.setattr(follower, "CHUNK", chunk)  # above it, a lane is behind and read by itself
    async with asked_server() as asked, due(tmp_path, asked.url) as (first, second):
        articles = len(first.service.phase("test").corpus)
        async with worker(first, tmp_path):
            for running in (first, second):
                await until(lambda hub=running: counted(hub)["metaserver_attempts_total"])
                await all_in(ServerState.FINISHED, running)
        for running in (first, second):
            found = counted(running)
            assert found["metaserver_attempts_total"] == articles
            assert found["metaserver_response_seconds_count"] == articles
            assert found["metaserver_hits_kept_total"] > 0
            assert found["metaserver_sent_bytes_total"] > 0
            pace = running.service.phase("test").paces.measured(NAME)
            assert pace.articles == min(articles, KEPT)
        async with process(tmp_path) as third:
            await third.caught_up()
            assert counted(third)["metaserver_attempts_total"] == 0  # it counts from its start


async def machines(running: Running) -> MachinesDetail:
    detail = await running.do("hub.machines")
    assert isinstance(detail, MachinesDetail)
    return detail


async def test_a_worker_that_can_store_nothing_is_seen_by_each_process(tmp_path: Path) -> None:
    blocked = Process(id="w", host="b", role="worker", version="1", capacity=9, blocked="disk full")
    async with process(tmp_path) as running:
        store = running.service.store
        async with store.writing() as connection:
            await leases.enter(connection, blocked, alone=False)
            await leases.renew(connection, blocked, LeaseCounts())
            await connection.execute(  # it lives, however slow the machine is
                sa.update(workers).where(workers.c.id == "w").values(seen=workers.c.seen + 3_600)
            )
        await until(lambda: counted(running)["metaserver_workers_blocked"] == 1)
        assert [one.blocked for one in (await machines(running)).processes] == ["", "disk full"]
        assert store.blocked is None  # it has tried


@pytest.mark.slow
async def test_a_worker_without_the_key_begins_nothing_until_it_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(locked, "LOOK_SECONDS", 0.2)
    secret = {"auth": "bearer", "secret": "a-secret-of-blue"}
    async with asked_server() as asked, due(tmp_path, asked.url, **secret) as (first, second):
        key = first.service.settings.key_file()
        other = tmp_path / "worker" / key.name
        async with worker(first, tmp_path):

            async def is_shown() -> bool:
                lacking = [one.lacks for one in (await machines(second)).processes]
                return any(
                    f"{other} does not open the credentials of {NAME}" in it for it in lacking
                )

            await until(is_shown)
            await until(lambda: first.service.phases.member.unheld == 1)
            assert not counted(first)["metaserver_attempts_total"]
            await all_in(ServerState.WAITING, first)
            given = msgspec.structs.replace(first.service.settings, folder=str(other.parent))
            found = await asyncio.to_thread(lambda: list(examine(given)))
            assert f"{other} is missing: copy it from {socket.gethostname()}" in str(found)
            other.parent.mkdir(exist_ok=True)
            shutil.copy(key, other)
            await all_in(ServerState.FINISHED, first)
        assert counted(first)["metaserver_attempts_total"] == len(asked.texts)


@pytest.mark.slow
async def test_a_worker_answers_monitors(tmp_path, capsys):
    async with (
        process(tmp_path) as running,
        worker(running, tmp_path, health=("127.0.0.1", 0)),
        ClientSession() as monitor,
    ):
        said: list[str] = []

        def is_working() -> bool:
            said.append(capsys.readouterr().err)
            return "its health at" in said[-1]

        await until(is_working)
        address = said[-1].split()[-1]

        async def status(path: str) -> int:
            async with monitor.get(address + path) as answer:
                return answer.status

        async def is_ready() -> bool:
            return await status("readyz") == 200

        await until(is_ready)
        assert await status("healthz") == 200
        assert await status("metrics") == await status("") == 404


async def test_a_server_that_was_never_started_is_not_at_work(tmp_path: Path) -> None:
    async with due(tmp_path, is_due=False) as processes:
        await all_in(ServerState.PAUSED, *processes)
        for running in processes:
            assert running.service.phase("test").paces.measured(NAME) == MeasuredPace(0, 0.0)


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
    dealer = SharedDealer(connecting(url, "test"), taker.take, lambda: taker.spare, lambda: None)
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


async def test_a_lane_that_could_not_be_taken_is_dealt_when_it_is_offered_again(dealt, monkeypatch):
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

    await until(again)
    assert set(taker.taken) == {TICKETS[0]}


async def test_nobody_is_dealt_more_than_there_is_room_for(database: PostgresUrl) -> None:
    one, two = Taker(20), Taker(30)
    async with shared(database, one) as dealer, shared(database, two):
        await dealer.offer(TICKETS[:60])
        await until(lambda: not one.spare and not two.spare)
        assert (len(one.taken), len(two.taken)) == (20, 30)
        one.places += 30
        await until(lambda: len(one.taken) == 30)
        assert len(two.taken) == 30
    assert sorted(one.taken + two.taken) == TICKETS[:60]


async def test_a_queue_that_is_offered_the_same_by_several_deals_it_once(database):
    one, two = Taker(0), Taker(0)
    async with shared(database, one) as dealer, shared(database, two) as other:
        await dealer.offer(TICKETS)
        await other.offer(TICKETS)
        one.places = two.places = 300
        await until(lambda: len(one.taken) + len(two.taken) >= len(TICKETS))
        assert sorted(one.taken + two.taken) == TICKETS


async def test_a_broken_connection_is_mended(database, monkeypatch):
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

        await until(more)
