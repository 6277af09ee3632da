"""The engine that runs lanes, each as a long job supervised by PgQueuer in the hub's process.

The store is the single source of truth: a restarted hub starts its lanes again. If there are more
lanes than may be at work at once, a lane's job ends after a slice of requests and is enqueued
again, so that each has its turn. The supervisor is restarted if it stops by itself. PgQueuer is
justified in docs/adr/0005-lanes-on-pgqueuer.md.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from pgqueuer import PgQueuer
from pgqueuer.adapters.inmemory import InMemoryQueries
from pgqueuer.models import Job

from metaserver.base.lanes import LaneKey
from metaserver.lanes.events import LaneEnd
from metaserver.lanes.lane import Lane

MAX_LANES = 2_000  # at work at once in one hub
SLICE = 200  # requests of a turn, for each concurrent request of the lane
RESTART_SECONDS = 1.0
LONG_DUE = timedelta(days=-36_500)  # a clock that is set back must not put off a job
BATCH = 500  # jobs that the supervisor begins or ends together
NO_HEARTBEAT = timedelta(days=36_500)
"""Heartbeats show other processes that a job is alive: in memory there are none."""

log = logging.getLogger(__name__)

OnEnd: TypeAlias = Callable[[LaneKey, LaneEnd, Exception | None], None]


@dataclass(kw_only=True, slots=True)
class _Started:
    """A lane that was started and has not ended; `task` while it has its turn."""

    lane: Lane
    ticket: int = 0  # of the job that runs its next turn
    task: asyncio.Task[LaneEnd] | None = None
    leaving: bool = False  # it ends with its turn
    dropped: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Engine:
    """The engine for lanes that come and go; lanes may be started before `run`.

    `on_end` is called when a lane's work has ended, with the hub's own error if there was one: that
    lane ends alone, with `LaneEnd.STOPPED`. It may start lanes. It is not called for lanes dropped
    when the engine itself stops.
    """

    def __init__(
        self,
        *,
        on_end: OnEnd = lambda key, end, failure: None,
        max_lanes: int = MAX_LANES,
    ) -> None:
        self._on_end = on_end
        self._max_lanes = max_lanes
        self._started: dict[LaneKey, _Started] = {}
        self._tickets: dict[int, _Started] = {}  # of lanes that wait for their turn
        self._numbers = itertools.count(1)
        self._queued: asyncio.Queue[int] = asyncio.Queue()

    # -- control ---------------------------------------------------------------------------------

    def start(self, lane: Lane, *, allowance: int | None = None) -> None:
        """Start a lane on its queue, or on its next `allowance` requests (>= 1).

        Raises `ValueError` if that lane is at work: `stop` it first.
        """
        if lane.key in self._started:
            raise ValueError(f"lane {lane.server.name} is at work already")
        lane.allow(allowance)
        started = self._started[lane.key] = _Started(lane=lane)
        self._enqueue(started)
        if self._crowded:
            for entry in self._started.values():
                entry.lane.share(_turn(entry.lane))

    def at_work(self, key: LaneKey) -> bool:
        """Return whether the lane was started and has not ended: its calls may be in flight."""
        return key in self._started

    @property
    def count(self) -> int:
        """The number of working lanes."""
        return len(self._started)

    def pausing(self, key: LaneKey) -> bool:
        """Return whether the lane is at work and will pause: on request, or after its allowance."""
        started = self._started.get(key)
        return started is not None and started.lane.pausing

    def pause(self, key: LaneKey) -> None:
        """Stop a lane from sending articles; it ends when those in flight are finished.

        A lane that is not at work is left as it is, also by `resume`.
        """
        if started := self._started.get(key):
            started.lane.pause()
            self._end_if_waiting(started)

    def resume(self, key: LaneKey) -> None:
        """Let a lane that is at work, but pausing, continue without an allowance."""
        if started := self._started.get(key):
            started.lane.allow(None)

    def cancel(self, key: LaneKey, by: str) -> None:
        """Pause a lane, and cancel its calls in flight; `by` names who does ("the team")."""
        if started := self._started.get(key):
            started.lane.cancel(by)
            self._end_if_waiting(started)

    def leave(self, key: LaneKey) -> None:
        """Let a lane end with `LaneEnd.SLICE` when the requests in flight are finished."""
        if started := self._started.get(key):
            started.leaving = True
            started.lane.share(0)
            self._end_if_waiting(started, LaneEnd.SLICE)

    def drop(self, key: LaneKey) -> None:
        """End a lane at once with `LaneEnd.LOST`; its calls in flight count as never sent."""
        if started := self._started.get(key):
            started.dropped = True
            if started.task is not None:
                started.task.cancel()
            self._end_if_waiting(started, LaneEnd.LOST)

    async def ended(self, key: LaneKey) -> None:
        """Wait until a lane's work has ended and all its attempts are stored."""
        if started := self._started.get(key):
            await started.ended.wait()

    # -- work ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run lanes until cancelled; then stop the lanes first, dropping their calls in flight."""
        try:
            while True:
                await self._run_supervisor()
                await asyncio.sleep(RESTART_SECONDS)
        finally:
            for started in self._started.values():
                started.ended.set()
            self._started.clear()
            self._tickets.clear()

    async def _run_supervisor(self) -> None:
        queue = PgQueuer.in_memory()
        self._tickets.clear()
        self._queued = asyncio.Queue()
        for started in self._started.values():
            self._enqueue(started)
        jobs = (self._supervise(queue), self._feed(queue), queue.shutdown.wait())
        tasks = [asyncio.create_task(job, name="lanes") for job in jobs]
        try:
            finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                log.error("the lanes' supervisor stopped", exc_info=task.exception())
        finally:
            await self._shut_down(queue, tasks)

    async def _supervise(self, queue: PgQueuer) -> None:
        @queue.entrypoint("lane", on_failure="hold")
        async def work(job: Job) -> None:
            assert job.payload is not None
            await self._work(queue, int(job.payload))

        await queue.run(
            max_concurrent_tasks=self._max_lanes,
            batch_size=min(BATCH, self._max_lanes // 2),
            heartbeat_timeout=NO_HEARTBEAT,
            log_aggregation_interval=timedelta(0),
        )

    async def _feed(self, queue: PgQueuer) -> None:
        """Enqueue the lanes that wait for their turn, in order."""
        assert isinstance(queue.queries, InMemoryQueries)
        while True:
            tickets = [await self._queued.get()]
            while not self._queued.empty():
                tickets.append(self._queued.get_nowait())
            await queue.queries.clear_queue_log()  # it is kept in memory, and nobody reads it
            await queue.queries.enqueue(
                ["lane"] * len(tickets),
                [b"%d" % ticket for ticket in tickets],
                [0] * len(tickets),
                [LONG_DUE] * len(tickets),
            )

    @property
    def _crowded(self) -> bool:
        return len(self._started) > self._max_lanes

    def _enqueue(self, started: _Started) -> None:
        started.ticket = next(self._numbers)
        self._tickets[started.ticket] = started
        self._queued.put_nowait(started.ticket)

    async def _work(self, queue: PgQueuer, ticket: int) -> None:
        """Run a lane for one turn, if its ticket is still valid."""
        started = self._tickets.pop(ticket, None)
        if started is None or queue.shutdown.is_set():  # nobody would cancel it
            return
        end, failure = await self._take_turn(started)
        again = end is LaneEnd.SLICE or (end is LaneEnd.PAUSED and not started.lane.pausing)
        if again and not started.leaving:
            self._enqueue(started)
        else:
            self._finish(started, end, failure)

    async def _take_turn(self, started: _Started) -> tuple[LaneEnd, Exception | None]:
        lane = started.lane
        turn = _turn(lane) if self._crowded else None
        task = started.task = asyncio.create_task(lane.run(turn), name=f"lane {lane.server.name}")
        try:
            return await task, None
        except asyncio.CancelledError:
            if started.dropped and task.cancelled() and not _is_cancelled():
                return LaneEnd.LOST, None
            raise
        except Exception as error:
            log.exception("lane %s stopped by a fault of the hub", lane.server.name)
            return LaneEnd.STOPPED, _first_error(error)
        finally:
            started.task = None

    def _end_if_waiting(self, started: _Started, end: LaneEnd = LaneEnd.PAUSED) -> None:
        """End a lane before it has its turn."""
        if started.task is None:
            self._tickets.pop(started.ticket, None)
            self._finish(started, end)

    def _finish(self, started: _Started, end: LaneEnd, failure: Exception | None = None) -> None:
        del self._started[started.lane.key]
        started.ended.set()
        try:
            self._on_end(started.lane.key, end, failure)
        except Exception:
            log.exception("the steps after the end of lane %s failed", started.lane.server.name)

    async def _shut_down(self, queue: PgQueuer, tasks: Sequence[asyncio.Task[Any]]) -> None:
        supervisor, feeding, _ = tasks
        queue.shutdown.set()
        feeding.cancel()
        for started in self._started.values():
            if started.task is not None:
                started.task.cancel()
        await asyncio.wait(tasks)
        with suppress(Exception):
            await supervisor


def _turn(lane: Lane) -> int:
    return SLICE * lane.server.concurrency


def _is_cancelled() -> bool:
    """Return whether the present task is to be cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _first_error(error: Exception) -> Exception:
    """Return the first error from a lane whose requests run concurrently."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
