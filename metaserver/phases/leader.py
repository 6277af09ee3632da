"""The leader of a hub: of its processes with pages, the one that does what is to be done once.

States of servers, notices, alerts, mail and frozen boards are its work; it forgets processes that
are gone. Each of its writes looks at its epoch in the same transaction: a leader that was frozen,
and replaced, writes nothing when it comes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import HubError, UnavailableError
from metaserver.phases.membership import TICK_SECONDS, HubMember
from metaserver.store import leadership, leases
from metaserver.store.leadership import Leadership
from metaserver.store.store import Store

log = logging.getLogger(__name__)


class Leader:
    """The leadership of one process, as far as it has it."""

    def __init__(self, store: Store, member: HubMember) -> None:
        self.held: Leadership | None = None
        self._store = store
        self._member = member

    @property
    def leads(self) -> bool:
        """True while this process leads, as far as it knows."""
        return self._member.is_alone or (self.held is not None and not self._member.is_fenced)

    async def take(self) -> bool:
        """Lead, if nobody else does; return whether this process leads."""
        return await self._lead()

    async def require(self, connection: AsyncConnection) -> None:
        """Raise `HubError` where this process does not lead, in the transaction of a write.

        The only process of a store leads whenever it writes.
        """
        if self.held is None and self._member.is_alone:
            self.held = await leadership.lead(connection, self._member.id, alone=True)
        if self.held is None or await leadership.current(connection) != self.held:
            raise HubError("another process leads the hub")

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Lead whenever nobody else does, and work as long as it lasts, until cancelled."""
        while True:
            if await self._lead():
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
            if self._member.is_fenced or not (self._member.is_alone or await self._lead()):
                log.warning("this process does not lead the hub any more")
                return
        await working  # raises its fault

    async def _lead(self) -> bool:
        """Lead, or go on; return whether this process does."""
        try:
            await self._member.enter()
            async with self._store.writing() as connection:
                found = await leadership.lead(
                    connection, self._member.id, alone=self._member.is_alone
                )
                if found is not None and not self._member.is_alone and self._member.is_settled:
                    await leases.forget_gone(connection)
        except UnavailableError:
            return self.held is not None and not self._member.is_fenced
        if found != self.held and found is not None:
            log.info("this process leads the hub, by epoch %d", found.epoch)
        self.held = found
        return found is not None

    async def resign(self) -> None:
        """Let another process lead at once."""
        if self.held is not None and not self._member.is_alone:
            async with self._store.writing() as connection:
                await leadership.resign(connection, self.held)
            self.held = None
