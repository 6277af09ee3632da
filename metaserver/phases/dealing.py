"""The dealing of free lanes to the processes that work lanes: by tickets, each for one taker."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from metaserver.base.lanes import Ticket

TAKEN_TOGETHER = 200  # lanes: the store is locked meanwhile

Take: TypeAlias = Callable[[Sequence[Ticket]], Awaitable[None]]


class Dealer(Protocol):
    """The dealer of free lanes to the processes that work lanes."""

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Deal tickets of free lanes, each to one process; the same ones may be offered again."""

    async def run(self) -> None:
        """Pass on what is dealt to this process, until cancelled."""


class OwnDealer:
    """The dealer of the one process of a store, which takes whatever is offered at once."""

    def __init__(self, take: Take) -> None:
        self._take = take

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Take all lanes."""
        some = iter(tickets)
        while batch := list(itertools.islice(some, TAKEN_TOGETHER)):
            await self._take(batch)

    async def run(self) -> None:
        """Wait: nothing comes from elsewhere."""
        await asyncio.Event().wait()
