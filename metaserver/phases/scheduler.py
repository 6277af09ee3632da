"""All phases in memory, and the clock that opens, freezes and closes them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import LaneKey, TakenLane
from metaserver.base.phases import Phase, labels_of
from metaserver.base.records import Attempt, PhaseName
from metaserver.base.states import OPEN_STATES, PhaseState, ProcessRole
from metaserver.config import Settings
from metaserver.exchange.http.client import HttpClient
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.lanes.lane import Lane
from metaserver.phases.holder import LaneHolder, LaneSource
from metaserver.phases.lane_control import LaneController
from metaserver.phases.locked import LockedServers
from metaserver.phases.membership import HubMember
from metaserver.phases.restore import vocabulary_of
from metaserver.phases.runtime import PhaseContext, RunningPhase
from metaserver.store import audit, leases
from metaserver.store import phases as stored_phases
from metaserver.store.logs import LoggedAttempt
from metaserver.store.store import Store
from metaserver.uniprot import Release

CLOCK_SECONDS = 1.0  # between two checks: the clock may be set, so nothing sleeps until a date

log = logging.getLogger(__name__)


class Scheduler:
    """Schedules all phases: it advances them by the clock and runs their lanes.

    `listeners` are called with every ended attempt, in whichever process, and the hits kept from
    its answer; `clock` returns Unix seconds. A server that is down is left after `patience`
    seconds; None: it is probed until its phase is over. `releases` are UniProt releases already
    open, by name; others are opened in the settings' folder.
    """

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        settings: Settings,
        member: HubMember,
        *,
        clock: Callable[[], float] = time.time,
        patience: float | None = None,
        releases: Mapping[str, Release] = MappingProxyType({}),
    ) -> None:
        self.phases: dict[PhaseName, RunningPhase] = {}
        self.last_id = 0  # the highest id of a phase: those of deleted ones are not used again
        self.listeners: list[Callable[[Attempt, int], None]] = []
        source = LaneSource(may_take=self._may_take, make=self._make, ended=self._ended)
        self.lanes = LaneController(store, self.phases, LaneHolder(store, source, member))
        self.locked = LockedServers(store, client.keyring)
        self.locked.changed = self.lanes.holder.wake
        self._member = member
        self._is_leader = False
        self._store = store
        self._settings = settings
        self._clock = clock
        self._releases = releases
        self._context = PhaseContext(
            store=store,
            client=client,
            publish=self._published,
            on_attempt=None if member.is_alone else self._heard,
            clock=clock,
            patience=patience,
        )

    async def run(self) -> None:
        """Advance the phases and run their lanes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._member.role is not ProcessRole.WEB:
                group.create_task(self.lanes.holder.run(), name="lanes")
            group.create_task(self.locked.run(), name="key")
            group.create_task(self._drive(), name="clock")

    def labels(self) -> Mapping[str, str]:
        """Return how people know the hub's phases, by name, as `labels_of` does."""
        return labels_of([running.phase for running in self.phases.values()])

    async def load(self) -> None:
        """Load every phase; `run` begins those that are open."""
        await self.locked.look()
        async with self._store.reading() as connection:
            phases = await stored_phases.list_all(connection)
        for phase in phases:
            await self.open(phase)

    async def open(self, phase: Phase) -> RunningPhase:
        """Load a phase, again if it has changed; its lanes must not be running."""
        settings = self._settings.of_phase(phase.plan)
        vocabulary = vocabulary_of(settings, phase.release, self._releases)
        running = await RunningPhase.open(phase, settings, vocabulary, self._context)
        self.phases[phase.name] = running
        self.last_id = max(self.last_id, phase.id)
        return running

    def forget(self, running: RunningPhase) -> None:
        """Forget a deleted phase; none of its lanes is at work."""
        del self.phases[running.name]

    async def take_over(self, phase: Phase) -> RunningPhase:
        """Load a new phase, or apply its changed plan.

        A phase with runs keeps its corpus, release and tasks, so its lanes continue.
        """
        running = await self._taken_over(phase)
        await self.advance(running)
        return running

    async def _taken_over(self, phase: Phase) -> RunningPhase:
        while (running := self.phases.get(phase.name)) is not None:
            if running.servers or running.offline:
                running.replan(phase, self._settings)  # at once: scoring must not keep a phase open
                return running
            async with (
                running.scoring
            ):  # a gold change comes before, or is applied to the new object
                current = self.phases.get(phase.name) is running  # else another change came first
                if current and not (running.servers or running.offline):
                    return await self.open(phase)
        return await self.open(phase)

    def _published(self, running: RunningPhase, event: AttemptEnded | LaneChanged) -> None:
        running.published(event)
        if isinstance(event, AttemptEnded):
            self._tell(event.attempt, event.answer.hits_kept if event.answer else 0)

    def _heard(self, entry: LoggedAttempt) -> None:
        self._tell(entry.attempt, entry.hits_kept)

    def _tell(self, attempt: Attempt, hits: int) -> None:
        for listener in self.listeners:
            listener(attempt, hits)

    async def _drive(self) -> None:
        while True:
            await self.advance_all()
            self._show_locked()
            await asyncio.sleep(CLOCK_SECONDS)

    def _show_locked(self) -> None:
        """Show the servers that are locked for this process, and not at work in another."""
        for running in self.phases.values():
            keys = [LaneKey(running.phase.id, server_id) for server_id in self.locked.ids]
            running.show_locked(
                {
                    name
                    for key in keys
                    if (name := running.name_of(key)) is not None
                    and self.locked.locks(running.server_of(key))
                    and not self.lanes.is_at_work(key)
                }
            )

    async def advance_all(self) -> None:
        """Bring every phase into its due state; a phase's fault is logged."""
        for running in [running for running in self.phases.values() if self._is_due(running)]:
            try:
                with suppress(UnavailableError):  # the store is blocked: it is advanced later
                    await run_uncancelled(self.advance(running))
            except Exception:  # one phase's fault must not stop the others
                log.exception("phase %s cannot be advanced", running.name)

    def _is_due(self, running: RunningPhase) -> bool:
        """Return whether `advance` has something to do."""
        return running.phase.state(self._clock()) is not running.state

    async def advance(self, running: RunningPhase) -> None:
        """Bring a phase into the state in which it should be now."""
        if not self._is_due(running):
            return
        state = running.phase.state(self._clock())
        async with self.lanes.lock:
            if state is not running.state:
                await self._reach(running, state)
            await self.lanes.carry_out_orders()

    async def _reach(self, running: RunningPhase, state: PhaseState) -> None:
        """Bring a phase into a state, and its lanes with it, after it has been stored."""
        is_open = state in OPEN_STATES
        if not is_open:
            self.lanes.pause_all(running)
        await self._member.enter()
        begins = running.state is None and not self._leads()  # whoever leads has done it
        if not begins and (is_open or await self._is_kept_otherwise(running, state)):
            async with self._store.writing() as connection:
                stored = await stored_phases.by_id(connection, running.phase.id)
                if stored is not None and stored.state(self._clock()) is not state:
                    return  # another process has changed it since
                await self._keep(connection, running, state)
                await self.lanes.make_due(connection, running, is_open=is_open)
        running.phase = replace(running.phase, reached=state)
        running.state = state

    async def _is_kept_otherwise(self, running: RunningPhase, state: PhaseState) -> bool:
        """Return whether the store has a state in which something is sent."""
        async with self._store.reading() as connection:
            busy = await leases.is_busy(connection, running.phase.id)
        return busy or state is not (running.phase.reached or PhaseState.SETUP)

    async def _keep(
        self, connection: AsyncConnection, running: RunningPhase, state: PhaseState
    ) -> None:
        """Store a state that the clock has caused; setting the clock back undoes no state."""
        before = running.phase.reached or PhaseState.SETUP
        if state is before:
            return
        await stored_phases.change(connection, running.phase.id, standing=state)
        await audit.add(
            connection,
            actor="clock",
            action="phase.state",
            subject=running.name,
            detail={"before": before, "after": state},
        )

    def _leads(self) -> bool:
        """Return whether this process brings phases that it has just loaded into their states."""
        return self._member.is_alone or self._is_leader

    def lead(self) -> None:
        """Bring all phases into their states again, as a new leader."""
        self._is_leader = True
        if not self._member.is_alone:
            for running in self.phases.values():
                running.state = None

    def follow(self) -> None:
        """Leave that to another process."""
        self._is_leader = False

    async def replan(self, running: RunningPhase, phase: Phase) -> None:
        """Show a plan and a state that another process has stored."""
        if _basis(running.phase) != _basis(phase):
            await self.open(phase)
        else:
            running.replan(phase, self._settings)

    # -- lanes -----------------------------------------------------------------------------------

    def _may_take(self, key: LaneKey) -> bool:
        """Return whether a lane's phase is in memory, and open, and its credentials too."""
        running = self._phase_of(key)
        if running is None or running.state not in OPEN_STATES:
            return False
        if self.locked.locks(running.server_of(key)):
            return False
        return running.phase.state(self._clock()) in OPEN_STATES

    def _ended(self, key: LaneKey, failure: Exception | None) -> None:
        running = self._phase_of(key)
        if running is None:
            return
        registered = running.server_of(key)
        name = registered.server.name
        if not self.lanes.at_work(registered):
            running.rest(name)
        if failure is not None:
            log.error("phase %s sends %s nothing until it is started", running.name, name)

    def _phase_of(self, key: LaneKey) -> RunningPhase | None:
        phases = self.phases.values()
        return next((running for running in phases if running.phase.id == key.phase_id), None)

    async def _make(self, taken_lanes: Sequence[TakenLane]) -> Sequence[Lane]:
        """Return the lanes that were taken, ready to work."""
        return [
            running.lane(taken_lane)
            for taken_lane in taken_lanes
            if (running := self._phase_of(taken_lane.state.key)) is not None
        ]


def _basis(phase: Phase) -> tuple[object, ...]:
    """Return what a phase is loaded with: it changes only before the phase has runs."""
    return phase.corpus_id, phase.release, phase.plan.tasks
