"""Reported states of servers, and the reactions of their lanes."""

import asyncio
from itertools import groupby, pairwise

from metaserver.base.records import Server, ServerReport
from metaserver.base.states import Backoff, Outcome, ReportedState
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd, LaneLimits
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder
from tests.unit.metaserver.lanes.making import SOON, lane
from tests.virtual import now, timed

HEALTH = 60.0
LIMITS = LaneLimits(health=HEALTH, probe=Backoff(base=5.0, cap=5.0))


@timed
async def test_a_server_gets_no_more_at_a_time_than_it_wants() -> None:
    peer = FakeCaller.saying(ServerReport(max_concurrent=2))
    one = lane(peer, FakeRecorder(), articles=40, concurrency=4, limits=LIMITS)
    working = asyncio.create_task(one.run())
    await asyncio.sleep(5)
    assert peer.in_flight == 4  # as was agreed
    await asyncio.sleep(2 * HEALTH)
    assert peer.in_flight == 2
    assert await working is LaneEnd.FINISHED


@timed
async def test_a_server_gets_no_more_than_was_agreed_whatever_it_says() -> None:
    peer = FakeCaller.saying(ServerReport(max_concurrent=50))
    await lane(peer, FakeRecorder(), articles=20, concurrency=3, limits=LIMITS).run()
    assert peer.most_in_flight == 3


@timed
async def test_an_overloaded_server_gets_one_at_a_time_until_it_is_not() -> None:
    peer = FakeCaller.saying(ServerReport(state=ReportedState.OVERLOADED), ServerReport())
    one = lane(peer, FakeRecorder(), articles=60, concurrency=4, limits=LIMITS)
    working, seen = asyncio.create_task(one.run()), []
    for _ in range(12):
        await asyncio.sleep(15)
        seen.append(peer.in_flight)
    assert [in_flight for in_flight, _ in groupby(seen)] == [4, 1, 4]
    assert await working is LaneEnd.FINISHED


@timed
async def test_a_server_that_says_it_is_away_is_probed_until_it_is_back() -> None:
    peer = FakeCaller.saying(
        ServerReport(), ServerReport(state=ReportedState.SUSPENDED), ServerReport()
    )
    peer.probes = ["the server reports the state Suspended"] * 3
    memory, events = FakeRecorder(), list[AttemptEnded | LaneChanged]()
    one = lane(peer, memory, articles=20, limits=LIMITS, publish=events.append)
    assert await one.run() is LaneEnd.FINISHED
    assert peer.probed == 4
    assert "the server reports the state Suspended" in [
        event.down for event in events if isinstance(event, LaneChanged)
    ]
    assert len(memory.entries) == 20  # nothing failed for it


@timed
async def test_a_server_that_reports_no_state_is_not_asked_again() -> None:
    peer = FakeCaller.saying(None)
    await lane(peer, FakeRecorder(), articles=100, limits=LIMITS).run()
    assert len(peer.asked_at) == 1


@timed
async def test_a_server_that_says_something_is_asked_again_and_again() -> None:
    peer = FakeCaller.saying(ServerReport(), None, ServerReport())
    await lane(peer, FakeRecorder(), articles=100, limits=LIMITS).run()
    pauses = [b - a for a, b in pairwise([0.0, *peer.asked_at])]
    assert len(pauses) >= 12
    assert all(0.75 * HEALTH <= pause <= 1.25 * HEALTH + 10 for pause in pauses)


@timed
async def test_the_question_takes_an_articles_place() -> None:
    """A server for one request at a time is not asked for its state while it has an article."""

    async def be_alone() -> None:
        assert not peer.in_flight
        await asyncio.sleep(5)
        assert not peer.in_flight

    peer = FakeCaller.saying(ServerReport(), while_asked=be_alone)
    one = lane(peer, FakeRecorder(), articles=30, limits=LIMITS)
    assert await one.run() is LaneEnd.FINISHED
    assert len(peer.asked_at) >= 3


@timed
async def test_a_pause_does_not_wait_for_the_answer() -> None:
    async def say_nothing() -> None:
        one.pause()
        await asyncio.Event().wait()

    peer = FakeCaller.saying(while_asked=say_nothing)
    one = lane(peer, FakeRecorder(), articles=100, limits=LIMITS)
    assert await one.run() is LaneEnd.PAUSED


@timed
async def test_a_server_is_not_asked_for_the_sake_of_one_article() -> None:
    peer = FakeCaller.saying(ServerReport())
    one = lane(peer, FakeRecorder(), limits=LaneLimits(health=1e-6))
    one.allow(2)
    assert await one.run() is LaneEnd.PAUSED
    assert peer.asked_at == []


@timed
async def test_another_place_takes_an_article_that_failed_while_the_server_is_asked() -> None:
    begun: dict[tuple[int, int], float] = {}

    class Asked(FakeCaller):
        async def call(self, server, position, number):
            begun[position, number] = now()
            self.seconds = 100.0 + 10.0 * (position == 0)
            return await super().call(server, position, number)

        async def state(self, server: Server) -> ServerReport | None:
            self.asked_at.append(now())
            await asyncio.sleep(50.0)
            return ServerReport()

    peer = Asked({(0, 1): Outcome.FAULT})
    limits = LaneLimits(health=HEALTH, backoff=SOON)
    one = lane(peer, FakeRecorder(), articles=2, concurrency=2, limits=limits)
    assert await one.run() is LaneEnd.FINISHED
    assert peer.asked_at[0] == 110.0  # in the place that had the article
    assert 110.0 <= begun[0, 2] < 111.0


@timed
async def test_what_a_probe_finds_is_published_at_once() -> None:
    published: list[tuple[float, str]] = []

    def publish(event: AttemptEnded | LaneChanged) -> None:
        if isinstance(event, LaneChanged):
            published.append((now(), event.down))

    peer = FakeCaller({(0, 1): Outcome.CONNECT})
    peer.probes = ["the name does not resolve", "no connection within 10 s"]
    limits = LaneLimits(circuit=1, backoff=SOON, probe=Backoff(base=5.0, cap=5.0))
    one = lane(peer, FakeRecorder(), articles=2, limits=limits, publish=publish)
    assert await one.run() is LaneEnd.FINISHED
    first = {down: at for at, down in reversed(published)}
    assert 2.5 <= first["the name does not resolve"] <= 5.0
    assert 5.0 <= first["no connection within 10 s"] <= 10.0
    assert published[-1][1] == ""
