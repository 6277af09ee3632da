"""Control of lanes: the desired states set by teams and organisers, stored and then applied.

The desired state of a lane is stored before it is applied, with its entry in the audit log, so
that a hub that is killed goes on with it; a lane that cannot be started at once is started later.
No article is sent twice at a time: a lane is started only when it is not running.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.lanes.engine import Engine
from metaserver.lanes.events import LaneEnd
from metaserver.model.errors import Refusal, RefusedError, UnavailableError
from metaserver.model.lanes import LaneKey
from metaserver.model.records import PhaseName, ServerName
from metaserver.model.servers import LaneControl, RegisteredServer
from metaserver.model.states import OPEN_STATES, Control
from metaserver.phases.runtime import RunningPhase
from metaserver.store import servers as stored_servers
from metaserver.store.store import Store

TAKEN_TOGETHER = 200  # lanes: the store is locked meanwhile

log = logging.getLogger(__name__)


class AuditWriter(Protocol):
    """A writer of one entry of the audit log, in the transaction of the action that it records."""

    def __call__(self, connection: AsyncConnection, /, **detail: object) -> Awaitable[None]:
        """Write the entry with further details."""
        ...


class EndedLane(NamedTuple):
    """A lane that has ended: how, and by which fault of the hub if there was one."""

    end: LaneEnd
    failure: Exception | None


class LaneController:
    """The lanes of all phases; `phases` is the scheduler's own table, which changes.

    `lock` is held for one change of phases or lanes at a time.
    """

    def __init__(self, store: Store, phases: Mapping[PhaseName, RunningPhase]) -> None:
        self.engine = Engine(on_end=self._ended)
        self.lock = asyncio.Lock()
        self._store = store
        self._phases = phases
        self._pending: defaultdict[PhaseName, set[ServerName]] = defaultdict(set)  # lanes to start
        self._ends: dict[LaneKey, EndedLane] = {}
        self._rested = asyncio.Event()  # a lane has ended, or is no longer pending

    async def start(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Start a server's lane, which sends it all articles of its queue.

        `RefusedError` where the phase is not open, or an organiser has suspended the lane.
        """
        async with self.lock:
            await self._require_open(running, registered)
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._start_if_open(running, registered)

    async def start_next(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Send a server the next article of its queue, and no more.

        `RefusedError` also where it is running already.
        """
        async with self.lock:
            control = await self._require_open(running, registered)
            if self.engine.at_work(running.key(registered)):
                raise RefusedError(Refusal.STATE, "it is at work: pause it first")
            await self._set(running, registered, control.control, note=note)
            await self._start(running, [registered.server.name], allowance=1)

    async def pause(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Send no more articles to a server; what is in flight is finished and counted."""
        async with self.lock:
            control = await self._control(running, registered)
            if control.control is Control.SUSPENDED:
                await self._set(running, registered, control.control, control.note, note=note)
            else:
                await self._set(running, registered, Control.PAUSED, note=note)
            self._pause(running, registered)

    async def suspend(
        self, running: RunningPhase, registered: RegisteredServer, reason: str, note: AuditWriter
    ) -> None:
        """Send no more articles to a server, and do not let its team start it."""
        async with self.lock:
            await self._set(running, registered, Control.SUSPENDED, reason, note=note)
            self._pause(running, registered)

    async def resume(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Lift a suspension; the lane continues at once where the phase is open."""
        async with self.lock:
            control = await self._control(running, registered)
            if control.control is not Control.SUSPENDED:
                raise RefusedError(Refusal.STATE, "it is not suspended")
            await self._set(running, registered, Control.RUNNING, note=note)
            await self._start_if_open(running, registered)

    async def cancel(
        self, running: RunningPhase, registered: RegisteredServer, by: str, note: AuditWriter
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
        note: AuditWriter,
    ) -> int:
        """Put given-up articles (all, or some) into the queue again; return their number.

        Requests in flight to the server are cancelled, and sent again afterwards.
        """
        key = running.key(registered)
        self._store.require_writable()  # else the lane does not come to rest
        async with self.lock:
            control = await self._control(running, registered)
            await self.engine.stop(key, cancel=by)
            try:
                try:
                    async with self._store.writing() as connection:
                        count = await stored_servers.requeue(connection, key, positions)
                        await note(connection, articles=count)
                finally:  # also where nobody knows whether it was committed
                    running.revise(registered.server.name)
                await self._read_again(running, registered.server.name)
            finally:
                if control.control is Control.RUNNING:
                    await self._start_if_open(running, registered)
        return count

    async def _read_again(self, running: RunningPhase, name: ServerName) -> None:
        """Count a server's attempts again; where that fails, the keeper does it later."""
        try:
            await running.read_again(name)
        except Exception:
            log.exception("the log of %s cannot be read: its boards are behind", name)

    async def changed(self, registered: RegisteredServer) -> None:
        """Apply changes of a server whose lanes are not running."""
        async with self.lock:
            for running in self._phases.values():
                if registered.server.name in running.servers:
                    await running.add(registered, await self._control(running, registered))

    async def leave(self, registered: RegisteredServer, note: AuditWriter) -> None:
        """Pause a server in every phase."""
        for running in self._phases.values():
            if registered.server.name in running.servers:
                phase_note = functools.partial(note, phase=running.name)
                await self.pause(running, registered, phase_note)

    def at_work(self, registered: RegisteredServer) -> bool:
        """Return whether a lane of the server is running in any phase."""
        return any(
            self.engine.at_work(running.key(registered)) for running in self._phases.values()
        )

    async def ended(self, running: RunningPhase) -> Mapping[ServerName, EndedLane]:
        """Wait until no lane of a phase is at work or pending; return the end of each."""
        keys = {name: running.key(registered) for name, registered in running.servers.items()}
        while self.has_pending(running) or any(map(self.engine.at_work, keys.values())):
            self._rested.clear()
            await self._rested.wait()
        return {name: self._ends[key] for name, key in keys.items() if key in self._ends}

    # -- calls of the clock, which holds the lock ------------------------------------------------

    def forget(self, running: RunningPhase) -> None:
        """Forget a phase that was deleted."""
        self._pending.pop(running.name, None)

    def has_pending(self, running: RunningPhase) -> bool:
        """Return whether lanes of a phase are still to be started."""
        return bool(self._pending[running.name])

    def pause_all(self, running: RunningPhase) -> None:
        """Send no more articles in a phase; the desired states of its lanes stay."""
        self._pending[running.name].clear()
        self._rested.set()
        for registered in running.servers.values():
            self.engine.pause(running.key(registered))

    async def schedule_running(self, running: RunningPhase) -> None:
        """Schedule all lanes of a phase whose desired state is running, for `start_pending`."""
        async with self._store.reading() as connection:
            controls = await stored_servers.controls(connection, running.phase.id)
        self._pending[running.name] = {
            name
            for name, registered in running.servers.items()
            if registered.retired_at is None
            and registered.id in controls
            and controls[registered.id].control is Control.RUNNING
        }

    async def start_pending(self, running: RunningPhase) -> None:
        """Start the scheduled lanes; while nothing can be stored they wait."""
        pending = self._pending[running.name]
        names = iter(sorted(pending))
        with suppress(UnavailableError):
            while some := list(itertools.islice(names, TAKEN_TOGETHER)):
                await self._start(running, some)
                pending.difference_update(some)

    # -- helpers ---------------------------------------------------------------------------------

    async def _start_if_open(self, running: RunningPhase, registered: RegisteredServer) -> None:
        """Schedule a lane whose desired state is running, and start it if its phase is open."""
        if running.state in OPEN_STATES:
            self._pending[running.name].add(registered.server.name)
            await self.start_pending(running)

    def _pause(self, running: RunningPhase, registered: RegisteredServer) -> None:
        self._pending[running.name].discard(registered.server.name)
        self._rested.set()
        self.engine.pause(running.key(registered))

    async def _start(
        self, running: RunningPhase, names: Sequence[ServerName], allowance: int | None = None
    ) -> None:
        resting = []
        for name in names:
            key = running.key(running.servers[name])
            if not self.engine.at_work(key):
                resting.append(name)
            elif self.engine.pausing(key):
                self.engine.resume(key)  # it was finishing its requests in flight
        for lane in await running.lanes(resting):
            self._ends.pop(lane.key, None)
            self.engine.start(lane, allowance=allowance)

    async def _require_open(
        self, running: RunningPhase, registered: RegisteredServer
    ) -> LaneControl:
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
            controls = await stored_servers.controls(connection, running.phase.id)
        return controls.get(registered.id, LaneControl(control=Control.PAUSED, note=""))

    async def _set(
        self,
        running: RunningPhase,
        registered: RegisteredServer,
        control: Control,
        reason: str = "",
        *,
        note: AuditWriter,
    ) -> None:
        """Store the desired state of a lane with its audit entry, and show it."""
        key = running.key(registered)
        async with self._store.writing() as connection:
            await stored_servers.set_control(connection, key, control, reason)
            await note(connection)
        if running.servers.get(registered.server.name) != registered:
            await running.add(registered, LaneControl(control=control, note=reason))
        else:
            running.boards.server_monitor.control(registered.server.name, control, reason)
            running.boards.touch()

    def _ended(self, key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        self._ends[key] = EndedLane(end, failure)
        self._rested.set()
        if failure is None:
            return
        for running in self._phases.values():
            for name, registered in running.servers.items():
                if running.key(registered) == key:
                    log.error("phase %s sends %s nothing until it is started", running.name, name)
