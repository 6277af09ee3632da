"""The holder of a process's lanes: it takes those that are due, and carries out their orders.

Orders to lanes are rows of the store, whoever gives them; the holder looks at them when it is
woken, and once a second where other processes give orders too. So the lanes of a hub in one
process and those of many go the same way.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import LaneKey, LaneOrder, LaneReport, LaneRest, TakenLane, Ticket
from metaserver.base.states import ProcessRole
from metaserver.lanes.engine import Engine
from metaserver.lanes.events import LaneEnd
from metaserver.lanes.lane import Lane
from metaserver.lanes.leases import plan
from metaserver.phases.membership import TICK_SECONDS, HubMember
from metaserver.store import leases
from metaserver.store.store import Store

# -- the dealing of free lanes to the processes that work lanes: by tickets, each for one taker ----

TAKEN_TOGETHER = 200  # lanes: the store is locked meanwhile

Take: TypeAlias = Callable[[Sequence[Ticket]], Awaitable[None]]


class Dealer(Protocol):
    """Deals free lanes to the processes that work on lanes."""

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Deal free lanes' tickets, each to one process; a ticket may be offered again."""

    async def run(self) -> None:
        """Pass on what is dealt to this process, until cancelled."""


class OwnDealer:
    """The dealer in a store's only process, which takes whatever is offered at once."""

    def __init__(self, take: Take) -> None:
        self._take = take

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Take all lanes."""
        remaining = iter(tickets)
        while batch := list(itertools.islice(remaining, TAKEN_TOGETHER)):
            await self._take(batch)

    async def run(self) -> None:
        """Wait: nothing comes from elsewhere."""
        await asyncio.Event().wait()


# -- the holder of a process's lanes: it takes those that are due, and carries out their orders ----

RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class EndedLane(NamedTuple):
    """An ended lane: how it ended, and by which hub fault, if any."""

    end: LaneEnd
    failure: Exception | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneSource:
    """The source of lanes: which may be taken now, and what work belongs to taken lanes."""

    may_take: Callable[[LaneKey], bool]
    make: Callable[[Sequence[TakenLane]], Awaitable[Sequence[Lane]]]
    ended: Callable[[LaneKey, Exception | None], None]  # called with the fault of the hub, if any
    take_reports: Callable[[], Sequence[LaneReport]] = tuple  # of the lanes that have changed


class LaneHolder:
    """Holds a process' lanes; the process is a `member` of the hub.

    `ends` has how each lane ended that was not taken since. `rested` is set whenever a lane was
    released.
    """

    def __init__(self, store: Store, source: LaneSource, member: HubMember) -> None:
        self.engine = Engine(on_end=self._ended)
        self.ends: dict[LaneKey, EndedLane] = {}
        self.rested = asyncio.Event()
        self._store = store
        self._source = source
        self._member = member
        member.held = lambda: len(self._held)
        self.dealer: Dealer = OwnDealer(self._take)
        self._held: dict[LaneKey, LaneOrder] = {}  # the last order of each lane at work
        self._rests: dict[LaneKey, LaneRest] = {}  # lanes that have ended, until it is stored
        self._wake = asyncio.Event()
        self._heeding = asyncio.Lock()

    async def run(self) -> None:
        """Carry out orders when woken, and once a second if others give orders too."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.engine.run(), name="engine")
            group.create_task(self._heed_always(), name="orders")
            group.create_task(self.dealer.run(), name="dealer")

    def wake(self) -> None:
        """Look at the orders soon."""
        self._wake.set()

    async def _heed_always(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._member.is_alone else TICK_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self.carry_out_orders()
            except UnavailableError:
                self._retry()
            except Exception:
                log.exception("orders to lanes cannot be carried out")
                self._retry()

    def _retry(self) -> None:
        asyncio.get_running_loop().call_later(RETRY_SECONDS, self._wake.set)

    async def carry_out_orders(self) -> None:
        """Release ended lanes, carry out orders to others, take due lanes.

        `UnavailableError` if the store is blocked.
        """
        if self._member.role is ProcessRole.WEB:
            return  # others do
        async with self._heeding:
            await self._member.enter()
            await self._release()
            async with self._store.reading() as connection:
                stored = await leases.held(connection, self._member.id)
                tickets = await leases.offers(connection, settled=self._member.is_settled)
            await self._carry_out(stored)
            await self._report()
            await self.dealer.offer(
                [ticket for ticket in tickets if self._source.may_take(ticket.key)]
            )

    async def _release(self) -> None:
        if not self._rests:
            return
        rests = dict(self._rests)
        async with self._store.writing() as connection:
            await leases.release(connection, self._member.id, rests.values())
        for key in rests:
            del self._rests[key]
        self.rested.set()

    async def _report(self) -> None:
        """Store what the lanes at work are at, for processes that show them."""
        if not self._member.is_alone and (changed := self._source.take_reports()):
            async with self._store.renewing() as connection:
                await leases.report(connection, self._member.id, changed)

    async def _carry_out(self, stored: Mapping[LaneKey, LaneOrder]) -> None:
        limit = None if self._member.is_alone else self._member.places
        todo = plan(self._held, stored, taking=self._rests, limit=limit)
        for key in todo.free:  # it could not be made
            self._rests[key] = LaneRest(
                key=key,
                epoch=stored[key].epoch,
                order=stored[key].number,
                end=LaneEnd.STOPPED.value,
                goes_on=True,
            )
        for key in todo.drop:
            self.engine.drop(key)
        for key, by in todo.cancel.items():
            self.engine.cancel(key, by)
        for key in todo.pause:
            self.engine.pause(key)
        for key in todo.resume:
            self.engine.resume(key)
        for key in todo.give_back:
            self.engine.leave(key)
        for key in self._held.keys() & stored.keys() - set(todo.drop):
            self._held[key] = stored[key]
        for key in todo.drop:
            await self.engine.ended(key)

    async def take_dealt(self, tickets: Sequence[Ticket]) -> None:
        """Take lanes that were dealt to this process, between two looks at its orders."""
        async with self._heeding:
            await self._take([ticket for ticket in tickets if self._source.may_take(ticket.key)])

    async def _take(self, tickets: Sequence[Ticket]) -> None:
        """Take lanes and start them, as far as they are free."""
        taken_lanes = await self._store.take_lanes(
            [ticket for ticket in tickets if ticket.key not in self._held],
            self._member.id,
            settled=self._member.is_settled,
        )
        orders = {taken_lane.state.key: taken_lane.order for taken_lane in taken_lanes}
        self._member.count(taken_over=sum(order.taken_over for order in orders.values()))
        for lane in await self._source.make(taken_lanes):
            order = self._held[lane.key] = orders[lane.key]
            self.ends.pop(lane.key, None)
            self.engine.start(lane, allowance=order.allowance)

    @property
    def blocked(self) -> str | None:
        """The reason why nothing can be stored now, or None."""
        return self._store.blocked

    @property
    def spare(self) -> int:
        """The number of further lanes that this process may hold."""
        return self._member.places - len(self._held)

    def _ended(self, key: LaneKey, end: LaneEnd, failure: Exception | None) -> None:
        order = self._held.pop(key)
        self.ends[key] = EndedLane(end, failure)
        self._source.ended(key, failure)
        self._member.count(turns=int(end is LaneEnd.SLICE))
        if end is not LaneEnd.LOST:
            ordered_to_pause = not order.due or order.allowance is not None
            self._rests[key] = LaneRest(
                key=key,
                epoch=order.epoch,
                order=order.number,
                end=end.value,
                goes_on=end is LaneEnd.SLICE or (end is LaneEnd.PAUSED and not ordered_to_pause),
            )
        self._wake.set()
