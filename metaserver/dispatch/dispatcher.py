"""All phases at work: the clock opens and freezes them, teams and organisers control their lanes.

What is wanted of a lane is kept in the store before it is done, with the audit log's entry of it,
so that a hub that is killed goes on with it; a lane that cannot be taken at once is taken later.
Calls for one lane are never made twice: a lane is taken only when it is not at work.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.client.http import HttpClient
from metaserver.config import Settings
from metaserver.dispatch.phase import RunningPhase
from metaserver.dispatch.steps import whole
from metaserver.engine import Engine
from metaserver.errors import Refusal, RefusedError, UnavailableError
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


class Noting(Protocol):
    """Writes into the audit log, in the transaction of what it tells of; `said` is its detail."""

    def __call__(self, connection: AsyncConnection, /, **said: object) -> Awaitable[None]:
        """Write the entry."""
        ...


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
        self.engine = Engine(on_end=self._ended)
        self._store = store
        self._client = client
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()  # one change of phases or lanes at a time
        self._late: defaultdict[PhaseName, set[ServerName]] = defaultdict(set)  # lanes to be taken

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
        if known is None:
            running = await self.open(phase)
        else:
            async with (
                known.scoring
            ):  # whoever changes its scores does it before, or on the new one
                if known.servers or known.offline:
                    running = known
                    running.replan(phase, self._settings)
                else:
                    running = await self.open(phase)
        await self.advance(running)
        return running

    def _published(self, running: RunningPhase, event: AttemptEnded | LaneChanged) -> None:
        running.published(event)
        for listener in self.listeners:
            listener(running, event)

    def _ended(self, key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        if failure is None:
            return
        for running in self.phases.values():
            for name, registered in running.servers.items():
                if running.key(registered) == key:
                    log.error("phase %s sends %s nothing until it is started", running.name, name)

    # -- the clock -------------------------------------------------------------------------------

    async def _drive(self) -> None:
        while True:
            for running in list(self.phases.values()):
                try:
                    with suppress(UnavailableError):  # the store is blocked: it is led on later
                        await whole(self.advance(running))
                except Exception:  # one phase's fault must not stop the others
                    log.exception("phase %s cannot be driven", running.name)
            await asyncio.sleep(CLOCK_SECONDS)

    async def advance(self, running: RunningPhase) -> None:
        """Bring a phase into the state in which it should be now."""
        state = running.phase.state(self._clock())
        if state is running.state and not self._late[running.name]:
            return
        async with self._lock:
            if state is not running.state:
                await self._reach(running, state)
            await self._start_late(running)

    async def _reach(self, running: RunningPhase, state: PhaseState) -> None:
        """Bring a phase into a state; one that cannot be kept yet is not open yet."""
        if state not in OPEN_STATES:
            self._late[running.name].clear()
            for registered in running.servers.values():
                self.engine.pause(running.key(registered))
        await self._keep(running, state)
        if state in OPEN_STATES:
            self._late[running.name] = await self._wanted(running)
        running.state = state

    async def _wanted(self, running: RunningPhase) -> set[ServerName]:
        """Return the servers whose lanes are wanted to run."""
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        return {
            name
            for name, registered in running.servers.items()
            if registered.retired_at is None
            and registered.id in controls
            and controls[registered.id].control is Control.RUNNING
        }

    async def _keep(self, running: RunningPhase, state: PhaseState) -> None:
        """Keep that the clock has led a phase on, if it has: set back, it leads nowhere back."""
        before = running.phase.reached or PhaseState.SETUP
        if state is before:
            return
        async with self._store.writing() as connection:
            await kept.change(connection, running.phase.id, standing=state)
            await audit.note(
                connection,
                actor="clock",
                action="phase.state",
                subject=running.name,
                detail={"before": before, "after": state},
            )
        running.phase = replace(running.phase, reached=state)

    # -- lanes -----------------------------------------------------------------------------------

    async def start(self, running: RunningPhase, registered: Registered, note: Noting) -> None:
        """Let a server work through its queue.

        `RefusedError` where the phase is not open, or an organiser has suspended the lane.
        """
        async with self._lock:
            await self._need_open(running, registered)
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._go_on(running, registered)

    async def start_some(
        self, running: RunningPhase, registered: Registered, allowance: int, note: Noting
    ) -> None:
        """Let a server answer its next `allowance` requests.

        `RefusedError` also where it is at work already.
        """
        async with self._lock:
            control = await self._need_open(running, registered)
            if self.engine.at_work(running.key(registered)):
                raise RefusedError(Refusal.STATE, "it is at work: pause it first")
            await self._set(running, registered, control.control, note=note)
            await self._start(running, registered.server.name, allowance)

    async def pause(self, running: RunningPhase, registered: Registered, note: Noting) -> None:
        """Send no more articles to a server; what is in flight is finished and counted."""
        async with self._lock:
            control = await self._control(running, registered)
            if control.control is Control.SUSPENDED:
                await self._set(running, registered, control.control, control.note, note=note)
            else:
                await self._set(running, registered, Control.PAUSED, note=note)
            self._rest(running, registered)

    async def suspend(
        self, running: RunningPhase, registered: Registered, reason: str, note: Noting
    ) -> None:
        """Send no more articles to a server, and do not let its team start it."""
        async with self._lock:
            await self._set(running, registered, Control.SUSPENDED, reason, note=note)
            self._rest(running, registered)

    async def resume(self, running: RunningPhase, registered: Registered, note: Noting) -> None:
        """Lift a suspension; the lane goes on at once where the phase is open."""
        async with self._lock:
            control = await self._control(running, registered)
            if control.control is not Control.SUSPENDED:
                raise RefusedError(Refusal.STATE, "it is not suspended")
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._go_on(running, registered)

    async def cancel(
        self, running: RunningPhase, registered: Registered, by: str, note: Noting
    ) -> None:
        """Drop a server's requests in flight (outcome `cancelled`, not charged) and pause it."""
        await self.pause(running, registered, note)
        await self.engine.stop(running.key(registered), cancel=by)

    async def requeue(
        self,
        running: RunningPhase,
        registered: Registered,
        positions: Sequence[int] | None,
        by: str,
        note: Noting,
    ) -> int:
        """Put given-up articles (all, or some) into the queue again; return how many.

        What is in flight to the server is cancelled, and sent again afterwards.
        """
        key = running.key(registered)
        self._store.need_writable()  # a lane whose answers cannot be stored does not come to rest
        async with self._lock:
            control = await self._control(running, registered)
            await self.engine.stop(key, cancel=by)
            try:
                async with self._store.writing() as connection:
                    count = await kept_servers.requeue(connection, key, positions)
                    await note(connection, articles=count)
                await running.add(registered, control)
            finally:
                if control.control is Control.RUNNING:
                    await self._go_on(running, registered)
        return count

    async def changed(self, registered: Registered) -> None:
        """Take over what was changed of a server that is not at work."""
        async with self._lock:
            for running in self.phases.values():
                if registered.server.name in running.servers:
                    await running.add(registered, await self._control(running, registered))

    async def leave(self, registered: Registered, note: Noting) -> None:
        """Pause a server in every phase."""
        for running in self.phases.values():
            if registered.server.name in running.servers:
                noted = functools.partial(note, phase=running.name)
                await self.pause(running, registered, noted)

    def at_work(self, registered: Registered) -> bool:
        """Whether a lane of the server is at work in any phase."""
        return any(self.engine.at_work(running.key(registered)) for running in self.phases.values())

    async def _go_on(self, running: RunningPhase, registered: Registered) -> None:
        """Let a lane that is wanted to run do so, as soon as it can if its phase is open."""
        if running.state in OPEN_STATES:
            self._late[running.name].add(registered.server.name)
            await self._start_late(running)

    def _rest(self, running: RunningPhase, registered: Registered) -> None:
        self._late[running.name].discard(registered.server.name)
        self.engine.pause(running.key(registered))

    async def _start_late(self, running: RunningPhase) -> None:
        """Start the lanes that are to be taken; while nothing can be stored they wait."""
        late = self._late[running.name]
        for name in sorted(late):
            with suppress(UnavailableError):
                await self._start(running, name)
                late.discard(name)

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

    async def _need_open(self, running: RunningPhase, registered: Registered) -> LaneControl:
        if running.state not in OPEN_STATES:
            raise RefusedError(
                Refusal.STATE, f"phase {running.name} is {running.state}: no article is sent in it"
            )
        control = await self._control(running, registered)
        if control.control is Control.SUSPENDED:
            raise RefusedError(Refusal.STATE, f"suspended by the organisers: {control.note}")
        return control

    async def _control(self, running: RunningPhase, registered: Registered) -> LaneControl:
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        none = LaneControl(key=running.key(registered), control=Control.PAUSED, note="")
        return controls.get(registered.id, none)

    async def _set(
        self,
        running: RunningPhase,
        registered: Registered,
        control: Control,
        reason: str = "",
        *,
        note: Noting,
    ) -> None:
        """Keep what is wanted of a lane and that it was said, and show it."""
        key = running.key(registered)
        async with self._store.writing() as connection:
            await kept_servers.set_control(connection, key, control, reason)
            await note(connection)
        if running.servers.get(registered.server.name) != registered:
            await running.add(registered, LaneControl(key=key, control=control, note=reason))
        else:
            running.boards.watch.control(registered.server.name, control, reason)
