"""The engine that runs the lanes of a process: a task for each, and a fair semaphore.

The store is the single source of truth: a restarted hub starts its lanes again. If there are more
lanes than may be at work at once, a lane gives up its place after a slice of requests, so that each
has its turn, in order. Why a lane is one task: docs/adr/0005-lanes-on-pgqueuer.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from metaserver.base.lanes import LaneKey
from metaserver.lanes.events import LaneEnd
from metaserver.lanes.lane import Lane

MAX_LANES = 2_000  # at work at once in one hub
SLICE = 200  # requests of a turn, for each concurrent request of the lane

log = logging.getLogger(__name__)

OnEnd: TypeAlias = Callable[[LaneKey, LaneEnd, Exception | None], None]


@dataclass(kw_only=True, slots=True)
class _Started:
    """A lane that was started and has not ended; `task` works it once the engine runs."""

    lane: Lane
    task: asyncio.Task[None] | None = None
    in_turn: bool = False
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
        self._places = asyncio.Semaphore(max_lanes)  # those who wait get one in their order
        self._is_running = False

    # -- control ---------------------------------------------------------------------------------

    def start(self, lane: Lane, *, allowance: int | None = None) -> None:
        """Start a lane on its queue, or on its next `allowance` requests (>= 1).

        Raises `ValueError` if that lane is at work: `stop` it first.
        """
        if lane.key in self._started:
            raise ValueError(f"lane {lane.server.name} is at work already")
        lane.allow(allowance)
        started = self._started[lane.key] = _Started(lane=lane)
        if self._is_running:
            self._begin(started)
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
            if started.in_turn and started.task is not None:
                started.task.cancel()
            self._end_if_waiting(started, LaneEnd.LOST)

    async def ended(self, key: LaneKey) -> None:
        """Wait until a lane's work has ended and all its attempts are stored."""
        if started := self._started.get(key):
            await started.ended.wait()

    # -- work ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run lanes until cancelled; then stop the lanes first, dropping their calls in flight."""
        self._is_running = True
        for started in self._started.values():
            self._begin(started)
        try:
            await asyncio.Event().wait()
        finally:
            await self._shut_down()

    def _begin(self, started: _Started) -> None:
        name = f"lane {started.lane.server.name}"
        started.task = asyncio.create_task(self._work(started), name=name)

    @property
    def _crowded(self) -> bool:
        return len(self._started) > self._max_lanes

    async def _work(self, started: _Started) -> None:
        """Run a lane, turn by turn, until it has ended."""
        try:
            end, failure = await self._take_turns(started), None
        except asyncio.CancelledError:
            if not started.dropped:
                raise
            end, failure = LaneEnd.LOST, None
        except Exception as error:
            log.exception("lane %s stopped by a fault of the hub", started.lane.server.name)
            end, failure = LaneEnd.STOPPED, _first_error(error)
        self._finish(started, end, failure)

    async def _take_turns(self, started: _Started) -> LaneEnd:
        lane = started.lane
        while True:
            async with self._places:
                started.in_turn = True
                try:
                    end = await lane.run(_turn(lane) if self._crowded else None)
                finally:
                    started.in_turn = False
            again = end is LaneEnd.SLICE or (end is LaneEnd.PAUSED and not lane.pausing)
            if started.leaving or not again:
                return end

    def _end_if_waiting(self, started: _Started, end: LaneEnd = LaneEnd.PAUSED) -> None:
        """End a lane before it has its turn."""
        if not started.in_turn:
            if started.task is not None:
                started.task.cancel()
            self._finish(started, end)

    def _finish(self, started: _Started, end: LaneEnd, failure: Exception | None = None) -> None:
        if self._started.get(started.lane.key) is not started:
            return  # it had ended while it waited for its turn
        del self._started[started.lane.key]
        started.ended.set()
        try:
            self._on_end(started.lane.key, end, failure)
        except Exception:
            log.exception("the steps after the end of lane %s failed", started.lane.server.name)

    async def _shut_down(self) -> None:
        self._is_running = False
        tasks = [started.task for started in self._started.values() if started.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for started in self._started.values():
            started.ended.set()
        self._started.clear()


def _turn(lane: Lane) -> int:
    return SLICE * lane.server.concurrency


def _first_error(error: Exception) -> Exception:
    """Return the first error from a lane whose requests run concurrently."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
