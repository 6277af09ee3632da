"""The archiver of boards of phases that are over: each board is stored once, with its own link.

The store's state decides, not events: a hub that was killed after a phase was frozen and before
its boards were stored stores them when it is started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec

from metaserver.model.errors import UnavailableError
from metaserver.model.states import PhaseState
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.store import boards, methods
from metaserver.store.store import Store
from metaserver.tasks.plugin import TaskPlugin

LOOK_SECONDS = 0.5
FROZEN = "frozen"
"""The reason of a board that is stored because its phase is over."""
OVER = frozenset({PhaseState.FROZEN, PhaseState.CLOSED})

log = logging.getLogger(__name__)


class BoardArchiver:
    """The archiver of boards of phases that are over; `clock` returns Unix seconds."""

    def __init__(self, store: Store, scheduler: Scheduler, clock: Callable[[], float]) -> None:
        self._store = store
        self._scheduler = scheduler
        self._clock = clock
        self._kept: set[tuple[int, str, int]] = set()  # phase, task, gold version

    async def run(self) -> None:
        """Store boards as they become final, until cancelled."""
        while True:
            for running in list(self._scheduler.phases.values()):
                try:
                    with suppress(UnavailableError):  # the store is blocked: they are stored later
                        await self.look(running)
                except Exception:  # one phase's fault must not stop the others
                    log.exception("the boards of phase %s cannot be stored", running.name)
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, running: RunningPhase) -> None:
        """Store the boards of a phase if it is over and no request is in flight."""
        if running.state not in OVER:
            return
        for task in running.boards.tasks():
            key = (running.phase.id, task.name, running.gold[task.name].version)
            if key in self._kept or not self._is_final(running):
                continue
            if await self._keep(running, task, key[2]):
                self._kept.add(key)

    def _is_final(self, running: RunningPhase) -> bool:
        engine = self._scheduler.lanes.engine
        return (
            self._scheduler.phases.get(running.name) is running
            and running.state in OVER
            and not running.is_behind
            and not any(engine.at_work(running.key(server)) for server in running.servers.values())
        )

    async def _keep(self, running: RunningPhase, task: TaskPlugin, version: int) -> bool:
        """Store a task's board on a version of its gold; return False if the gold has changed."""
        phase_id = running.phase.id
        async with self._store.reading() as connection:
            if await boards.exists(connection, phase_id, task.name, version, FROZEN):
                return True
        async with running.scoring:  # waits for a gold change
            if running.gold[task.name].version != version or not self._is_final(running):
                return False
            now = self._clock()
            frozen = await running.boards.freeze(task, phase=running.name, reason=FROZEN, at=now)
        async with self._store.reading() as connection:
            described = await methods.list_all(connection, phase_id)
        runs = {row.run for view in frozen.views.values() for row in view.rows}
        of_runs = {run: one for run, one in described.items() if run in runs}
        frozen = msgspec.structs.replace(frozen, methods=of_runs)
        document = await asyncio.to_thread(frozen.encode)
        async with self._store.writing() as connection:
            await boards.add(
                connection,
                phase_id,
                task.name,
                version,
                FROZEN,
                at=now,
                document=document,
            )
        return True
