"""Runs lanes, one long job each, supervised by PgQueuer in the hub's own process.

The store holds the only truth: every lane is enqueued again at start. Where there are more lanes
than may be at work at once, a lane's job ends after a slice of requests and is enqueued again, so
that each has its turn. The supervisor is started anew if it stops by itself.
Why PgQueuer: docs/adr/0005-lanes-on-pgqueuer.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from pgqueuer import PgQueuer
from pgqueuer.models import Job

from metaserver.errors import HubError
from metaserver.lanes.lane import Lane, LaneEnd
from metaserver.records import ServerName

MAX_LANES = 2_000  # at work at once in one hub
SLICE = 200  # requests for each place in the lane
RESTART_SECONDS = 1.0

log = logging.getLogger(__name__)


class Engine:
    """Works lanes to their end."""

    def __init__(self, lanes: Sequence[Lane], *, max_lanes: int = MAX_LANES) -> None:
        self._lanes: Mapping[ServerName, Lane] = {lane.server.name: lane for lane in lanes}
        self._max_lanes = max_lanes
        self._ends: dict[ServerName, LaneEnd] = {}
        self._failures: dict[ServerName, Exception] = {}
        self._at_work: set[asyncio.Task[LaneEnd]] = set()

    async def run(self) -> Mapping[ServerName, LaneEnd]:
        """Return how each lane ended, when all have.

        Cancelled, it stops the lanes first. A lane that fails by a fault of ours ends alone; when
        the others have ended, `HubError` tells of it.
        """
        while len(self._ends) < len(self._lanes):
            queue = PgQueuer.in_memory()
            supervisor = asyncio.create_task(self._supervise(queue), name="lanes")
            try:
                await asyncio.shield(supervisor)
            except Exception:
                log.exception("the lanes' supervisor stopped; starting it again")
                await asyncio.sleep(RESTART_SECONDS)
            finally:
                await self._stop(queue, supervisor)
        if self._failures:
            name, error = next(iter(self._failures.items()))
            raise HubError(
                f"lane {name} stopped by a fault of the hub: {_first(error)!r}"
            ) from error
        return self._ends

    async def _supervise(self, queue: PgQueuer) -> None:
        @queue.entrypoint("lane", on_failure="hold")
        async def work(job: Job) -> None:
            assert job.payload is not None
            await self._work(queue, ServerName(job.payload.decode()))

        assert queue.queries is not None
        names = [name.encode() for name in self._lanes if name not in self._ends]
        await queue.queries.enqueue(["lane"] * len(names), [*names], [0] * len(names))
        await queue.run(
            max_concurrent_tasks=self._max_lanes,
            batch_size=min(10, self._max_lanes // 2),
            heartbeat_timeout=timedelta(seconds=5),
            log_aggregation_interval=timedelta(0),
        )

    async def _work(self, queue: PgQueuer, name: ServerName) -> None:
        """Work one slice of a lane; enqueue it again if there is more."""
        if queue.shutdown.is_set():  # picked up while the engine stops: nobody would cancel it
            return
        lane = self._lanes[name]
        requests = SLICE * lane.server.concurrency if len(self._lanes) > self._max_lanes else None
        task = asyncio.create_task(lane.run(requests), name=f"lane {name}")
        self._at_work.add(task)
        try:
            end = await task
        except Exception as error:
            log.exception("lane %s stopped by a fault of the hub", name)
            self._failures[name] = error
            end = LaneEnd.STOPPED
        finally:
            self._at_work.discard(task)
        if end is LaneEnd.SLICE:
            assert queue.queries is not None
            await queue.queries.enqueue("lane", name.encode())
            return
        self._ends[name] = end
        if len(self._ends) == len(self._lanes):
            queue.shutdown.set()

    async def _stop(self, queue: PgQueuer, supervisor: asyncio.Task[None]) -> None:
        queue.shutdown.set()
        for task in list(self._at_work):
            task.cancel()
        with suppress(Exception):
            await supervisor


def _first(error: Exception) -> Exception:
    """What went wrong first in a lane whose places work side by side."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
