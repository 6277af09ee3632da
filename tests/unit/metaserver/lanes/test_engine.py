"""Lanes on the engine: each runs to its end, fairly, independently of the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from metaserver.base.lanes import AttemptRecord, Corpus, LaneKey, LaneState
from metaserver.base.records import ArticleId, Server, ServerName
from metaserver.base.states import Backoff
from metaserver.lanes.engine import MAX_LANES, SLICE, Engine
from metaserver.lanes.events import LaneEnd, LaneLimits
from metaserver.lanes.lane import Lane
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder
from tests.waiting import patience, until


def make_lanes(count, articles, servers, memory, concurrency=1):
    ids = tuple(ArticleId(str(position)) for position in range(articles))
    backoff = Backoff(base=1e-6, cap=1e-6)
    return [
        Lane(
            Server(name=ServerName(f"s{n}"), url="http://127.0.0.1/", concurrency=concurrency),
            Corpus(id=1, ids=ids, wire_bytes=(0,) * articles),
            LaneState(key=LaneKey(1, n), epoch=1, cursor=0, finished=frozenset(), tries={}),
            LaneLimits(backoff=backoff, probe=backoff),
            caller=servers,
            recorder=memory,
            publish=lambda event: None,
        )
        for n in range(count)
    ]


async def work_lanes(lanes, *, max_lanes=MAX_LANES):
    """Work lanes until all have ended; return how each did, or by which fault."""
    names = {lane.key: lane.server.name for lane in lanes}
    ends: dict[str, LaneEnd | Exception] = {}
    all_ended = asyncio.Event()

    def ended(key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        ends[names[key]] = failure or end
        if len(ends) == len(names):
            all_ended.set()

    engine = Engine(on_end=ended, max_lanes=max_lanes)
    for lane in lanes:
        engine.start(lane)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(engine.run())
        await all_ended.wait()
        working.cancel()
    return ends


async def stop(engine: Engine, key: LaneKey, *, cancel: str | None = None) -> None:
    """Pause a lane, or cancel its calls; return when its work has ended."""
    if cancel is None:
        engine.pause(key)
    else:
        engine.cancel(key, cancel)
    await engine.ended(key)


def everything(count: int, articles: int) -> list[tuple[str, int]]:
    return sorted((f"s{n}", position) for n in range(count) for position in range(articles))


async def test_lanes_that_have_ended_leave_no_task_and_no_timer() -> None:
    finished, paused = (make_lanes(20, 2, FakeCaller(), FakeRecorder()) for _ in range(2))
    ends: list[LaneEnd] = []
    engine = Engine(on_end=lambda key, end, failure: ends.append(end))
    working = asyncio.create_task(engine.run())
    await asyncio.sleep(0)  # it has begun
    for lane in finished:
        engine.start(lane)
    await until(lambda: len(ends) == 20, pause=0)
    for lane in paused:
        engine.start(lane, allowance=1)
    await until(lambda: len(ends) == 40, pause=0)
    assert set(ends) == {LaneEnd.FINISHED, LaneEnd.PAUSED}
    await until(lambda: len(asyncio.all_tasks()) < 20)  # fewer than lanes: the engine's own
    loop: Any = asyncio.get_running_loop()
    await until(lambda: sum(not timer.cancelled() for timer in loop._scheduled) < 20)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_more_lanes_than_places_take_turns(concurrency: int) -> None:
    articles = 2 * SLICE * concurrency + 1
    servers, memory = FakeCaller(), FakeRecorder()
    lanes = make_lanes(5, articles, servers, memory, concurrency)
    ends = await work_lanes(lanes, max_lanes=2)
    assert set(ends.values()) == {LaneEnd.FINISHED}
    assert memory.places == everything(5, articles)
    # Nobody has a second turn before all have had their first.
    first = {name: servers.called.index(name) for name in ends}
    seconds = [
        [place for place, name in enumerate(servers.called) if name == lane][SLICE * concurrency]
        for lane in ends
    ]
    assert max(first.values()) < min(seconds)


async def test_cancelled_at_any_moment_it_stops() -> None:
    """Above all while its jobs are being picked up, when no lane is at work yet."""
    for turns in range(60):
        servers = FakeCaller(silent=("s0", "s1"))
        engine = asyncio.create_task(work_lanes(make_lanes(2, 1, servers, FakeRecorder())))
        for _ in range(turns):
            await asyncio.sleep(0)
        engine.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with patience():
                await engine
        assert sorted(servers.cancelled) == sorted(servers.called)


# -- lanes that come and go ------------------------------------------------------------------------

Ends = dict[LaneKey, tuple[LaneEnd, Exception | None]]


@asynccontextmanager
async def running(**options: int) -> AsyncIterator[tuple[Engine, Ends]]:
    """Run an engine while the context lasts; yield it, and the ends that it reports."""
    ends: Ends = {}

    def ended(key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        assert key not in ends
        assert not engine.at_work(key)
        ends[key] = end, failure

    engine = Engine(on_end=ended, **options)
    working = asyncio.create_task(engine.run())
    try:
        yield engine, ends
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


async def test_lanes_are_started_while_others_are_at_work() -> None:
    servers, memory = FakeCaller(silent=("s0",)), FakeRecorder()
    lanes = make_lanes(3, 4, servers, memory)
    async with running() as (engine, ends):
        engine.start(lanes[0])
        await until(lambda: "s0" in servers.called, pause=0)
        engine.start(lanes[1])
        engine.start(lanes[2], allowance=1)
        await until(lambda: len(ends) == 2, pause=0)
        assert engine.at_work(lanes[0].key)
        assert not engine.at_work(lanes[1].key)
        assert ends == {
            lanes[1].key: (LaneEnd.FINISHED, None), lanes[2].key: (LaneEnd.PAUSED, None)
        }  # fmt: skip
    assert servers.called.count("s2") == 1
    assert servers.cancelled == ["s0"]
    assert lanes[0].key not in ends  # the engine stopped, not the lane
    assert not engine.at_work(lanes[0].key)


async def test_a_lane_is_not_started_twice() -> None:
    servers, memory = FakeCaller(silent=("s0",)), FakeRecorder()
    (lane,) = make_lanes(1, 4, servers, memory)
    async with running() as (engine, _):
        engine.start(lane)
        with pytest.raises(ValueError, match="lane s0 is at work already"):
            engine.start(lane)
        await stop(engine, lane.key, cancel="the team")
        servers.silent = ()
        engine.start(lane)
        await until(lambda: not engine.at_work(lane.key), pause=0)
    assert sorted(set(memory.places)) == everything(1, 4)


async def test_a_lane_that_was_stopped_has_really_ended() -> None:
    servers, memory = FakeCaller(), FakeRecorder()
    servers.open.clear()
    (lane,) = make_lanes(1, 9, servers, memory, concurrency=2)
    async with running() as (engine, ends):
        engine.start(lane)
        await until(lambda: len(servers.called) == 2, pause=0)
        stopping = asyncio.create_task(stop(engine, lane.key))
        await until(lambda: engine.pausing(lane.key), pause=0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not stopping.done()
        servers.open.set()
        await stopping
        assert memory.places == [("s0", 0), ("s0", 1)]
        assert ends == {lane.key: (LaneEnd.PAUSED, None)}
        await stop(engine, lane.key)  # once more does no harm, nor does what follows
        engine.pause(lane.key)
        engine.resume(lane.key)
        assert not engine.pausing(lane.key)


async def test_a_lane_that_is_stopped_at_once_is_cancelled_by_name() -> None:
    servers, memory = FakeCaller(silent=("s0",)), FakeRecorder()
    (lane,) = make_lanes(1, 9, servers, memory, concurrency=2)
    async with running() as (engine, _):
        engine.start(lane)
        await until(lambda: len(servers.called) == 2, pause=0)
        await asyncio.gather(stop(engine, lane.key), stop(engine, lane.key, cancel="an organiser"))
    messages = [entry.attempt.message for entry in memory.entries]
    assert messages == ["cancelled by an organiser"] * 2


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_a_lane_can_be_stopped_at_any_moment(turns: int) -> None:
    """Above all before it has its turn, and while its job is being picked up."""
    servers, memory = FakeCaller(silent=("s0",)), FakeRecorder()
    lane, other = make_lanes(2, 3, servers, memory)
    async with running() as (engine, ends):
        engine.start(lane)
        for _ in range(turns):
            await asyncio.sleep(0)
        async with patience():
            await stop(engine, lane.key, cancel="the team")
        assert ends == {lane.key: (LaneEnd.PAUSED, None)}
        sent = len(servers.called)
        engine.start(other)
        await until(lambda: other.key in ends, pause=0)
    assert servers.called[sent:] == ["s1"] * 3


async def test_a_lane_resumed_just_after_its_pause_continues() -> None:
    async def resume(_entry: AttemptRecord) -> None:
        if not memory.entries:
            engine.resume(lane.key)  # nothing is in flight any more, and all is not stored

    servers, memory = FakeCaller(), FakeRecorder(before=resume)
    (lane,) = make_lanes(1, 9, servers, memory)
    async with running() as (engine, ends):
        engine.start(lane, allowance=1)
        await until(lambda: ends, pause=0)
    assert ends == {lane.key: (LaneEnd.FINISHED, None)}
    assert memory.places == everything(1, 9)


async def test_a_fault_ends_its_lane_alone_and_is_reported() -> None:
    servers, memory = FakeCaller(), FakeRecorder(broken="s1")
    lanes = make_lanes(3, 4, servers, memory)
    async with running() as (engine, ends):
        for lane in lanes:
            engine.start(lane)
        await until(lambda: len(ends) == 3, pause=0)
    end, failure = ends.pop(lanes[1].key)
    assert end is LaneEnd.STOPPED
    assert str(failure) == "not stored: no reason"
    assert set(ends.values()) == {(LaneEnd.FINISHED, None)}


async def test_a_lane_may_be_started_again_from_on_end() -> None:
    servers, memory = FakeCaller(), FakeRecorder()
    (lane,) = make_lanes(1, 4, servers, memory)
    ends: list[LaneEnd] = []

    def ended(key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        ends.append(end)
        if end is LaneEnd.PAUSED:
            engine.start(lane, allowance=1)

    engine = Engine(on_end=ended)
    engine.start(lane, allowance=1)
    working = asyncio.create_task(engine.run())
    await until(lambda: LaneEnd.FINISHED in ends, pause=0)
    working.cancel()
    assert ends == [LaneEnd.PAUSED] * 3 + [LaneEnd.FINISHED]


async def test_an_error_of_on_end_does_not_stop_the_engine() -> None:
    def ended(key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        raise ZeroDivisionError

    servers, memory = FakeCaller(), FakeRecorder()
    engine = Engine(on_end=ended)
    working = asyncio.create_task(engine.run())
    for lane in make_lanes(3, 4, servers, memory):
        engine.start(lane)
        await until(lambda key=lane.key: not engine.at_work(key), pause=0)  # type: ignore[misc]
    working.cancel()
    assert memory.places == everything(3, 4)


async def test_lanes_that_come_to_a_full_hub_have_their_turn_too() -> None:
    """The lanes at work had no limit of their turns when they began."""
    servers, memory = FakeCaller(), FakeRecorder()
    first, second, *late = make_lanes(4, 3 * SLICE, servers, memory)
    async with running(max_lanes=2) as (engine, ends):
        engine.start(first)
        engine.start(second)
        await until(lambda: len(servers.called) > 10, pause=0)
        for lane in late:
            engine.start(lane)
        await until(lambda: len(ends) == 4, pause=0)
    half = servers.called[: 6 * SLICE]
    assert half.count("s2") + half.count("s3") > SLICE
    assert memory.places == everything(4, 3 * SLICE)


@pytest.mark.parametrize(
    ("act", "end"),
    [
        pytest.param(Engine.pause, LaneEnd.PAUSED, id="paused"),
        pytest.param(partial(Engine.cancel, by="the team"), LaneEnd.PAUSED, id="cancelled"),
        pytest.param(Engine.leave, LaneEnd.SLICE, id="left"),
        pytest.param(Engine.drop, LaneEnd.LOST, id="dropped"),
    ],
)
async def test_a_lane_that_waits_for_its_turn_is_stopped_at_once(act, end):
    servers, memory = FakeCaller(silent=("s0", "s1")), FakeRecorder()
    lanes = make_lanes(3, 4, servers, memory)
    async with running(max_lanes=2) as (engine, ends):
        for lane in lanes:
            engine.start(lane)
        await until(lambda: len(servers.called) == 2, pause=0)
        act(engine, lanes[2].key)
        assert ends == {lanes[2].key: (end, None)}
        await stop(engine, lanes[0].key, cancel="the team")
    assert "s2" not in servers.called


async def test_a_lane_that_is_started_after_the_engine_has_stopped_waits() -> None:
    servers, memory = FakeCaller(), FakeRecorder()
    (lane,) = make_lanes(1, 4, servers, memory)
    async with running() as (engine, _):
        await asyncio.sleep(0)  # it has begun
    engine.start(lane)
    for _ in range(100):
        await asyncio.sleep(0)
    assert (engine.at_work(lane.key), servers.called) == (True, [])


async def test_a_stop_that_is_under_way_ends_with_the_engine() -> None:
    servers = FakeCaller(silent=("s0",))
    (lane,) = make_lanes(1, 4, servers, FakeRecorder())
    async with running() as (engine, _):
        engine.start(lane)
        await until(lambda: servers.called, pause=0)
        stopping = asyncio.create_task(stop(engine, lane.key))
        await until(lambda: engine.pausing(lane.key), pause=0)
    async with patience():
        await stopping
