"""A lane at work, on a fake caller and a fake recorder: sent articles, control, and a full store.

The tests of its control run in virtual time: an answer takes the seconds that the test sets.
"""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import AttemptRecord, LaneKey, LaneState, Tries
from metaserver.base.records import Server
from metaserver.base.states import Backoff, Outcome
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd, LaneLimits
from metaserver.lanes.lane import Lane
from tests import virtual
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder
from tests.unit.metaserver.lanes.making import LIMITS, SOON, lane
from tests.virtual import now, timed
from tests.waiting import until

DAY = 86_400.0
LATER = LaneLimits(backoff=Backoff(base=DAY, cap=DAY), circuit=1000)
FRAGILE = LaneLimits(backoff=LATER.backoff, circuit=1, probe=Backoff(base=DAY, cap=DAY))


async def test_a_failed_article_is_sent_again_until_its_attempts_are_used_up() -> None:
    peer, memory = FakeCaller({(1, number): Outcome.FAULT for number in (1, 2, 3)}), FakeRecorder()
    assert await lane(peer, memory).run(100) is LaneEnd.FINISHED
    assert [number for position, number in peer.calls if position == 1] == [1, 2, 3]
    assert [entry.final for entry in memory.entries if entry.position == 1] == [False, False, True]
    assert memory.entries[-1].cursor == 5


async def test_a_lane_goes_on_where_an_earlier_process_stopped() -> None:
    peer, memory = FakeCaller({(2, 3): Outcome.SYNTAX}), FakeRecorder()
    state = LaneState(
        key=LaneKey(1, 1), epoch=2, cursor=1, finished=frozenset({3, 4}),
        tries={2: Tries(made=2, charged=2)},
    )  # fmt: skip
    assert await lane(peer, memory, state=state).run(100) is LaneEnd.FINISHED
    assert peer.calls == [(1, 1), (2, 3)]  # 3 and 4 are finished; 2 has one attempt left
    assert all(entry.epoch == 2 for entry in memory.entries)


class BusyCaller(FakeCaller):
    """A caller of a server that asks to wait for a minute."""

    async def call(self, server, position, number):
        """Return the attempt by the script, with the wait that was asked for."""
        attempt, answer = await super().call(server, position, number)
        return msgspec.structs.replace(attempt, asked_wait=60.0), answer


async def test_an_article_is_sent_again_no_sooner_than_its_server_asked() -> None:
    events: list[AttemptEnded | LaneChanged] = []
    peer = BusyCaller({(0, 1): Outcome.HTTP})
    one = lane(peer, FakeRecorder(), articles=1, publish=events.append)
    assert await one.run(1) is LaneEnd.SLICE
    assert [e.decision.wait for e in events if isinstance(e, AttemptEnded)] == [60.0]


async def test_a_server_that_is_down_is_probed_while_its_articles_wait() -> None:
    down = {(0, number): Outcome.CONNECT for number in (1, 2)}
    peer, memory = FakeCaller(down), FakeRecorder()
    peer.probes = ["connect: refused", "connect: refused"]
    events: list[AttemptEnded | LaneChanged] = []
    limits = LaneLimits(attempts=5, backoff=SOON, circuit=2, probe=SOON)
    assert (
        await lane(peer, memory, limits=limits, publish=events.append).run(100) is LaneEnd.FINISHED
    )
    assert peer.probed == 3
    assert len([entry for entry in memory.entries if entry.attempt.outcome is Outcome.OK]) == 5
    downs = [event.down for event in events if isinstance(event, LaneChanged)]
    assert "connect: refused" in downs
    assert downs[-1] == ""


async def test_a_server_that_stays_down_is_left_and_nothing_is_charged_for_the_wait() -> None:
    peer = FakeCaller({(at, n): Outcome.CONNECT for at in range(5) for n in range(1, 10)})
    memory = FakeRecorder()
    peer.probes = ["connect: refused"] * 1_000_000
    limits = LaneLimits(attempts=9, backoff=SOON, circuit=2, probe=SOON, patience=0.05)
    assert await lane(peer, memory, limits=limits).run(10_000) is LaneEnd.ABANDONED
    assert not any(entry.final for entry in memory.entries)


def test_a_hub_that_was_away_for_longer_than_its_patience_probes_before_it_leaves() -> None:
    """The hub was suspended while the server was down: the server may be up again."""

    async def be_away() -> None:
        if not peer.probed:
            loop: Any = asyncio.get_running_loop()
            loop.call_later(0.5, lambda: setattr(loop._jumping, "now", loop.time() + 1e6))

    down = {(0, number): Outcome.CONNECT for number in (1, 2)}
    peer, memory = FakeCaller(down, while_probed=be_away), FakeRecorder()
    peer.probes = ["connect: refused"]
    limits = LaneLimits(
        attempts=9, backoff=SOON, circuit=2, probe=Backoff(base=10, cap=10), patience=600.0
    )
    assert virtual.run(lane(peer, memory, articles=1, limits=limits).run()) is LaneEnd.FINISHED
    assert peer.probed == 2


async def test_a_lane_that_another_hub_has_taken_stops() -> None:
    peer, memory = FakeCaller(), FakeRecorder(stale_from=2)
    assert await lane(peer, memory).run(100) is LaneEnd.LOST
    assert len(memory.entries) == 2


async def test_an_attempt_stored_during_a_cancellation_is_published() -> None:
    committed = asyncio.Event()

    async def commit(_entry: AttemptRecord) -> None:
        await committed.wait()

    peer, memory = FakeCaller(), FakeRecorder(after=commit)
    events: list[AttemptEnded | LaneChanged] = []
    one = lane(peer, memory, articles=2, publish=events.append)
    task = asyncio.create_task(one.run())
    while not memory.entries:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    committed.set()
    assert await one.run() is LaneEnd.FINISHED
    assert peer.calls == [(0, 1), (1, 1)]
    ended = [event.position for event in events if isinstance(event, AttemptEnded)]
    assert ended == [entry.position for entry in memory.entries] == [0, 1]


async def test_an_attempt_is_published_after_it_is_stored() -> None:
    memory, events = FakeRecorder(), []

    def publish(event: AttemptEnded | LaneChanged) -> None:
        if isinstance(event, AttemptEnded):
            assert memory.entries[-1].attempt is event.attempt
        events.append(event)

    await lane(FakeCaller(), memory, publish=publish).run(100)
    assert [event.position for event in events if isinstance(event, AttemptEnded)] == [*range(5)]
    last = events[-1]
    assert last.end is LaneEnd.FINISHED


async def test_an_attempt_is_published_directly_after_its_preparation() -> None:
    happened: list[str] = []
    tasks = list[weakref.ref[Any]]()

    async def prepare(event: AttemptEnded) -> None:
        happened.append(f"prepare {event.position}")
        tasks.append(weakref.ref(asyncio.current_task()))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(happened.append, f"after {event.position}")

    def publish(event: AttemptEnded | LaneChanged) -> None:
        if isinstance(event, AttemptEnded):
            happened.append(f"publish {event.position}")
        elif event.end is not None:
            happened.append("end")

    one = lane(FakeCaller(), FakeRecorder(), articles=2, prepare=prepare, publish=publish)
    await one.run()
    assert happened == [
        *("prepare 0", "publish 0", "after 0"), *("prepare 1", "publish 1", "after 1"), "end",
    ]  # fmt: skip
    gc.collect()
    assert [task() for task in tasks] == [None, None]  # the lane, which works for days, keeps none


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_stored_attempt_is_published_although_its_preparation_fails(stopped, caplog):
    """Nobody awaits the end of an attempt whose lane was stopped: its error is dropped."""
    events: list[AttemptEnded | LaneChanged] = []
    prepared, may_fail = asyncio.Event(), asyncio.Event()

    async def prepare(_event: AttemptEnded) -> None:
        prepared.set()
        await may_fail.wait()
        raise RuntimeError("a fault of a scorer")

    one = lane(FakeCaller(), memory := FakeRecorder(), publish=events.append, prepare=prepare)
    task = asyncio.create_task(one.run())
    await prepared.wait()
    if stopped:
        task.cancel()
    else:
        may_fail.set()
    with pytest.raises((ExceptionGroup, asyncio.CancelledError)):
        await task
    may_fail.set()
    await until(lambda: any(isinstance(event, AttemptEnded) for event in events), pause=0)
    ended = [event.serial for event in events if isinstance(event, AttemptEnded)]
    assert ended == [1]
    assert len(memory.entries) == 1
    del one, task
    gc.collect()  # asyncio logs the error of a task that nobody has seen
    assert not caplog.records


def test_places_that_wait_for_a_retry_on_trial_wait_quietly() -> None:
    """All remaining articles are in back-off when the probe succeeds: nothing is due yet."""
    peer, memory = FakeCaller({(at, 1): Outcome.CONNECT for at in range(3)}), FakeRecorder()
    limits = LaneLimits(
        attempts=5, backoff=Backoff(base=1e5, cap=1e5), circuit=3, probe=Backoff(base=1, cap=1)
    )
    one = lane(peer, memory, articles=3, limits=limits, concurrency=3)
    assert virtual.run(one.run()) is LaneEnd.FINISHED
    assert sorted(peer.calls[3:]) == [(0, 2), (1, 2), (2, 2)]


async def test_a_finished_lane_ends_although_its_server_is_down() -> None:
    peer = FakeCaller()
    state = LaneState(key=LaneKey(1, 1), epoch=2, cursor=5, finished=frozenset(), tries={})
    one = lane(peer, FakeRecorder(), articles=5, state=state, down="connect: refused")
    assert await one.run() is LaneEnd.FINISHED
    assert (peer.probed, peer.calls) == (0, [])


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
async def test_a_turn_that_is_ended_does_not_wait_for_a_retry() -> None:
    one = lane(FakeCaller({(0, 1): Outcome.FAULT}), FakeRecorder(), articles=1, limits=LATER)
    assert await run_and(one, 20, lambda: one.share(0)) is LaneEnd.SLICE
    assert now() == 20


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
    assert (peer.calls, peer.probed) == ([(0, 1), (0, 2)], 0)
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


@pytest.mark.parametrize(
    ("allowance", "turn", "end", "sent"),
    [(None, None, LaneEnd.FINISHED, 3), (2, None, LaneEnd.PAUSED, 2), (None, 2, LaneEnd.SLICE, 2)],
    ids=["no limit", "allowance", "turn"],
)
@timed
async def test_an_article_whose_text_cannot_be_read_is_sent_when_it_can(allowance, turn, end, sent):
    """It counts neither as an attempt nor as a request that was allowed, or of a turn."""
    away = True

    async def answer(_server: Server, _position: int, _number: int) -> Outcome:
        if away:
            raise UnavailableError("the connection was lost")
        return Outcome.OK

    peer, memory = FakeCaller(answer=answer), FakeRecorder()
    one = lane(peer, memory, articles=3)
    one.allow(allowance)
    working = asyncio.create_task(one.run(turn))
    await asyncio.sleep(3600)
    assert (set(peer.calls), memory.entries) == ({(0, 1)}, [])
    assert len(peer.calls) <= 3601  # once a second
    away = False
    assert await working is end
    assert memory.attempts == [(at, 1, Outcome.OK) for at in range(sent)]
