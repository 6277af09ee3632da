"""All phases in memory, and the clock that opens, freezes and closes them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from metaserver.client.http import HttpClient
from metaserver.concurrency import run_uncancelled
from metaserver.config import Settings
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.model.errors import UnavailableError
from metaserver.model.phases import Phase
from metaserver.model.records import PhaseName
from metaserver.model.states import OPEN_STATES, PhaseState
from metaserver.phases.lane_control import LaneController
from metaserver.phases.restore import vocabulary_of
from metaserver.phases.runtime import RunningPhase
from metaserver.store import audit
from metaserver.store import phases as stored_phases
from metaserver.store.store import Store
from metaserver.uniprot import Release

CLOCK_SECONDS = 1.0  # between two checks: the clock may be set, so nothing sleeps until a date

log = logging.getLogger(__name__)


class Scheduler:
    """The scheduler of all phases: it advances them by the clock and runs their lanes.

    `listeners` are called with every event that lanes publish; `clock` returns Unix seconds.
    A server that is down is left after `patience` seconds; None: it is probed until its phase is
    over. `releases` are UniProt releases that are open already, by name; others are opened in the
    folder of the settings.
    """

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        patience: float | None = None,
        releases: Mapping[str, Release] = MappingProxyType({}),
    ) -> None:
        self.phases: dict[PhaseName, RunningPhase] = {}
        self.last_id = 0  # the highest id of a phase: those of deleted ones are not used again
        self.listeners: list[Callable[[AttemptEnded | LaneChanged], None]] = []
        self.lanes = LaneController(store, self.phases)
        self._store = store
        self._client = client
        self._settings = settings
        self._clock = clock
        self._patience = patience
        self._releases = releases

    async def run(self) -> None:
        """Advance the phases and run their lanes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.lanes.engine.run(), name="engine")
            group.create_task(self._drive(), name="clock")

    async def load(self) -> None:
        """Load every phase; those that are open begin when `run` does."""
        async with self._store.reading() as connection:
            phases = await stored_phases.list_all(connection)
        for phase in phases:
            await self.open(phase)

    async def open(self, phase: Phase) -> RunningPhase:
        """Load a phase, again if it has changed; its lanes must not be running."""
        running = await RunningPhase.open(
            phase,
            self._settings,
            vocabulary=vocabulary_of(self._settings, phase.release, self._releases),
            store=self._store,
            client=self._client,
            publish=self._published,
            clock=self._clock,
            patience=self._patience,
        )
        self.phases[phase.name] = running
        self.last_id = max(self.last_id, phase.id)
        return running

    def forget(self, running: RunningPhase) -> None:
        """Forget a phase that was deleted; none of its lanes is at work."""
        del self.phases[running.name]
        self.lanes.forget(running)

    async def take_over(self, phase: Phase) -> RunningPhase:
        """Load a phase that is new, or apply its changed plan.

        One that has runs keeps its corpus, release and tasks, so its lanes continue.
        """
        running = await self._taken_over(phase)
        await self.advance(running)
        return running

    async def _taken_over(self, phase: Phase) -> RunningPhase:
        while (known := self.phases.get(phase.name)) is not None:
            if known.servers or known.offline:
                known.replan(phase, self._settings)  # at once: scoring must not keep a phase open
                return known
            async with known.scoring:  # a gold change comes before, or is applied to the new object
                current = self.phases.get(phase.name) is known  # else another change came first
                if current and not (known.servers or known.offline):
                    return await self.open(phase)
        return await self.open(phase)

    def _published(self, running: RunningPhase, event: AttemptEnded | LaneChanged) -> None:
        running.published(event)
        for listener in self.listeners:
            listener(event)

    async def _drive(self) -> None:
        while True:
            for running in [one for one in self.phases.values() if self._is_due(one)]:
                try:
                    with suppress(UnavailableError):  # the store is blocked: it is advanced later
                        await run_uncancelled(self.advance(running))
                except Exception:  # one phase's fault must not stop the others
                    log.exception("phase %s cannot be advanced", running.name)
            await asyncio.sleep(CLOCK_SECONDS)

    def _is_due(self, running: RunningPhase) -> bool:
        """Return whether `advance` has something to do."""
        state = running.phase.state(self._clock())
        return state is not running.state or self.lanes.has_pending(running)

    async def advance(self, running: RunningPhase) -> None:
        """Bring a phase into the state in which it should be now."""
        if not self._is_due(running):
            return
        state = running.phase.state(self._clock())
        async with self.lanes.lock:
            if state is not running.state:
                await self._reach(running, state)
            await self.lanes.start_pending(running)

    async def _reach(self, running: RunningPhase, state: PhaseState) -> None:
        """Bring a phase into a state; it opens only after the state has been stored."""
        if state not in OPEN_STATES:
            self.lanes.pause_all(running)
        await self._keep(running, state)
        if state in OPEN_STATES:
            await self.lanes.schedule_running(running)
        running.state = state

    async def _keep(self, running: RunningPhase, state: PhaseState) -> None:
        """Store a state that the clock has caused; setting the clock back undoes no state."""
        before = running.phase.reached or PhaseState.SETUP
        if state is before:
            return
        async with self._store.writing() as connection:
            await stored_phases.change(connection, running.phase.id, standing=state)
            await audit.add(
                connection,
                actor="clock",
                action="phase.state",
                subject=running.name,
                detail={"before": before, "after": state},
            )
        running.phase = replace(running.phase, reached=state)
