"""Archives the boards of finished phases: each board is stored once, with its own link.

The store's state decides, not events: a hub that was killed after a phase was frozen and before its
boards were stored stores them when restarted. If the newest board was made from other answers, runs
or another rule than there are now, as after a phase was opened again, a board is stored that
supersedes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from metaserver.base.errors import UnavailableError
from metaserver.base.records import TaskName
from metaserver.base.states import OVER
from metaserver.phases.live import LiveBoards
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.store import boards, runs
from metaserver.store.boards import FROZEN
from metaserver.store.store import Store
from metaserver.tasks.plugin import TaskPlugin

LOOK_SECONDS = 0.5

log = logging.getLogger(__name__)


class _Looked(NamedTuple):
    """The boards that the archiver has looked at: nothing is new while it would see the same."""

    boards: LiveBoards
    version: int
    gold_version: int


class BoardArchiver:
    """Archives finished phases' boards; `clock` returns Unix seconds."""

    def __init__(self, store: Store, scheduler: Scheduler, clock: Callable[[], float]) -> None:
        self._store = store
        self._scheduler = scheduler
        self._clock = clock
        self._kept: dict[tuple[int, TaskName], _Looked] = {}  # by phase

    async def run(self) -> None:
        """Store boards as they become final, until cancelled."""
        while True:
            phase_ids = {running.phase.id for running in self._scheduler.phases.values()}
            self._kept = {key: looked for key, looked in self._kept.items() if key[0] in phase_ids}
            for running in list(self._scheduler.phases.values()):
                try:
                    with suppress(UnavailableError):  # the store is blocked: they are stored later
                        await self.look(running)
                except Exception:  # one phase's fault must not stop the others
                    log.exception("the boards of phase %s cannot be stored", running.name)
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, running: RunningPhase) -> None:
        """Store a phase's boards if it is over and no request is in flight."""
        if running.state not in OVER:
            return
        for task in running.boards.tasks():
            key, version = (running.phase.id, task.name), running.gold[task.name].version
            looked = _Looked(running.boards, running.boards.version, version)
            if self._kept.get(key) == looked or not self._is_final(running):
                continue
            if await self._keep(running, task, version):
                self._kept[key] = looked

    def _is_final(self, running: RunningPhase) -> bool:
        lanes = self._scheduler.lanes
        return (
            self._scheduler.phases.get(running.name) is running
            and running.state in OVER
            and not running.is_behind
            and not any(
                lanes.is_at_work(running.key(server)) for server in running.servers.values()
            )
        )

    async def _keep(self, running: RunningPhase, task: TaskPlugin, version: int) -> bool:
        """Store a task's board on a version of its gold; return False if the gold has changed."""
        phase_id = running.phase.id
        if await self._missing(running, task, version) is None:
            return True
        async with running.scoring:  # waits for a gold change
            if running.gold[task.name].version != version or not self._is_final(running):
                return False
            if (basis := await self._missing(running, task, version)) is None:
                return True
            now = self._clock()
            frozen = await running.boards.freeze(task, phase=running.name, reason=FROZEN, at=now)
        async with self._store.reading() as connection:
            described = await runs.methods_by_run(connection, phase_id)
        shown = {row.run for view in frozen.views.values() for row in view.rows}
        of_runs = {run: method for run, method in described.items() if run in shown}
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
                basis=basis,
            )
        return True

    async def _missing(self, running: RunningPhase, task: TaskPlugin, version: int) -> str | None:
        """Return the basis of the board to be stored; None if the newest board has it."""
        phase = running.phase
        async with self._store.reading() as connection:
            basis = await boards.basis_of(connection, phase.id, task.name, phase.plan.ranking)
            board = await boards.newest(connection, phase.id, task.name, version, FROZEN)
        return None if board is not None and board.basis == basis else basis
