"""All phases at work: the clock opens and freezes them, teams and organisers control their lanes.

What is wanted of a lane is kept in the store before it is done, so that a hub that is killed goes
on with it. Calls for one lane are never made twice: a lane is taken only when it is not at work.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from metaserver.client.http import HttpClient
from metaserver.config import Settings
from metaserver.dispatch.phase import RunningPhase
from metaserver.dispatch.steps import whole
from metaserver.engine import Engine
from metaserver.errors import Refusal, RefusedError
from metaserver.lanes.lane import AttemptEnded, LaneChanged, LaneEnd
from metaserver.lifecycle import OPEN_STATES, Control, PhaseState
from metaserver.records import PhaseName, ServerName
from metaserver.store import audit
from metaserver.store import phases as kept
from metaserver.store import servers as kept_servers
from metaserver.store.servers import LaneControl, Registered
from metaserver.store.store import Store
from metaserver.store.writer import LaneKey

CLOCK_SECONDS = 1.0  # between two looks at the clock: it may be set, so nobody sleeps until a date

log = logging.getLogger(__name__)


class Dispatcher:
    """Works the open phases' lanes until it is cancelled.

    `listeners` are told of everything that lanes publish; `clock` gives Unix seconds.
    """

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.phases: dict[PhaseName, RunningPhase] = {}
        self.listeners: list[Callable[[RunningPhase, AttemptEnded | LaneChanged], None]] = []
        self.frozen: list[Callable[[RunningPhase], None]] = []
        self.engine = Engine(on_end=self._ended)
        self._store = store
        self._client = client
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()  # one change of phases or lanes at a time

    async def run(self) -> None:
        """Drive the phases for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.engine.run(), name="engine")
            group.create_task(self._drive(), name="clock")

    async def load(self) -> None:
        """Bring every phase into memory; those that are open begin when `run` does."""
        async with self._store.reading() as connection:
            phases = await kept.every(connection)
        for phase in phases:
            await self.open(phase)

    async def open(self, phase: kept.Phase) -> RunningPhase:
        """Bring a phase into memory, anew if it has changed; its lanes must not be at work."""
        running = await RunningPhase.open(
            phase,
            self._settings,
            store=self._store,
            client=self._client,
            publish=self._published,
            clock=self._clock,
        )
        self.phases[phase.name] = running
        return running

    async def take_over(self, phase: kept.Phase) -> RunningPhase:
        """Take over a phase that is new or whose plan has changed.

        One that has runs keeps its corpus, release and tasks, so its lanes go on.
        """
        known = self.phases.get(phase.name)
        if known is None or not (known.servers or known.offline):
            running = await self.open(phase)
        else:
            running = known
            running.replan(phase, self._settings)
        await self.advance(running)
        return running

    def _published(self, running: RunningPhase, event: AttemptEnded | LaneChanged) -> None:
        running.published(event)
        for listener in self.listeners:
            listener(running, event)

    def _ended(self, key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        if failure is not None:
            log.error("lane %s of phase %s stopped by a fault of the hub", *key, exc_info=failure)

    # -- the clock -------------------------------------------------------------------------------

    async def _drive(self) -> None:
        while True:
            for running in list(self.phases.values()):
                try:
                    await whole(self.advance(running))
                except Exception:  # one phase's fault must not stop the others
                    log.exception("phase %s cannot be driven", running.name)
            await asyncio.sleep(CLOCK_SECONDS)

    async def advance(self, running: RunningPhase) -> None:
        """Bring a phase into the state in which it should be now."""
        state = running.phase.state(self._clock())
        if state is running.state:
            return
        async with self._lock:
            before, running.state = running.state, state
            if state in OPEN_STATES:
                await self._begin(running)
            else:
                for registered in running.servers.values():
                    self.engine.pause(running.key(registered))
        if before is not None:
            await self._note(running, before, state)
        if state is PhaseState.FROZEN:
            for listener in self.frozen:
                listener(running)

    async def _begin(self, running: RunningPhase) -> None:
        """Start the lanes that are wanted to run."""
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        for name, registered in running.servers.items():
            control = controls.get(registered.id)
            wanted = control is not None and control.control is Control.RUNNING
            if wanted and registered.retired_at is None:
                await self._start(running, name)

    async def _note(self, running: RunningPhase, before: PhaseState, after: PhaseState) -> None:
        async with self._store.writing() as connection:
            await audit.note(
                connection,
                actor="clock" if running.phase.by_hand is not after else "hub",
                action="phase.state",
                subject=running.name,
                detail={"before": before, "after": after},
            )

    # -- lanes -----------------------------------------------------------------------------------

    async def start(
        self, running: RunningPhase, registered: Registered, *, allowance: int | None = None
    ) -> None:
        """Let a server work through its queue, or only through its next `allowance` requests.

        `RefusedError` where the phase is not open, an organiser has suspended the lane, or (for an
        allowance) it is at work already.
        """
        async with self._lock:
            await self._need_open(running, registered)
            if allowance is None:
                await self._set(running, registered, Control.RUNNING)
            elif self.engine.at_work(running.key(registered)):
                raise RefusedError(Refusal.STATE, "it is at work: pause it first")
            elif registered.server.name not in running.servers:
                await self._set(running, registered, Control.PAUSED)
            await self._start(running, registered.server.name, allowance)

    async def pause(self, running: RunningPhase, registered: Registered) -> None:
        """Send no more articles to a server; what is in flight is finished and counted."""
        async with self._lock:
            control = await self._control(running, registered)
            if control.control is not Control.SUSPENDED:
                await self._set(running, registered, Control.PAUSED)
            self.engine.pause(running.key(registered))

    async def suspend(self, running: RunningPhase, registered: Registered, reason: str) -> None:
        """Send no more articles to a server, and do not let its team start it."""
        async with self._lock:
            await self._set(running, registered, Control.SUSPENDED, reason)
            self.engine.pause(running.key(registered))

    async def resume(self, running: RunningPhase, registered: Registered) -> None:
        """Lift a suspension; the lane goes on at once where the phase is open."""
        async with self._lock:
            control = await self._control(running, registered)
            if control.control is not Control.SUSPENDED:
                raise RefusedError(Refusal.STATE, "it is not suspended")
            await self._set(running, registered, Control.RUNNING)
            if running.state in OPEN_STATES:
                await self._start(running, registered.server.name)

    async def cancel(self, running: RunningPhase, registered: Registered, by: str) -> None:
        """Drop a server's requests in flight (outcome `cancelled`, not charged) and pause it."""
        await self.pause(running, registered)
        await self.engine.stop(running.key(registered), cancel=by)

    async def requeue(
        self,
        running: RunningPhase,
        registered: Registered,
        positions: Sequence[int] | None,
        by: str,
    ) -> int:
        """Put given-up articles (all, or some) into the queue again; return how many.

        What is in flight to the server is cancelled, and sent again afterwards.
        """
        key = running.key(registered)
        async with self._lock:
            await self.engine.stop(key, cancel=by)
            async with self._store.writing() as connection:
                count = await kept_servers.requeue(connection, key, positions)
            control = await self._control(running, registered)
            await running.add(registered, control)
            if running.state in OPEN_STATES and control.control is Control.RUNNING:
                await self._start(running, registered.server.name)
        return count

    async def changed(self, registered: Registered) -> None:
        """Take over what was changed of a server that is not at work."""
        async with self._lock:
            for running in self.phases.values():
                if registered.server.name in running.servers:
                    await running.add(registered, await self._control(running, registered))

    async def leave(self, registered: Registered) -> None:
        """Pause a server in every phase."""
        for running in self.phases.values():
            if registered.server.name in running.servers:
                await self.pause(running, registered)

    def at_work(self, registered: Registered) -> bool:
        """Whether a lane of the server is at work in any phase."""
        return any(self.engine.at_work(running.key(registered)) for running in self.phases.values())

    async def _start(
        self, running: RunningPhase, name: ServerName, allowance: int | None = None
    ) -> None:
        key = running.key(running.servers[name])
        if self.engine.at_work(key):
            if not self.engine.pausing(key):
                return
            self.engine.resume(key)  # it was finishing what is in flight
            return
        self.engine.start(await running.lane(name), allowance=allowance)

    async def _need_open(self, running: RunningPhase, registered: Registered) -> None:
        if running.state not in OPEN_STATES:
            raise RefusedError(
                Refusal.STATE, f"phase {running.name} is {running.state}: no article is sent in it"
            )
        control = await self._control(running, registered)
        if control.control is Control.SUSPENDED:
            raise RefusedError(Refusal.STATE, f"suspended by the organisers: {control.note}")

    async def _control(self, running: RunningPhase, registered: Registered) -> LaneControl:
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        none = LaneControl(key=running.key(registered), control=Control.PAUSED, note="")
        return controls.get(registered.id, none)

    async def _set(
        self, running: RunningPhase, registered: Registered, control: Control, note: str = ""
    ) -> None:
        """Keep what is wanted of a lane, and show it."""
        key = running.key(registered)
        async with self._store.writing() as connection:
            await kept_servers.set_control(connection, key, control, note)
        if running.servers.get(registered.server.name) != registered:
            await running.add(registered, LaneControl(key=key, control=control, note=note))
        else:
            running.boards.watch.control(registered.server.name, control, note)
