"""The keeper of the phases' aggregates: brings them up to date at the start, then checkpoints them.

The site is open meanwhile. A checkpoint is written when a lane has many new attempts, or some
for a while, and when the hub stops; the log has all that it says, so that what no time is left for
is read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError
from metaserver.base.records import ServerName
from metaserver.phases.runtime import RunningPhase

LOOK_SECONDS = 1.0
RETRY_SECONDS = 60.0
"""After how long a phase whose aggregates failed is tried again."""
FEW = 16
"""How many checkpoints are made and stored at a time."""
REST = 9.0
"""After checkpoints the keeper rests for this many times as long: a tenth of a core at most."""
STOP_SECONDS = 1.5
"""Time after the stop of a hub in which checkpoints are begun: its lanes end first."""

log = logging.getLogger(__name__)


class AggregateKeeper:
    """Keeps all phases' aggregates; of several keepers, one `writes` checkpoints."""

    def __init__(
        self,
        phases: Callable[[], Collection[RunningPhase]],
        *,
        writes: Callable[[], bool] = lambda: True,
    ) -> None:
        self._phases = phases
        self._writes = writes
        self._retry_at: dict[RunningPhase, float] = {}  # by the loop's clock
        self._stopped_at: float | None = None

    async def run(self) -> None:
        """Catch up and write checkpoints, until cancelled; `close` follows once the lanes rest."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._catch_up_always(), name="catching up")
                group.create_task(self._write_always(), name="checkpoints")
        finally:
            self._stopped_at = _now()

    async def close(self) -> None:
        """Write the checkpoints that are missing, until `STOP_SECONDS` after `run` was stopped."""
        until = (_now() if self._stopped_at is None else self._stopped_at) + STOP_SECONDS
        for running in list(self._phases()) if self._writes() else ():
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
        start = _now()
        try:
            await running.follower.catch_up()
            while running.is_behind:
                if running.scoring.locked():
                    return  # a gold change may take minutes: other phases do not wait for it
                async with running.scoring:  # uploads come between two offline runs
                    await running.catch_up_further()
        except UnavailableError:
            return
        except Exception:  # one phase's fault must not keep the others behind
            log.exception("phase %s is shown without some answers", running.name)
            self._retry_at[running] = _now() + RETRY_SECONDS
        else:
            self._retry_at.pop(running, None)
            log.info("phase %s caught up in %.1f s", running.name, _now() - start)

    # -- checkpoints -----------------------------------------------------------------------------

    async def _write_always(self) -> None:
        while True:
            for running in list(self._phases()) if self._writes() else ():
                try:
                    with suppress(UnavailableError):  # the store is blocked: they are made later
                        await self._write_due(running)
                except Exception:
                    log.exception("checkpoints of phase %s cannot be stored", running.name)
            await asyncio.sleep(LOOK_SECONDS)

    async def _write_due(self, running: RunningPhase) -> None:
        due = running.follower.due()
        for start in range(0, len(due), FEW):
            write_start = _now()
            await run_uncancelled(self._write(running, due[start : start + FEW]))
            await asyncio.sleep(REST * (_now() - write_start))

    async def _write(self, running: RunningPhase, servers: Sequence[ServerName]) -> None:
        follower = running.follower
        await follower.write([name for name in servers if not follower.is_behind(name)])


def _now() -> float:
    return asyncio.get_running_loop().time()
