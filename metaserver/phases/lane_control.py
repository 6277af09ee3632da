"""Lane control: the desired states set by teams and organisers, stored with an order.

A lane's desired state, the resulting order and the audit log entry are one transaction; the process
that holds the lane carries the order out (`holder`). So a killed hub goes on with it, and a lane
that cannot be started at once is started later. No article is sent twice at a time: a lane is taken
only if nobody holds it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.lanes import LaneKey
from metaserver.base.records import LaneControl, PhaseName, RegisteredServer, ServerName
from metaserver.base.states import OPEN_STATES, Control
from metaserver.phases.holder import EndedLane, LaneHolder
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.store import leases
from metaserver.store import servers as stored_servers
from metaserver.store.store import Store

LOOK_SECONDS = 1.0
"""Between two looks at lanes whose holders may be other processes."""

log = logging.getLogger(__name__)


class AuditWriter(Protocol):
    """Writes an audit log entry, in the transaction of the recorded action."""

    def __call__(self, connection: AsyncConnection, /, **detail: object) -> Awaitable[None]:
        """Write the entry with further details."""
        ...


class LaneController:
    """All phases' lanes; `phases` is the scheduler's own table, which changes.

    `lock` is held during each change to phases or lanes.
    """

    def __init__(
        self, store: Store, phases: Mapping[PhaseName, RunningPhase], holder: LaneHolder
    ) -> None:
        self.lock = asyncio.Lock()
        self.holder = holder
        self._store = store
        self._phases = phases
        self._elsewhere: set[LaneKey] = set()

    async def start(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Start a server's lane, which sends it all articles in its queue.

        `RefusedError` if the phase is not open, or an organiser has suspended the lane.
        """
        async with self._ordering(running, registered) as connection:
            await self._require_open(connection, running, registered)
            await self._set(connection, running, registered, Control.RUNNING, due=True)
            await note(connection)

    async def start_next(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Send a server the next article in its queue, and no more.

        `RefusedError` also if it is running already.
        """
        key = running.key(registered)
        async with self._ordering(running, registered, first=True) as connection:
            control = await self._require_open(connection, running, registered)
            await stored_servers.set_control(connection, key, control.control, control.note)
            if await leases.is_busy(connection, key.phase_id, key.server_id):
                raise RefusedError(Refusal.STATE, "it is at work: pause it first")
            await leases.order(connection, key, due=True, allowance=1)
            await note(connection)

    async def pause(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Send no more articles to a server; what is in flight is finished and counted."""
        await self._pause(running, registered, note)

    async def suspend(
        self, running: RunningPhase, registered: RegisteredServer, reason: str, note: AuditWriter
    ) -> None:
        """Send no more articles to a server, and do not let its team start it."""
        async with self._ordering(running, registered) as connection:
            await self._set(connection, running, registered, Control.SUSPENDED, reason, due=False)
            await note(connection)

    async def resume(
        self, running: RunningPhase, registered: RegisteredServer, note: AuditWriter
    ) -> None:
        """Lift a suspension; the lane continues at once if the phase is open."""
        async with self._ordering(running, registered) as connection:
            control = await stored_servers.control(connection, running.key(registered))
            if control.control is not Control.SUSPENDED:
                message = "the server is not suspended, so there is nothing to lift"
                raise RefusedError(Refusal.STATE, message)
            is_open = running.state in OPEN_STATES
            await self._set(connection, running, registered, Control.RUNNING, due=is_open)
            await note(connection)

    async def cancel(
        self, running: RunningPhase, registered: RegisteredServer, by: str, note: AuditWriter
    ) -> None:
        """Drop a server's requests in flight (outcome `cancelled`, not charged) and pause it."""
        key = running.key(registered)
        number = await self._pause(running, registered, note, cancel_by=by)
        while True:
            self.holder.rested.clear()
            async with self._store.reading() as connection:
                if await leases.is_done(connection, key, number):
                    return
            await self._rest()

    async def _pause(
        self,
        running: RunningPhase,
        registered: RegisteredServer,
        note: AuditWriter,
        *,
        cancel_by: str = "",
    ) -> int:
        """Pause a lane, which stays suspended if it is; return the number of the order."""
        async with self._ordering(running, registered) as connection:
            control = await stored_servers.control(connection, running.key(registered))
            if control.control is not Control.SUSPENDED:
                control = LaneControl(control=Control.PAUSED, note="")
            number = await self._set(
                connection,
                running,
                registered,
                control.control,
                control.note,
                due=False,
                cancel_by=cancel_by,
            )
            await note(connection)
        return number

    async def requeue(
        self,
        running: RunningPhase,
        registered: RegisteredServer,
        positions: Sequence[int] | None,
        note: AuditWriter,
    ) -> int:
        """Put given-up articles (all, or some) into the queue again; return their number.

        Requests in flight to the server are dropped, and sent again afterwards: the lane's holder
        has lost it.
        """
        key = running.key(registered)
        async with self.lock:
            try:
                async with self._store.writing() as connection:
                    control = await stored_servers.control(connection, key)
                    count = await stored_servers.requeue(connection, key, positions)
                    is_due = control.control is Control.RUNNING and running.state in OPEN_STATES
                    await leases.order(connection, key, due=is_due)
                    await note(connection, articles=count)
            finally:  # also where nobody knows whether it was committed
                running.revise(registered.server.name)
            await self._read_again(running, registered.server.name)
            await self.carry_out_orders()
        return count

    async def _read_again(self, running: RunningPhase, name: ServerName) -> None:
        """Count a server's attempts again; if that fails, the keeper does it later."""
        try:
            await running.read_again(name)
        except UnavailableError:
            pass
        except Exception:
            log.exception("the log of %s cannot be read: its boards are behind", name)

    async def changed(self, registered: RegisteredServer) -> None:
        """Apply changes to a server whose lanes are not running."""
        async with self.lock:
            for running in self._phases.values():
                if registered.server.name in running.servers:
                    await running.reload(Part.SERVERS, registered.server.name)

    async def leave(self, registered: RegisteredServer, note: AuditWriter) -> None:
        """Pause a server in every phase."""
        for running in self._phases.values():
            if registered.server.name in running.servers:
                phase_note = functools.partial(note, phase=running.name)
                await self.pause(running, registered, phase_note)

    def at_work(self, registered: RegisteredServer) -> bool:
        """Return whether the server has a running lane in any phase."""
        return any(self.is_at_work(running.key(registered)) for running in self._phases.values())

    def is_at_work(self, key: LaneKey) -> bool:
        """Return whether a lane is at work: its calls may be in flight."""
        return self.holder.engine.at_work(key) or key in self._elsewhere

    def elsewhere(self, key: LaneKey, *, at_work: bool) -> None:
        """Note whether another process has a lane at work."""
        if at_work:
            self._elsewhere.add(key)
        else:
            self._elsewhere.discard(key)

    @property
    def count(self) -> int:
        """The number of working lanes."""
        return self.holder.engine.count + len(self._elsewhere)

    async def ended(self, running: RunningPhase) -> Mapping[ServerName, EndedLane]:
        """Wait until none of a phase's lanes is at work or due; return how each ended."""
        while True:
            self.holder.rested.clear()
            async with self._store.reading() as connection:
                if not await leases.is_busy(connection, running.phase.id):
                    break
            await self._rest()
        keys = {name: running.key(registered) for name, registered in running.servers.items()}
        ends = self.holder.ends
        return {name: ends[key] for name, key in keys.items() if key in ends}

    async def _rest(self) -> None:
        """Wait until a lane was released."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self.holder.rested.wait()

    # -- calls of the clock, which holds the lock ------------------------------------------------

    async def make_due(
        self, connection: AsyncConnection, running: RunningPhase, *, is_open: bool
    ) -> None:
        """Order the lanes of a phase to work whose desired state is running; or all to rest."""
        if is_open:
            await leases.make_running_due(connection, running.phase.id)
        else:
            await leases.make_none_due(connection, running.phase.id)

    def pause_all(self, running: RunningPhase) -> None:
        """Send no more articles in a phase, whether or not orders can be stored."""
        for registered in running.servers.values():
            self.holder.engine.pause(running.key(registered))

    async def carry_out_orders(self) -> None:
        """Carry out the stored orders; if that fails, the holder does it later."""
        try:
            await self.holder.carry_out_orders()
        except UnavailableError:
            self.holder.wake()

    # -- helpers ---------------------------------------------------------------------------------

    @asynccontextmanager
    async def _ordering(
        self, running: RunningPhase, registered: RegisteredServer, *, first: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """Give the transaction of an order to a lane; what it stores is shown and carried out.

        With `first`, earlier orders are carried out before: a lane that has ended is released.
        """
        async with self.lock:
            if first:
                await self.carry_out_orders()
            async with self._store.writing() as connection:
                yield connection
            await running.reload(Part.SERVERS, registered.server.name)
            await self.carry_out_orders()

    async def _require_open(
        self, connection: AsyncConnection, running: RunningPhase, registered: RegisteredServer
    ) -> LaneControl:
        if running.state not in OPEN_STATES:
            raise RefusedError(
                Refusal.STATE, f"{running.label} is {running.state}: no article is sent in it"
            )
        control = await stored_servers.control(connection, running.key(registered))
        if control.control is Control.SUSPENDED:
            raise RefusedError(Refusal.STATE, f"suspended by the organisers: {control.note}")
        return control

    async def _set(
        self,
        connection: AsyncConnection,
        running: RunningPhase,
        registered: RegisteredServer,
        control: Control,
        reason: str = "",
        *,
        due: bool,
        cancel_by: str = "",
    ) -> int:
        """Store a lane's desired state, and the order; return its number."""
        key = running.key(registered)
        await stored_servers.set_control(connection, key, control, reason)
        return await leases.order(connection, key, due=due, cancel_by=cancel_by)
