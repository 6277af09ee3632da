"""The control of lanes: what teams and organisers want of them, kept and then done.

What is wanted of a lane is kept in the store before it is done, with the audit log's entry of it,
so that a hub that is killed goes on with it; a lane that cannot be taken at once is taken later.
Calls for one lane are never made twice: a lane is taken only when it is not at work.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.lanes.engine import Engine
from metaserver.lanes.events import LaneEnd
from metaserver.model.errors import Refusal, RefusedError, UnavailableError
from metaserver.model.lanes import LaneKey
from metaserver.model.records import PhaseName, ServerName
from metaserver.model.servers import LaneControl, RegisteredServer
from metaserver.model.states import OPEN_STATES, Control
from metaserver.phases.runtime import RunningPhase
from metaserver.store import servers as kept_servers
from metaserver.store.store import Store

log = logging.getLogger(__name__)


class Noting(Protocol):
    """Writes into the audit log, in the transaction of what it tells of; `said` is its detail."""

    def __call__(self, connection: AsyncConnection, /, **said: object) -> Awaitable[None]:
        """Write the entry."""
        ...


class LaneController:
    """The lanes of all phases; `phases` is the dispatcher's own table, which changes.

    `lock` is held for one change of phases or lanes at a time.
    """

    def __init__(self, store: Store, phases: Mapping[PhaseName, RunningPhase]) -> None:
        self.engine = Engine(on_end=self._ended)
        self.lock = asyncio.Lock()
        self._store = store
        self._phases = phases
        self._late: defaultdict[PhaseName, set[ServerName]] = defaultdict(set)  # lanes to be taken

    async def start(
        self, running: RunningPhase, registered: RegisteredServer, note: Noting
    ) -> None:
        """Let a server work through its queue.

        `RefusedError` where the phase is not open, or an organiser has suspended the lane.
        """
        async with self.lock:
            await self._need_open(running, registered)
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._go_on(running, registered)

    async def start_next(
        self, running: RunningPhase, registered: RegisteredServer, note: Noting
    ) -> None:
        """Send a server the next article of its queue, and no more.

        `RefusedError` also where it is at work already.
        """
        async with self.lock:
            control = await self._need_open(running, registered)
            if self.engine.at_work(running.key(registered)):
                raise RefusedError(Refusal.STATE, "it is at work: pause it first")
            await self._set(running, registered, control.control, note=note)
            await self._start(running, registered.server.name, allowance=1)

    async def pause(
        self, running: RunningPhase, registered: RegisteredServer, note: Noting
    ) -> None:
        """Send no more articles to a server; what is in flight is finished and counted."""
        async with self.lock:
            control = await self._control(running, registered)
            if control.control is Control.SUSPENDED:
                await self._set(running, registered, control.control, control.note, note=note)
            else:
                await self._set(running, registered, Control.PAUSED, note=note)
            self._rest(running, registered)

    async def suspend(
        self, running: RunningPhase, registered: RegisteredServer, reason: str, note: Noting
    ) -> None:
        """Send no more articles to a server, and do not let its team start it."""
        async with self.lock:
            await self._set(running, registered, Control.SUSPENDED, reason, note=note)
            self._rest(running, registered)

    async def resume(
        self, running: RunningPhase, registered: RegisteredServer, note: Noting
    ) -> None:
        """Lift a suspension; the lane goes on at once where the phase is open."""
        async with self.lock:
            control = await self._control(running, registered)
            if control.control is not Control.SUSPENDED:
                raise RefusedError(Refusal.STATE, "it is not suspended")
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._go_on(running, registered)

    async def cancel(
        self, running: RunningPhase, registered: RegisteredServer, by: str, note: Noting
    ) -> None:
        """Drop a server's requests in flight (outcome `cancelled`, not charged) and pause it."""
        await self.pause(running, registered, note)
        await self.engine.stop(running.key(registered), cancel=by)

    async def requeue(
        self,
        running: RunningPhase,
        registered: RegisteredServer,
        positions: Sequence[int] | None,
        by: str,
        note: Noting,
    ) -> int:
        """Put given-up articles (all, or some) into the queue again; return how many.

        What is in flight to the server is cancelled, and sent again afterwards.
        """
        key = running.key(registered)
        self._store.require_writable()  # else the lane does not come to rest
        async with self.lock:
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

    async def changed(self, registered: RegisteredServer) -> None:
        """Take over what was changed of a server that is not at work."""
        async with self.lock:
            for running in self._phases.values():
                if registered.server.name in running.servers:
                    await running.add(registered, await self._control(running, registered))

    async def leave(self, registered: RegisteredServer, note: Noting) -> None:
        """Pause a server in every phase."""
        for running in self._phases.values():
            if registered.server.name in running.servers:
                noted = functools.partial(note, phase=running.name)
                await self.pause(running, registered, noted)

    def at_work(self, registered: RegisteredServer) -> bool:
        """Whether a lane of the server is at work in any phase."""
        return any(
            self.engine.at_work(running.key(registered)) for running in self._phases.values()
        )

    # -- what the clock asks; it holds the lock --------------------------------------------------

    def late(self, running: RunningPhase) -> bool:
        """Whether lanes of a phase are still to be taken."""
        return bool(self._late[running.name])

    def pause_all(self, running: RunningPhase) -> None:
        """Send no more articles in a phase; what is wanted of its lanes stays."""
        self._late[running.name].clear()
        for registered in running.servers.values():
            self.engine.pause(running.key(registered))

    async def schedule_running(self, running: RunningPhase) -> None:
        """Let every lane of a phase that is wanted to run do so, when `start_pending` is called."""
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        self._late[running.name] = {
            name
            for name, registered in running.servers.items()
            if registered.retired_at is None
            and registered.id in controls
            and controls[registered.id].control is Control.RUNNING
        }

    async def start_pending(self, running: RunningPhase) -> None:
        """Start the lanes that are to be taken; while nothing can be stored they wait."""
        late = self._late[running.name]
        for name in sorted(late):
            with suppress(UnavailableError):
                await self._start(running, name)
                late.discard(name)

    # -- how -------------------------------------------------------------------------------------

    async def _go_on(self, running: RunningPhase, registered: RegisteredServer) -> None:
        """Let a lane that is wanted to run do so, as soon as it can if its phase is open."""
        if running.state in OPEN_STATES:
            self._late[running.name].add(registered.server.name)
            await self.start_pending(running)

    def _rest(self, running: RunningPhase, registered: RegisteredServer) -> None:
        self._late[running.name].discard(registered.server.name)
        self.engine.pause(running.key(registered))

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

    async def _need_open(self, running: RunningPhase, registered: RegisteredServer) -> LaneControl:
        if running.state not in OPEN_STATES:
            raise RefusedError(
                Refusal.STATE, f"phase {running.name} is {running.state}: no article is sent in it"
            )
        control = await self._control(running, registered)
        if control.control is Control.SUSPENDED:
            raise RefusedError(Refusal.STATE, f"suspended by the organisers: {control.note}")
        return control

    async def _control(self, running: RunningPhase, registered: RegisteredServer) -> LaneControl:
        async with self._store.reading() as connection:
            controls = await kept_servers.controls(connection, running.phase.id)
        return controls.get(registered.id, LaneControl(control=Control.PAUSED, note=""))

    async def _set(
        self,
        running: RunningPhase,
        registered: RegisteredServer,
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
            await running.add(registered, LaneControl(control=control, note=reason))
        else:
            running.boards.watch.control(registered.server.name, control, reason)
            running.boards.touch()

    def _ended(self, key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        if failure is None:
            return
        for running in self._phases.values():
            for name, registered in running.servers.items():
                if running.key(registered) == key:
                    log.error("phase %s sends %s nothing until it is started", running.name, name)
