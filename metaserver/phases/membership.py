"""The membership of a process in its hub: its row in the store, its lease, who leads.

A process that is alone with its store is seen for ever. One of several renews its lease once a
second; where it cannot, its lanes begin nothing more before another process may take them.
"""

from __future__ import annotations

import asyncio
import logging
import operator
import os
import random
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import ReplacedError, StaleLaneError, UnavailableError
from metaserver.base.lanes import AttemptRecord
from metaserver.base.states import ProcessRole
from metaserver.lanes.engine import MAX_LANES
from metaserver.lanes.events import Recorder
from metaserver.lanes.leases import Lease, places
from metaserver.store import leases
from metaserver.store.leases import LEASE_SECONDS, NOTHING, Leadership, LeaseCounts, Process
from metaserver.store.outage import Outage
from metaserver.store.store import Store

TICK_SECONDS = 1.0
JITTER = (0.8, 1.2)
RENEWAL_SECONDS = 3.0
"""A renewal that takes longer is given up, and repeated on another connection."""

MOST_OFFSET = 5.0
"""Seconds by which the clock of a leader may differ from the database's: it keeps phases' dates."""

log = logging.getLogger(__name__)


class HubMember:
    """A process' membership in its hub; `held` returns how many lanes it holds."""

    def __init__(self, store: Store, role: ProcessRole) -> None:
        self.role = role
        self.held: Callable[[], int] = lambda: 0
        self.lacks: Callable[[], str] = str  # what keeps it from working some lanes
        self.key: Callable[[], str] = str  # the digest of its key
        self.webs = 1  # living processes with pages, this one among them
        self.due = 0  # lanes
        self.unheld = 0  # of those
        self.workers = 1  # living processes that work lanes
        self.sharing = 1  # of those, the ones that can work all lanes
        self.blocked = 0  # of those, the ones that can store nothing
        self.counts = NOTHING  # of this process, since it was started
        self.totals = NOTHING  # of all processes, since this one was started
        self._counted: Mapping[str, LeaseCounts] = {}  # how those were stored when it looked last
        self._store = store
        self._process = _new_process(role)
        self._entered = False
        self._lease = Lease(seconds=LEASE_SECONDS, renewed_at=-LEASE_SECONDS)

    @property
    def id(self) -> str:
        """The process's id, which changes whenever it was given up."""
        return self._process.id

    @property
    def is_alone(self) -> bool:
        """True for a store's only process."""
        return self.role is ProcessRole.ALL

    @property
    def is_fenced(self) -> bool:
        """True while another process may have its lanes: it begins nothing."""
        return not self.is_alone and self._lease.is_fenced(_now())

    @property
    def is_settled(self) -> bool:
        """True if it may take lanes whose leases ran out."""
        return self.is_alone or self._lease.is_settled(_now())

    @property
    def places(self) -> int:
        """The maximum number of lanes that it holds."""
        if self.is_alone:
            return self._process.capacity
        return places(self.due, self.sharing, self._process.capacity)

    @property
    def seconds_since_renewal(self) -> float:
        """The time since its lease was renewed."""
        return 0.0 if self.is_alone else max(0.0, _now() - self._lease.renewed_at)

    async def enter(self) -> None:
        """Store the process, once; if it is alone, no lane has another holder or is due.

        `UnavailableError` if the store is blocked.
        """
        if self._entered:
            return
        began = _now()
        async with self._store.writing() as connection:
            if self.is_alone:
                await leases.make_none_due(connection)
            await leases.enter(connection, self._process, alone=self.is_alone)
        self._entered = True
        self._lease.renewed(began)

    async def run(self) -> None:
        """Renew the lease until cancelled."""
        outage = Outage(
            log,
            lambda: self._store.blocked,
            "the lease of this process cannot be renewed",
            "the lease of this process is renewed again",
        )
        while not self.is_alone:
            try:
                async with asyncio.timeout(RENEWAL_SECONDS):
                    await self._renew()
            except Exception as error:
                self.count(missed=1)
                outage.failed(error)
                self._lease.lost()
                self._store.try_to_write()  # it may be the disk
            else:
                outage.ended()
            await asyncio.sleep(TICK_SECONDS * random.uniform(*JITTER))
        await asyncio.Event().wait()

    async def _renew(self) -> None:
        await self.enter()
        began = _now()
        async with self._store.renewing() as connection:
            renewed = await leases.renew(connection, self._present(), self.counts)
            census = await leases.census(connection)
            counted = await leases.counted(connection)
        if not renewed:
            log.warning("process %s was given up: it starts again", self.id)
            self._process, self._entered = _new_process(self.role), False
            self.counts = NOTHING
            return
        self._lease.renewed(began)
        self.due, self.unheld = census.due, census.unheld
        self.webs = max(1, census.webs)
        self.workers = census.workers
        self.sharing = census.sharing or census.workers  # if all lack something
        self.blocked = census.blocked
        if self.blocked and self._store.blocked is None:
            self._store.try_to_write()  # nothing of its own may need to be stored
        self._add(counted)

    def _present(self) -> Process:
        """Return the process as it is now."""
        return replace(
            self._process,
            lanes=self.held(),
            blocked=self._store.blocked or "",
            lacks=self.lacks(),
            key=self.key(),
        )

    def count(
        self, *, taken_over: int = 0, turns: int = 0, refused: int = 0, missed: int = 0
    ) -> None:
        """Add to what this process counts, which is stored with its lease."""
        self.counts = _sum(self.counts, LeaseCounts(taken_over, turns, refused, missed))

    def _add(self, counted: Mapping[str, LeaseCounts]) -> None:
        """Add to the totals what processes have counted since they were looked at last."""
        for process, now in counted.items():
            before = self._counted.get(process, NOTHING)
            self.totals = _sum(self.totals, LeaseCounts(*map(operator.sub, now, before)))
        self._counted = counted

    async def leave(self) -> None:
        """Release all lanes, and forget the process: others go on at once."""
        if self._entered and not self.is_alone:
            async with self._store.renewing() as connection:
                await leases.leave(connection, self.id)
            self._entered = False


class FencedRecorder:
    """A member's recorder: nothing is begun while the member is fenced."""

    def __init__(self, recorder: Recorder, member: HubMember) -> None:
        self._recorder = recorder
        self._member = member

    @property
    def blocked(self) -> str | None:
        """The reason why nothing can be committed now, or None."""
        if self._member.is_fenced:
            return "the lease of this process could not be renewed"
        return self._recorder.blocked

    def record(self, entry: AttemptRecord) -> asyncio.Future[int]:
        """Commit an entry: its epoch decides whether it may be."""
        recorded = asyncio.ensure_future(self._recorder.record(entry))
        recorded.add_done_callback(self._recorded)
        return recorded

    def _recorded(self, entry: asyncio.Future[int]) -> None:
        if not entry.cancelled() and isinstance(entry.exception(), StaleLaneError):
            self._member.count(refused=1)


def _new_process(role: ProcessRole) -> Process:
    host = socket.gethostname()
    return Process(
        id=f"{host}-{os.getpid()}-{secrets.token_hex(4)}",
        host=host,
        role=role.value,
        version=version("biocreative-metaserver"),
        capacity=0 if role is ProcessRole.WEB else MAX_LANES,
    )


def _sum(first: LeaseCounts, second: LeaseCounts) -> LeaseCounts:
    return LeaseCounts(*map(operator.add, first, second))


def _now() -> float:
    return asyncio.get_running_loop().time()


# -- the leader of a hub ---------------------------------------------------------------------------
# States of servers, notices, alerts, mail and frozen boards are its work; it forgets processes
# that are gone. Each of its writes looks at its epoch in the same transaction: a leader that was
# frozen, and replaced, writes nothing when it comes back.


class Leader:
    """A process' leadership, as far as it has it."""

    def __init__(
        self, store: Store, member: HubMember, clock: Callable[[], float] = time.time
    ) -> None:
        self.held: Leadership | None = None
        self.clock_offset = 0.0  # seconds by which this machine's clock is ahead of the database's
        self._store = store
        self._member = member
        self._clock = clock

    @property
    def leads(self) -> bool:
        """True while this process leads, as far as it knows."""
        return self._member.is_alone or (self.held is not None and not self._member.is_fenced)

    async def require(self, connection: AsyncConnection) -> None:
        """Raise `ReplacedError` if this process does not lead, in a write's transaction.

        A store's only process leads whenever it writes.
        """
        if self.held is None and self._member.is_alone:
            self.held = await leases.lead(connection, self._member.id, alone=True)
        if self.held is None or await leases.current(connection) != self.held:
            raise ReplacedError("another process leads the hub")

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Lead whenever nobody else does, and work as long as it lasts, until cancelled."""
        while True:
            if await self.take():
                working = asyncio.create_task(work(), name="leader")
                try:
                    await self._stay(working)
                finally:
                    working.cancel()
                    with suppress(asyncio.CancelledError):
                        await working
            await asyncio.sleep(TICK_SECONDS)

    async def _stay(self, working: asyncio.Task[None]) -> None:
        """Go on leading until another process does, or its work has ended by a fault."""
        while not working.done():
            await asyncio.wait([working], timeout=None if self._member.is_alone else TICK_SECONDS)
            if self._member.is_fenced or not (self._member.is_alone or await self.take()):
                log.info("this process does not lead the hub any more")
                return
        await working  # raises its fault

    async def take(self) -> bool:
        """Lead, or go on; return whether this process does."""
        try:
            await self._member.enter()
            async with self._store.writing() as connection:
                if await self._is_off(connection):
                    leading = None
                    if self.held is not None:
                        await leases.resign(connection, self.held)
                else:
                    leading = await leases.lead(
                        connection, self._member.id, alone=self._member.is_alone
                    )
                if leading is not None and not self._member.is_alone and self._member.is_settled:
                    await leases.forget_gone(connection)
        except UnavailableError:
            return self.held is not None and not self._member.is_fenced
        if leading != self.held and leading is not None:
            log.info("this process leads the hub, by epoch %d", leading.epoch)
        self.held = leading
        return leading is not None

    async def _is_off(self, connection: AsyncConnection) -> bool:
        """Return whether this process keeps another time than the others; a line says when."""
        if self._member.is_alone:
            return False
        was_off = abs(self.clock_offset) > MOST_OFFSET
        self.clock_offset = await leases.clock_offset(connection, self._clock)
        is_off = abs(self.clock_offset) > MOST_OFFSET
        if is_off and not was_off:
            log.error(
                "the clock of this machine differs from the database's by %+.1f s: this process"
                " does not lead the hub until it differs by at most %g s",
                self.clock_offset,
                MOST_OFFSET,
            )
        elif was_off and not is_off:
            log.info("the clock of this machine agrees with the database's again")
        return is_off

    async def resign(self) -> None:
        """Let another process lead at once."""
        if self.held is not None and not self._member.is_alone:
            async with self._store.writing() as connection:
                await leases.resign(connection, self.held)
            self.held = None
