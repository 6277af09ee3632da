"""Control of a lane: paused, cancelled, advanced article by article; and while nothing is stored.

All tests run in virtual time: an answer takes the seconds that the test sets.
"""

import asyncio
from collections.abc import Callable

import pytest

from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd
from metaserver.lanes.lane import Lane
from metaserver.lanes.limits import LaneLimits
from metaserver.model.lanes import AttemptRecord
from metaserver.model.states import Backoff, Outcome
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder
from tests.unit.metaserver.lanes.making import LIMITS, lane
from tests.virtual import now, timed

DAY = 86_400.0
LATER = LaneLimits(backoff=Backoff(base=DAY, cap=DAY), circuit=1000)
FRAGILE = LaneLimits(backoff=LATER.backoff, circuit=1, probe=Backoff(base=DAY, cap=DAY))


async def after(seconds: float, act: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    act()


async def run_and(one: Lane, seconds: float, act: Callable[[], None]) -> LaneEnd:
    """Run a lane, and call a function after some seconds."""
    ended, _ = await asyncio.gather(one.run(), after(seconds, act))
    return ended


# -- pause -----------------------------------------------------------------------------------------


@timed
async def test_a_paused_lane_finishes_its_calls_and_takes_no_more() -> None:
    peer, memory = FakeCaller.slow(), FakeRecorder()
    events: list[AttemptEnded | LaneChanged] = []
    one = lane(peer, memory, concurrency=2, publish=events.append)
    assert await run_and(one, 15, one.pause) is LaneEnd.PAUSED
    assert memory.attempts == [(at, 1, Outcome.OK) for at in range(4)]
    assert isinstance(events[-1], LaneChanged)
    assert (events[-1].end, events[-1].in_flight) == (LaneEnd.PAUSED, 0)
    one.allow(None)
    assert await one.run() is LaneEnd.FINISHED
    assert peer.calls == [(at, 1) for at in range(5)]


@timed
async def test_a_lane_that_is_paused_before_it_runs_sends_nothing() -> None:
    peer = FakeCaller()
    one = lane(peer, FakeRecorder())
    one.pause()
    assert await one.run() is LaneEnd.PAUSED
    assert peer.calls == []


@timed
async def test_a_lane_that_still_finishes_goes_on_with_all_its_places() -> None:
    peer = FakeCaller.slow()
    one = lane(peer, FakeRecorder(), articles=20, concurrency=4)
    ended, *_ = await asyncio.gather(
        one.run(), after(4, one.pause), after(16, lambda: one.allow(None))
    )
    assert ended is LaneEnd.PAUSED  # too late: nothing was in flight any more
    working = asyncio.gather(one.run(), after(4, one.pause), after(6, lambda: one.allow(None)))
    assert (await working)[0] is LaneEnd.FINISHED
    assert peer.most_in_flight == 4
    assert now() == 16 + 16 / 4 * 10  # as if nothing had been said


@timed
async def test_a_lane_that_has_sent_all_when_it_is_paused_is_finished() -> None:
    one = lane(FakeCaller.slow(), FakeRecorder(), articles=1)
    assert await run_and(one, 5, one.pause) is LaneEnd.FINISHED


@timed
async def test_a_pause_does_not_wait_for_a_retry() -> None:
    one = lane(FakeCaller.slow(a0=Outcome.FAULT), FakeRecorder(), articles=1, limits=LATER)
    assert await run_and(one, 20, one.pause) is LaneEnd.PAUSED
    assert now() == 20


@timed
async def test_a_pause_does_not_wait_for_a_probe() -> None:
    async def say_nothing() -> None:
        await asyncio.sleep(DAY)

    peer = FakeCaller({(0, 1): Outcome.CONNECT}, while_probed=say_nothing)
    limits = LaneLimits(backoff=LATER.backoff, circuit=1, probe=Backoff(base=1, cap=1))
    one = lane(peer, FakeRecorder(), limits=limits)
    assert await run_and(one, 20, one.pause) is LaneEnd.PAUSED
    assert now() == 20


# -- cancel ----------------------------------------------------------------------------------------


@timed
async def test_cancelled_calls_are_stored_as_such_and_not_charged() -> None:
    peer, memory = FakeCaller.slow(), FakeRecorder()
    one = lane(peer, memory, articles=3, concurrency=2, clock=lambda: 77.0)
    assert await run_and(one, 14, lambda: one.cancel("the team")) is LaneEnd.PAUSED
    assert memory.attempts == [
        (0, 1, Outcome.OK), (1, 1, Outcome.OK), (2, 1, Outcome.CANCELLED)
    ]  # fmt: skip
    attempt = memory.entries[-1].attempt
    assert attempt.message == "cancelled by the team"
    assert (attempt.article, attempt.started_at, attempt.timings.total) == ("2", 77.0, 4.0)
    assert not memory.entries[-1].final
    one.allow(None)
    assert await one.run() is LaneEnd.FINISHED
    assert memory.attempts[3:] == [(2, 2, Outcome.OK)]


@timed
async def test_cancelled_time_after_time_an_article_keeps_its_attempts() -> None:
    memory = FakeRecorder()
    one = lane(FakeCaller.slow(), memory, articles=1, limits=LIMITS)
    for _ in range(LIMITS.attempts + 1):
        one.allow(None)
        await run_and(one, 1, lambda: one.cancel("an organiser"))
    assert {(e.attempt.outcome, e.final) for e in memory.entries} == {(Outcome.CANCELLED, False)}
    one.allow(None)
    assert await one.run() is LaneEnd.FINISHED
    assert memory.entries[-1].attempt.outcome is Outcome.OK


@timed
async def test_a_pause_that_takes_too_long_can_be_cut_short() -> None:
    memory = FakeRecorder()
    one = lane(FakeCaller.slow(DAY), memory)
    await asyncio.gather(one.run(), after(5, one.pause), after(9, lambda: one.cancel("the team")))
    assert now() == 9
    assert memory.attempts == [(0, 1, Outcome.CANCELLED)]


# -- just the next article -------------------------------------------------------------------------


@timed
async def test_only_so_many_articles_are_sent_as_are_allowed() -> None:
    peer = FakeCaller()
    one = lane(peer, FakeRecorder(), concurrency=3)
    for allowed, sent in ((1, 1), (1, 2), (2, 4)):
        one.allow(allowed)
        assert await one.run() is LaneEnd.PAUSED
        assert peer.calls == [(at, 1) for at in range(sent)]
    one.allow(1)
    assert await one.run() is LaneEnd.FINISHED


@timed
async def test_the_next_article_is_one_that_waits_for_another_attempt_at_once() -> None:
    peer = FakeCaller.slow(a0=Outcome.FAULT)
    one = lane(peer, FakeRecorder(), limits=LATER)
    for _ in range(3):
        one.allow(1)
        assert await one.run() is LaneEnd.PAUSED
    assert peer.calls == [(0, 1), (0, 2), (1, 1)]
    assert now() == 30


@timed
async def test_the_next_article_is_the_trial_of_an_open_circuit() -> None:
    peer = FakeCaller.slow(a0=Outcome.CONNECT)
    events: list[LaneChanged] = []
    one = lane(peer, FakeRecorder(), limits=FRAGILE, publish=lambda event: (
        events.append(event) if isinstance(event, LaneChanged) else None))  # fmt: skip
    assert await run_and(one, 60, one.pause) is LaneEnd.PAUSED
    assert events[-1].down == "connect: "
    one.allow(1)
    assert await one.run() is LaneEnd.PAUSED
    assert events[-1].down == ""
    assert peer.calls == [(0, 1), (0, 2)]
    assert peer.probed == 0
    assert now() == 70


@timed
async def test_a_trial_that_fails_pauses_the_lane_too() -> None:
    peer = FakeCaller({(0, number): Outcome.CONNECT for number in range(1, 9)})
    one = lane(peer, FakeRecorder(), limits=FRAGILE, concurrency=2)
    for sent in (1, 2, 3):
        one.allow(1)
        assert await one.run() is LaneEnd.PAUSED
        assert peer.calls == [(0, number) for number in range(1, sent + 1)]


# -- a store that takes nothing --------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.FAULT, Outcome.CONNECT])
@timed
async def test_while_nothing_can_be_stored_no_more_is_sent(outcome: Outcome) -> None:
    """Neither the next article is sent nor one whose back-off is over, nor a trial."""
    full, free = asyncio.Event(), asyncio.Event()

    async def wait_if_full(_entry: AttemptRecord) -> None:
        if full.is_set():
            memory.blocked = "database or disk is full"  # known when the first entry is tried
            await free.wait()
            memory.blocked = None

    peer, memory = FakeCaller.slow(a0=outcome), FakeRecorder(before=wait_if_full)
    limits = LaneLimits(backoff=Backoff(base=30, cap=30), circuit=1, probe=LIMITS.probe)
    one = lane(peer, memory, articles=9, concurrency=3, limits=limits)
    working = asyncio.create_task(one.run())
    await asyncio.sleep(5)
    full.set()
    await asyncio.sleep(3600)
    assert sorted(peer.calls) == [(0, 1), (1, 1), (2, 1)]
    full.clear()
    free.set()
    assert await working is LaneEnd.FINISHED
    assert sorted(e.position for e in memory.entries if e.final) == list(range(9))


@timed
async def test_a_lane_that_waits_for_a_retry_does_not_send_it_while_nothing_can_be_stored() -> None:
    peer, memory = FakeCaller.slow(a0=Outcome.FAULT), FakeRecorder()
    limits = LaneLimits(backoff=Backoff(base=1000, cap=1000))
    one = lane(peer, memory, articles=1, limits=limits)
    working = asyncio.create_task(one.run())
    await asyncio.sleep(15)
    memory.blocked = "database is locked"
    await asyncio.sleep(3600)
    assert peer.calls == [(0, 1)]
    memory.blocked = None
    assert await working is LaneEnd.FINISHED


@timed
async def test_a_lane_that_starts_while_nothing_can_be_stored_waits() -> None:
    peer, memory = FakeCaller.slow(), FakeRecorder()
    memory.blocked = "database is locked"
    working = asyncio.create_task(lane(peer, memory).run())
    await asyncio.sleep(3600)
    assert peer.calls == []
    memory.blocked = None
    assert await working is LaneEnd.FINISHED
