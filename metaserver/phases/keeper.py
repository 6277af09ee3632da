"""The keeper of the phases' aggregates: brings them up to date at the start, then checkpoints them.

The site is open meanwhile. A checkpoint is written when a lane has many new attempts, or some
for a while, and when the hub stops; the log has all that it says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from metaserver.concurrency import run_uncancelled
from metaserver.model.errors import UnavailableError
from metaserver.model.records import ServerName
from metaserver.phases.checkpoints import encode
from metaserver.phases.follower import MadeCheckpoint
from metaserver.phases.runtime import RunningPhase
from metaserver.store import checkpoints
from metaserver.store.checkpoints import StoredCheckpoint
from metaserver.store.store import Store

LOOK_SECONDS = 1.0
RETRY_SECONDS = 60.0
"""Time until a phase whose aggregates cannot be made is tried again."""
LATE_SECONDS = 600.0
"""Longest time that a lane's attempts are without a checkpoint."""
FEW = 16
"""Checkpoints that are made and stored at a time."""
REST = 9.0
"""After checkpoints the keeper rests for this many times as long: a tenth of a core at most."""
STOP_SECONDS = 1.0
"""Time for checkpoints when the hub stops."""

log = logging.getLogger(__name__)


class AggregateKeeper:
    """The keeper of the aggregates of all phases; `clock` returns Unix seconds."""

    def __init__(
        self,
        store: Store,
        phases: Callable[[], Collection[RunningPhase]],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._phases = phases
        self._clock = clock
        self._retry_at: dict[RunningPhase, float] = {}  # by the loop's clock

    async def run(self) -> None:
        """Catch up and write checkpoints, until cancelled; then `close`."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._catch_up_always(), name="catching up")
                group.create_task(self._write_always(), name="checkpoints")
        finally:
            await self.close()

    async def close(self) -> None:
        """Write the checkpoints that are missing, for at most `STOP_SECONDS`."""
        until = _now() + STOP_SECONDS
        for running in list(self._phases()):
            try:
                with suppress(UnavailableError):
                    await self._write_unkept(running, until)
            except Exception:  # one phase's fault must not keep the hub from stopping
                log.exception("checkpoints of phase %s cannot be stored", running.name)

    async def _write_unkept(self, running: RunningPhase, until: float) -> None:
        names = running.follower.unkept()
        for start in range(0, len(names), FEW):
            if _now() >= until:
                return
            await self._write(running, names[start : start + FEW])

    # -- catching up -----------------------------------------------------------------------------

    async def _catch_up_always(self) -> None:
        while True:
            for running in list(self._phases()):
                if running.is_behind and _now() >= self._retry_at.get(running, 0.0):
                    await self._catch_up(running)
            await asyncio.sleep(LOOK_SECONDS)

    async def _catch_up(self, running: RunningPhase) -> None:
        begun = _now()
        try:
            await running.follower.catch_up()
            while running.is_behind:
                async with running.scoring:  # uploads come between two offline runs
                    await running.catch_up_further()
        except UnavailableError:
            return
        except Exception:  # one phase's fault must not keep the others behind
            log.exception("phase %s is shown without some answers", running.name)
            self._retry_at[running] = _now() + RETRY_SECONDS
        else:
            self._retry_at.pop(running, None)
            log.info("phase %s caught up in %.1f s", running.name, _now() - begun)

    # -- checkpoints -----------------------------------------------------------------------------

    async def _write_always(self) -> None:
        while True:
            for running in list(self._phases()):
                try:
                    with suppress(UnavailableError):  # the store is blocked: they are made later
                        await self._write_due(running)
                except Exception:
                    log.exception("checkpoints of phase %s cannot be stored", running.name)
            await asyncio.sleep(LOOK_SECONDS)

    async def _write_due(self, running: RunningPhase) -> None:
        due = running.follower.due(LATE_SECONDS)
        for start in range(0, len(due), FEW):
            begun = _now()
            await run_uncancelled(self._write(running, due[start : start + FEW]))
            await asyncio.sleep(REST * (_now() - begun))

    async def _write(self, running: RunningPhase, servers: Sequence[ServerName]) -> None:
        """Store the checkpoints of lanes in one transaction."""
        made = [
            running.follower.make(name) for name in servers if not running.follower.is_behind(name)
        ]
        stored = await asyncio.to_thread(_encoded, made)
        async with self._store.writing() as connection:
            await checkpoints.put(connection, stored, self._clock())
        for one in made:
            running.follower.keep(one)


def _encoded(made: Sequence[MadeCheckpoint]) -> Sequence[StoredCheckpoint]:
    return [StoredCheckpoint(one.key, one.end, encode(one.content)) for one in made]


def _now() -> float:
    return asyncio.get_running_loop().time()
