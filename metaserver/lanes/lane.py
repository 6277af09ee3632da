"""A lane at work: take the next article, call, check, store, publish, until all are finished.

Only a committed attempt counts. A lane that is paused takes no more articles and finishes those in
flight; one that is cancelled ends them as attempts with outcome `cancelled`. A lane whose task is
cancelled (the hub stops) drops its calls in flight: those articles are sent again, and nothing is
charged to the team.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from metaserver.base.errors import StaleLaneError, UnavailableError
from metaserver.base.lanes import AttemptRecord, CheckedAnswer, Corpus, LaneKey, LaneState, Tries
from metaserver.base.records import Attempt, Server, Timings
from metaserver.base.states import RULES, UNAVAILABLE_STATES, Outcome, RetryDecision, decide
from metaserver.lanes.circuit import Circuit, CircuitState, ServerHealth
from metaserver.lanes.events import (
    AttemptEnded,
    LaneChanged,
    LaneEnd,
    LaneLimits,
    Recorder,
    ServerCaller,
)
from metaserver.lanes.queue import ArticleQueue, Later, Next, Work

# -- waits that can be interrupted from outside without cancelling the task that waits -------------

Result = TypeVar("Result")


class WaitInterruptedError(Exception):
    """The wait was interrupted."""


class Interruptible:
    """A group of waits that `interrupt` ends, all at once."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()

    async def wait(self, awaitable: Awaitable[Result]) -> Result:
        """Return an awaitable's result, or raise `WaitInterruptedError`."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                return await awaitable
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise WaitInterruptedError from error
        finally:
            self._scopes.discard(scope)

    def interrupt(self) -> None:
        """End the waits that are under way."""
        now = asyncio.get_running_loop().time()
        while self._scopes:
            self._scopes.pop().reschedule(now)


# -- a lane at work: take the next article, call, check, store, publish, until all are finished ----

BLOCKED_SECONDS = 1.0  # until a lane checks again whether answers can be stored


class Lane:
    """One server's lane in one phase. `run` works; the lane keeps its progress between two runs.

    `prepare` does the slow work on an ended attempt before it is published, or returns None;
    nothing is awaited between the two. `clock` returns Unix seconds: it dates attempts, and no wait
    depends on it. `down` is why the server was down when its lane last worked, or empty: if set,
    the server is probed first.
    """

    def __init__(
        self,
        server: Server,
        corpus: Corpus,
        state: LaneState,
        limits: LaneLimits,
        *,
        caller: ServerCaller,
        recorder: Recorder,
        publish: Callable[[AttemptEnded | LaneChanged], None],
        prepare: Callable[[AttemptEnded], Awaitable[None] | None] | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.time,
        down: str = "",
    ) -> None:
        self.server = server
        self._state = state
        self._limits = limits
        self._caller = caller
        self._recorder = recorder
        self._publish = publish
        self._prepare = prepare or (lambda event: None)
        self._rng = rng or random.Random()
        self._articles = corpus.ids
        self._queue = ArticleQueue(
            len(corpus), cursor=state.cursor, finished=state.finished, tries=state.tries
        )
        self._circuit = Circuit(limits.circuit, limits.probe, self._rng)
        if down:
            self._circuit.open_on_report(down, _now())
        self._changed = asyncio.Event()
        self._clock = clock
        self._health = ServerHealth(server.concurrency, limits.health, self._rng)
        self._recovering = False
        self._slice = math.inf  # requests left in this run
        self._allowance = math.inf  # requests left until it pauses
        self._calls = Interruptible()
        self._probes = Interruptible()
        self._cancelled_by = ""
        self._end: LaneEnd | None = None
        self._endings: set[asyncio.Task[None]] = set()  # of attempts that the lane left

    # -- control ---------------------------------------------------------------------------------

    @property
    def key(self) -> LaneKey:
        """The lane's key in the store."""
        return self._state.key

    @property
    def pausing(self) -> bool:
        """True if the lane will end, or has ended, before its queue is finished."""
        return math.isfinite(self._allowance)

    def allow(self, requests: int | None) -> None:
        """Let the lane begin `requests` more requests, and pause then; None: no limit.

        Articles that wait for another attempt are sent first, without their back-off; and if the
        circuit is open, without a probe. May be called before or during a run.
        """
        self._allowance = math.inf if requests is None else requests
        if requests:
            self._circuit.try_now()
        elif requests is not None:
            self._probes.interrupt()
        self._changed.set()

    def share(self, requests: int) -> None:
        """Let this turn end after at most `requests` more requests."""
        self._slice = min(self._slice, requests)
        if requests == 0:
            self._changed.set()

    def pause(self) -> None:
        """Take no more articles; those in flight are finished, then `run` ends."""
        self.allow(0)

    def cancel(self, by: str) -> None:
        """Pause, and end the calls in flight as attempts with outcome `cancelled`, not charged.

        `by` names who cancels: "the team", "an organiser".
        """
        self._cancelled_by = by
        self.pause()
        self._calls.interrupt()

    # -- work ------------------------------------------------------------------------------------

    async def run(self, requests: int | None = None) -> LaneEnd:
        """Work until the queue is finished, the lane is paused, or its turn is over.

        Its turn is `requests` requests (None: no limit).
        """
        self._slice = math.inf if requests is None else requests
        self._end = None
        self._publish_change()
        try:
            await self._work_all()
        except* StaleLaneError:
            self._end = LaneEnd.LOST
        finally:
            self._end = self._ended(self._end or LaneEnd.STOPPED)
            self._publish_change()
        return self._end

    def _ended(self, end: LaneEnd) -> LaneEnd:
        """Return a run's end, including the results of its last requests."""
        if end not in (LaneEnd.SLICE, LaneEnd.PAUSED):
            return end
        if self._queue.finished:
            return LaneEnd.FINISHED
        return LaneEnd.PAUSED if self._allowance <= 0 else end

    async def _work_all(self) -> None:
        self._health.begin(_now())
        async with asyncio.TaskGroup() as places:
            for place in range(self.server.concurrency):
                places.create_task(self._work(place))

    async def _work(self, place: int) -> None:
        """Serve article after article in one of the lane's places for concurrent requests."""
        while self._end is None:
            if self._allowance <= 0:
                await self._drain()
            elif self._slice <= 0:
                self._finish(LaneEnd.SLICE)
            elif place >= self._health.places:
                await self._wait(math.inf)
            elif self._recorder.blocked:  # answers wait to be stored; no more articles are sent
                await self._wait(_now() + BLOCKED_SECONDS)
            elif self._queue.finished:
                self._finish(LaneEnd.FINISHED)
            elif self._circuit.state is not CircuitState.CLOSED:
                await self._recover()
            elif place == 0 and _now() >= self._health.ask_at and not self.pausing:
                await self._ask_state()  # instead of an article: the limit of requests holds
            else:
                await self._serve_next()

    async def _serve_next(self) -> None:
        step = self._take(_now())
        if isinstance(step, Work):
            await self._serve(step)
        elif isinstance(step, Later):
            await self._wait(step.at)

    async def _drain(self) -> None:
        """End when nothing is in flight any more; until then the lane can be resumed."""
        if self._queue.in_flight:
            await self._wait(math.inf)
        else:
            self._finish(LaneEnd.PAUSED)

    async def _recover(self) -> None:
        """Probe the server when it is time, or try an article, while the circuit is not closed."""
        circuit, now = self._circuit, _now()
        # As of the last failure: the hub itself may have stood still since then.
        down = 0.0 if circuit.down_since is None else circuit.failed_at - circuit.down_since
        patience = math.inf if self._limits.patience is None else self._limits.patience
        if circuit.state is CircuitState.OPEN and down >= patience:
            self._finish(LaneEnd.ABANDONED)
        elif self._recovering:
            await self._wait(math.inf)
        elif circuit.state is CircuitState.OPEN and now < circuit.probe_at:
            await self._wait(circuit.probe_at)
        else:
            self._recovering = True
            try:
                step = await self._probe_or_try(now)
            finally:
                self._recovering = False
            if isinstance(step, Later):
                await self._wait(step.at)
            else:
                self._changed.set()

    async def _probe_or_try(self, now: float) -> Next:
        if self._circuit.state is CircuitState.OPEN:
            await self._probe()
            return None
        step = self._take(now)
        if isinstance(step, Work):
            await self._serve(step)
        return step

    async def _probe(self) -> None:
        with suppress(WaitInterruptedError):
            failure = await self._probes.wait(self._caller.probe(self.server))
            self._circuit.probed(failure, _now())
            self._publish_change()

    def _take(self, now: float) -> Next:
        step = self._queue.take(now, eager=self.pausing)
        if step is None:
            self._finish(LaneEnd.FINISHED)
        elif isinstance(step, Work):
            self._slice -= 1
            self._allowance -= 1
        return step

    async def _serve(self, work: Work) -> None:
        """Send an article, store its attempt, and publish it."""
        self._publish_change()
        number = work.tries.made + 1
        try:
            attempt, answer = await self._call(work.position, number)
        except UnavailableError:  # its text cannot be read now, so that it was not sent
            await self._give_back(work)
            return
        except BaseException:
            self._queue.requeue(work, _now())  # as if it had never been sent
            raise
        tries = Tries(number, work.tries.charged + RULES[attempt.outcome].charged)
        limits = self._limits
        decision = decide(
            attempt.outcome,
            tries.charged,
            limits.attempts,
            limits.backoff,
            self._rng,
            attempt.asked_wait,
        )
        if decision.final:
            self._queue.finish(work.position)
        else:
            self._queue.requeue(Work(work.position, tries), _now() + decision.wait)
        self._circuit.ended(attempt.outcome, attempt.message, _now())
        # The entry is made now, with the present cursor.
        await self._store(self._entry(work.position, attempt, answer, decision), decision)
        self._publish_change()
        self._changed.set()

    async def _give_back(self, work: Work) -> None:
        """Put an article back that was not sent; wait until it may be again."""
        self._queue.requeue(work, _now() + BLOCKED_SECONDS)
        self._slice += 1
        self._allowance += 1
        self._publish_change()
        await self._wait(_now() + BLOCKED_SECONDS)

    async def _call(self, position: int, number: int) -> tuple[Attempt, CheckedAnswer | None]:
        started_at, began = self._clock(), _now()
        try:
            return await self._calls.wait(self._caller.call(self.server, position, number))
        except WaitInterruptedError:
            attempt = Attempt(
                server=self.server.name,
                article=self._articles[position],
                number=number,
                started_at=started_at,
                outcome=Outcome.CANCELLED,
                message=f"cancelled by {self._cancelled_by}",
                timings=Timings(total=_now() - began),
            )
            return attempt, None

    async def _store(self, entry: AttemptRecord, decision: RetryDecision) -> None:
        """Store an ended attempt and publish it, even if the lane is stopped meanwhile.

        It nearly always is not: only then the rest is done in a task of its own.
        """
        stored = asyncio.ensure_future(self._recorder.record(entry))
        try:
            serial = await asyncio.shield(stored)
        except asyncio.CancelledError:
            self._end_in_task(self._publish_stored(stored, entry, decision))
            raise
        event = self._event(serial, entry, decision)
        slow = self._prepare(event)
        if slow is None:
            self._publish(event)
        else:
            await asyncio.shield(self._end_in_task(self._publish_prepared(slow, event)))

    async def _publish_stored(
        self, stored: Awaitable[int], entry: AttemptRecord, decision: RetryDecision
    ) -> None:
        event = self._event(await stored, entry, decision)
        await self._publish_prepared(self._prepare(event), event)

    def _event(self, serial: int, entry: AttemptRecord, decision: RetryDecision) -> AttemptEnded:
        return AttemptEnded(
            serial=serial,
            server=self.server,
            position=entry.position,
            attempt=entry.attempt,
            answer=entry.answer,
            decision=decision,
        )

    async def _publish_prepared(self, slow: Awaitable[None] | None, event: AttemptEnded) -> None:
        """Publish an attempt after its slow part, even if that fails: it is stored, and counts."""
        try:
            if slow is not None:
                await slow
        finally:
            self._publish(event)

    def _end_in_task(self, rest: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin an attempt's end; if nobody awaits it, its error is dropped."""
        ending = asyncio.create_task(rest)
        self._endings.add(ending)
        ending.add_done_callback(self._ended_in_task)
        return ending

    def _ended_in_task(self, ending: asyncio.Task[None]) -> None:
        self._endings.discard(ending)
        if not ending.cancelled():
            ending.exception()  # marks it as seen

    def _entry(
        self,
        position: int,
        attempt: Attempt,
        answer: CheckedAnswer | None,
        decision: RetryDecision,
    ) -> AttemptRecord:
        return AttemptRecord(
            lane=self._state.key,
            epoch=self._state.epoch,
            position=position,
            attempt=attempt,
            answer=answer if decision.answered else None,
            final=decision.final,
            cursor=self._queue.cursor,
        )

    async def _ask_state(self) -> None:
        """Ask the server for its state and adapt: it may take fewer articles at a time, or none."""
        with suppress(WaitInterruptedError):
            report = await self._probes.wait(self._caller.state(self.server))
            self._health.update(report, _now())
            if report is not None:
                if report.state in UNAVAILABLE_STATES:
                    self._circuit.open_on_report(f"the server says it is {report.state}", _now())
                self._publish_change()
                self._changed.set()

    def _finish(self, end: LaneEnd) -> None:
        self._end = end
        self._changed.set()

    async def _wait(self, until: float) -> None:
        """Wait for the given time, or until anything in the lane changes."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(None if math.isinf(until) else until):
                await self._changed.wait()

    def _publish_change(self) -> None:
        self._publish(
            LaneChanged(
                server=self.server,
                in_flight=self._queue.in_flight,
                down=self._circuit.reason if self._circuit.down_since is not None else "",
                end=self._end,
            )
        )


def _now() -> float:
    """Return the loop's clock, monotonic seconds: a system clock that jumps fires no time-out."""
    return asyncio.get_running_loop().time()
