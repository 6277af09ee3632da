"""A lane at work: take the next article, call, check, store, publish; again, until all are done.

What is committed is done; what is not was never done. A lane that is stopped drops its calls in
flight: those articles are asked for again, and nothing is counted against the team.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from metaserver.errors import StaleLaneError
from metaserver.lanes.circuit import Circuit, CircuitState
from metaserver.lanes.queue import ArticleQueue, Later, Next, Work
from metaserver.lifecycle import RULES, Backoff, RetryDecision, decide
from metaserver.records import Attempt, Server
from metaserver.store.reader import Corpus
from metaserver.store.store import LaneState, Tries
from metaserver.store.writer import Entry
from metaserver.wire.validation import CheckedAnswer

RETRY_BACKOFF = Backoff(base=1.0, cap=60.0)
PROBE_BACKOFF = Backoff(base=5.0, cap=60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneLimits:
    """What an organiser sets for the lanes of a phase; times in seconds.

    `attempts` (>= 1) an article; `circuit` failures in a row open the circuit; a server that has
    been down for `patience` is left for good (None: never).
    """

    attempts: int = 5
    backoff: Backoff = RETRY_BACKOFF
    circuit: int = 5
    probe: Backoff = PROBE_BACKOFF
    patience: float | None = None


class LaneEnd(StrEnum):
    """Why a lane's slice ended."""

    FINISHED = "finished"  # every article is answered or given up
    SLICE = "slice"  # its turn is over: to be enqueued again
    ABANDONED = "abandoned"  # the server was down for longer than the lane's patience
    LOST = "lost"  # another hub has taken the lane
    STOPPED = "stopped"  # the hub stops


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptEnded:
    """Published when an attempt is committed; `answer` where it was accepted."""

    server: Server
    position: int
    attempt: Attempt
    answer: CheckedAnswer | None
    decision: RetryDecision


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneChanged:
    """Published when a lane's standing changes."""

    server: Server
    in_flight: int
    down: str  # why the circuit is open, or empty
    end: LaneEnd | None = None


class Caller(Protocol):
    """Sends one article to a server and checks what comes back."""

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Return how the attempt ended; a peer's failure is an outcome, not an exception."""

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is there, else what is wrong in one line."""


class Recorder(Protocol):
    """Commits ended attempts."""

    async def record(self, entry: Entry) -> None:
        """Return when the entry is committed; raises `StaleLaneError`."""


class Lane:
    """One server's lane in one phase. `run` works a slice; the lane keeps its place between."""

    def __init__(
        self,
        server: Server,
        corpus: Corpus,
        state: LaneState,
        limits: LaneLimits,
        *,
        caller: Caller,
        recorder: Recorder,
        publish: Callable[[AttemptEnded | LaneChanged], None],
        rng: random.Random | None = None,
    ) -> None:
        self.server = server
        self._state = state
        self._limits = limits
        self._caller = caller
        self._recorder = recorder
        self._publish = publish
        self._rng = rng or random.Random()
        self._queue = ArticleQueue(
            len(corpus), cursor=state.cursor, finished=state.finished, tries=state.tries
        )
        self._circuit = Circuit(limits.circuit, limits.probe, self._rng)
        self._changed = asyncio.Event()
        self._recovering = False
        self._in_flight = 0
        self._requests_left = math.inf
        self._end: LaneEnd | None = None

    async def run(self, requests: int | None = None) -> LaneEnd:
        """Work until the queue is finished, or so many requests were begun (None: no limit)."""
        self._requests_left = math.inf if requests is None else requests
        self._end = None
        self._tell()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.server.concurrency):
                    group.create_task(self._work())
        except* StaleLaneError:
            self._end = LaneEnd.LOST
        finally:
            self._end = self._end or LaneEnd.STOPPED
            self._tell()
        return self._end

    async def _work(self) -> None:
        """One place in the lane: serve article after article."""
        while self._end is None:
            if self._circuit.state is not CircuitState.CLOSED:
                await self._recover()
                continue
            step = self._take(_now())
            if isinstance(step, Work):
                await self._serve(step)
            elif isinstance(step, Later):
                await self._wait(step.at)

    async def _recover(self) -> None:
        """The circuit is not closed: probe the server when it is time, or try one article."""
        circuit, now = self._circuit, _now()
        down = 0.0 if circuit.down_since is None else now - circuit.down_since
        if self._limits.patience is not None and down >= self._limits.patience:
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
            failure = await self._caller.probe(self.server)
            self._circuit.probed(failure, _now())
            self._tell()
            return None
        step = self._take(now)
        if isinstance(step, Work):
            await self._serve(step)
        return step

    def _take(self, now: float) -> Next:
        if self._requests_left <= 0:
            self._finish(LaneEnd.SLICE)
            return None
        step = self._queue.take(now)
        if step is None:
            self._finish(LaneEnd.FINISHED)
        elif isinstance(step, Work):
            self._requests_left -= 1
        return step

    async def _serve(self, work: Work) -> None:
        """Send one article, store how it ended, and say so."""
        self._in_flight += 1
        self._tell()
        number = work.tries.made + 1
        try:
            attempt, answer = await self._caller.call(self.server, work.position, number)
        except BaseException:
            self._queue.again(work, _now())  # as if it had never been sent
            raise
        finally:
            self._in_flight -= 1
        tries = Tries(number, work.tries.charged + RULES[attempt.outcome].charged)
        limits = self._limits
        decision = decide(
            attempt.outcome, tries.charged, limits.attempts, limits.backoff, self._rng
        )
        if decision.final:
            self._queue.finish(work.position)
        else:
            self._queue.again(Work(work.position, tries), _now() + decision.wait)
        self._circuit.ended(attempt.outcome, attempt.message, _now())
        # The entry is made now, with the cursor as it is; what has ended is stored and shown even
        # if the lane is stopped meanwhile.
        entry = self._entry(work.position, attempt, answer, decision)
        await asyncio.shield(self._keep(entry, decision))
        self._tell()
        self._changed.set()

    async def _keep(self, entry: Entry, decision: RetryDecision) -> None:
        await self._recorder.record(entry)
        self._publish(
            AttemptEnded(
                server=self.server,
                position=entry.position,
                attempt=entry.attempt,
                answer=entry.answer,
                decision=decision,
            )
        )

    def _entry(
        self,
        position: int,
        attempt: Attempt,
        answer: CheckedAnswer | None,
        decision: RetryDecision,
    ) -> Entry:
        return Entry(
            lane=self._state.key,
            epoch=self._state.epoch,
            position=position,
            attempt=attempt,
            answer=answer if decision.answered else None,
            final=decision.final,
            cursor=self._queue.cursor,
        )

    def _finish(self, end: LaneEnd) -> None:
        self._end = end
        self._changed.set()

    async def _wait(self, until: float) -> None:
        """Wait for the given time, or for anything in the lane to change."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(None if math.isinf(until) else until):
                await self._changed.wait()

    def _tell(self) -> None:
        self._publish(
            LaneChanged(
                server=self.server,
                in_flight=self._in_flight,
                down=self._circuit.reason if self._circuit.down_since is not None else "",
                end=self._end,
            )
        )


def _now() -> float:
    """Monotonic seconds, of the loop's own clock: a clock that jumps fires no time-out."""
    return asyncio.get_running_loop().time()
