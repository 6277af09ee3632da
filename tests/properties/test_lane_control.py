"""A lane loses no article and takes none twice, whoever starts, pauses, cancels or kills what."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from metaserver.base.errors import StaleLaneError
from metaserver.base.lanes import AttemptRecord, Corpus, LaneKey, LaneState, Tries
from metaserver.base.records import ArticleId, Server, ServerName
from metaserver.base.states import ANSWERED, RULES, Backoff, Outcome
from metaserver.lanes.engine import Engine
from metaserver.lanes.events import LaneEnd, LaneLimits
from metaserver.lanes.lane import Lane
from metaserver.lanes.queue import NEW
from tests import virtual
from tests.effort import examples
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder

ARTICLES = 6
KEY = LaneKey(1, 1)
PAUSES = Backoff(base=1.0, cap=4.0)
ENDINGS = st.sampled_from([Outcome.OK, Outcome.PARTIAL, Outcome.FAULT, Outcome.CONNECT])


class World:
    """A server whose answers come when they are asked for, and a store."""

    def __init__(self) -> None:
        self.epoch = 0
        self.calls: dict[int, asyncio.Future[Outcome]] = {}
        self.there = True
        self.quick = False
        self.caller = FakeCaller(answer=self._answer, while_probed=self._look)
        self.recorder = FakeRecorder(before=self._admit)
        self._in_order = asyncio.Lock()

    @property
    def entries(self) -> Sequence[AttemptRecord]:
        return self.recorder.entries

    async def _answer(self, server: Server, position: int, _number: int) -> Outcome:
        assert position not in self.calls  # never twice at a time
        assert len(self.calls) < server.concurrency
        assert self.recorder.blocked is None
        assert not any(e.position == position and e.final for e in self.entries)
        answer = self.calls[position] = asyncio.get_running_loop().create_future()
        if self.quick:
            answer.set_result(Outcome.OK)
        try:
            return await answer
        finally:
            del self.calls[position]

    async def _look(self) -> None:
        await asyncio.sleep(1.0)
        self.caller.probes = [None if self.there else "connect: refused"]

    async def _admit(self, entry: AttemptRecord) -> None:
        async with self._in_order:
            while self.recorder.blocked:
                await asyncio.sleep(1.0)
            if entry.epoch != self.epoch:
                raise StaleLaneError("another hub has taken this lane")

    def take_lane(self) -> LaneState:
        """Take a lane, as the store does."""
        self.epoch += 1
        return self.state_of_lane()

    def state_of_lane(self) -> LaneState:
        tries: dict[int, Tries] = {}
        for entry in self.entries:
            before = tries.get(entry.position, NEW)
            charged = before.charged + RULES[entry.attempt.outcome].charged
            tries[entry.position] = Tries(max(before.made, entry.attempt.number), charged)
        finished = frozenset(entry.position for entry in self.entries if entry.final)
        return LaneState(
            key=KEY,
            epoch=self.epoch,
            cursor=max((entry.cursor for entry in self.entries if entry.final), default=0),
            finished=finished,
            tries={at: tried for at, tried in tries.items() if at not in finished},
        )


class LaneMachine(RuleBasedStateMachine):
    """A lane on an engine, driven by a team, an organiser, its server and its hub."""

    @initialize(concurrency=st.integers(1, 3), attempts=st.integers(1, 3))
    def open(self, concurrency: int, attempts: int) -> None:
        self.runner = virtual.runner()
        self.world = World()
        self.limits = LaneLimits(attempts=attempts, circuit=2, backoff=PAUSES, probe=PAUSES)
        self.server = Server(name=ServerName("s"), url="http://127.0.0.1/", concurrency=concurrency)
        self.ends: list[tuple[LaneEnd, Exception | None, bool, int]] = []
        self.cancelled = 0
        self.runner.run(self.begin())

    async def begin(self) -> None:
        self.engine = Engine(on_end=lambda key, end, failure: self.note(end, failure))
        self.hub = asyncio.create_task(self.engine.run())
        await asyncio.sleep(0.5)

    def note(self, end: LaneEnd, failure: Exception | None) -> None:
        finished = self.world.state_of_lane().cursor == ARTICLES
        self.ends.append((end, failure, finished, len(self.world.calls)))

    def make(self) -> Lane:
        return Lane(
            self.server,
            Corpus(
                id=1,
                ids=tuple(ArticleId(str(at)) for at in range(ARTICLES)),
                wire_bytes=(0,) * ARTICLES,
            ),
            self.world.take_lane(),
            self.limits,
            caller=self.world.caller,
            recorder=self.world.recorder,
            publish=lambda event: None,
            rng=random.Random(1),
        )

    @property
    def at_work(self) -> bool:
        return self.engine.at_work(KEY)

    def do(self, act: Coroutine[Any, Any, None] | None = None, seconds: float = 0.5) -> None:
        async def it() -> None:
            if act is not None:
                await act
            await asyncio.sleep(seconds)

        self.runner.run(it())

    def told(self, act: Callable[[], None]) -> None:
        async def it() -> None:
            act()

        self.do(it())

    @precondition(lambda self: not self.at_work)
    @rule(allowance=st.none() | st.integers(1, 3))
    def start(self, allowance: int | None) -> None:
        before = len(self.world.entries)
        self.told(lambda: self.engine.start(self.make(), allowance=allowance))
        assert len(self.world.entries) == before  # nothing is answered yet

    @rule()
    def pause(self) -> None:
        self.told(lambda: self.engine.pause(KEY))
        if self.world.recorder.blocked is None:
            assert self.at_work == bool(self.world.calls)

    @rule()
    def resume(self) -> None:
        self.told(lambda: self.engine.resume(KEY))
        assert not self.engine.pausing(KEY)

    @precondition(lambda self: self.world.recorder.blocked is None)
    @rule()
    def cancel(self) -> None:
        in_flight, before = len(self.world.calls), len(self.world.entries)
        self.do(self.stop())
        assert not self.at_work
        new = self.world.entries[before:]
        assert [e.attempt.outcome for e in new] == [Outcome.CANCELLED] * in_flight
        assert not any(e.final for e in new)

    async def stop(self) -> None:
        self.engine.cancel(KEY, "the team")
        await self.engine.ended(KEY)

    @rule()
    def drop(self) -> None:
        """Lose the lane to another process: what is in flight was never asked."""
        was_at_work, before = self.at_work, len(self.world.entries)
        self.told(lambda: self.engine.drop(KEY))
        assert not self.at_work
        assert not self.world.calls
        assert len(self.world.entries) == before
        if was_at_work:
            assert self.ends.pop()[0] is LaneEnd.LOST

    @rule()
    def leave(self) -> None:
        """Give the lane back for balance: what is in flight is finished first."""
        in_flight = bool(self.world.calls)
        self.told(lambda: self.engine.leave(KEY))
        if self.world.recorder.blocked is None:
            assert self.at_work == in_flight

    @rule()
    def kill(self) -> None:
        """Kill the hub and start it again."""

        async def again() -> None:
            self.hub.cancel()
            with suppress(asyncio.CancelledError):
                await self.hub
            await self.begin()

        self.do(again())
        assert not self.at_work
        assert not self.world.calls

    @precondition(lambda self: self.world.calls)
    @rule(data=st.data(), outcome=ENDINGS)
    def answer(self, data: st.DataObject, outcome: Outcome) -> None:
        position = data.draw(st.sampled_from(sorted(self.world.calls)))
        self.told(lambda: self.world.calls[position].set_result(outcome))

    @rule(there=st.booleans())
    def come_and_go(self, there: bool) -> None:
        self.world.there = there

    @rule(full=st.booleans())
    def fill(self, full: bool) -> None:
        self.world.recorder.blocked = "disk full" if full else None
        self.do(seconds=2.5)

    @rule(seconds=st.floats(0.0, 10.0))
    def wait(self, seconds: float) -> None:
        self.do(seconds=seconds)

    @invariant()
    def a_lane_ends_with_nothing_in_flight_for_what_it_was_told(self) -> None:
        for end, failure, finished, in_flight in self.ends:
            assert failure is None, failure
            if end is not LaneEnd.SLICE:
                assert end is (LaneEnd.FINISHED if finished else LaneEnd.PAUSED)
            assert not in_flight

    @invariant()
    def nothing_is_taken_twice(self) -> None:
        entries = self.world.entries
        sent = [(e.position, e.attempt.number) for e in entries]
        assert len(sent) == len(set(sent))
        final = [e.position for e in entries if e.final]
        assert len(final) == len(set(final))

    @invariant()
    def what_is_before_the_cursor_is_finished(self) -> None:
        final: set[int] = set()
        for entry in self.world.entries:
            if entry.final:
                final.add(entry.position)
                assert set(range(entry.cursor)) <= final

    def teardown(self) -> None:
        """Check that every article comes to an end, once, whatever happened before."""
        if not hasattr(self, "runner"):
            return
        self.world.quick, self.world.there, self.world.recorder.blocked = True, True, None

        async def finish() -> None:
            for answer in self.world.calls.values():
                answer.set_result(Outcome.OK)
            self.engine.pause(KEY)
            await self.engine.ended(KEY)
            self.engine.start(self.make())
            while self.engine.at_work(KEY):
                await asyncio.sleep(10.0)
            self.hub.cancel()

        self.do(finish())
        self.runner.close()
        final = [e for e in self.world.entries if e.final]
        assert sorted(e.position for e in final) == list(range(ARTICLES))
        for entry in final:
            charged = [
                e for e in self.world.entries
                if e.position == entry.position and RULES[e.attempt.outcome].charged
            ]  # fmt: skip
            answered = entry.attempt.outcome in ANSWERED
            assert answered or len(charged) == self.limits.attempts


TestLane = LaneMachine.TestCase
TestLane.settings = settings(max_examples=examples(60))
