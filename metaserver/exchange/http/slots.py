"""Server slots: at most the agreed number of calls to a server, whoever makes them.

Several phases' lanes, conformance runs and curators' requests share a server's slots. If all are
taken, lanes are first in line, then tests, then requests.
"""

from __future__ import annotations

import asyncio
import itertools
from bisect import insort
from dataclasses import dataclass, field
from enum import IntEnum

from metaserver.base.records import Server, ServerName, ServerReport
from metaserver.base.states import ReportedState

TOGETHER = 2
"""Articles that a test sends at once to any server, to find out whether it mixes answers up."""


class SlotUse(IntEnum):
    """What a slot is used for; the lower number goes first."""

    LANE = 0
    TEST = 1
    REQUEST = 2


@dataclass(slots=True)
class _Slots:
    """A server's slots; `waiting` has use, number and future, in turn."""

    limit: int
    taken: list[int] = field(default_factory=lambda: [0] * len(SlotUse))  # by use
    waiting: list[tuple[SlotUse, int, asyncio.Future[None]]] = field(default_factory=list)

    def is_free(self, use: SlotUse) -> bool:
        """Return whether a call for this use may begin, if its turn has come."""
        total = sum(self.taken)
        if use is SlotUse.TEST and total == self.taken[SlotUse.TEST] and total < TOGETHER:
            return True
        shared = use is SlotUse.REQUEST and self.taken[SlotUse.LANE] > 0
        return total < self.limit and not (shared and self.taken[SlotUse.REQUEST] > 0)

    def is_first(self, use: SlotUse) -> bool:
        """Return whether nobody ahead waits; two articles in a test go together."""
        together = use is SlotUse.TEST and self.taken[SlotUse.TEST] == sum(self.taken) == 1
        return together or not self.waiting or self.waiting[0][0] > use


class ServerSlots:
    """All servers' slots, as many as each server's `concurrency`, or as it reports.

    Requests are let in beside a lane singly, and only while no lane waits. A test may send two
    articles at once to a server that is sent nothing else.
    """

    def __init__(self) -> None:
        self._servers: dict[ServerName, _Slots] = {}
        self._reported: dict[ServerName, int] = {}
        self._numbers = itertools.count()

    def taken(self, name: ServerName) -> int:
        """Return the number of a server's current calls."""
        slots = self._servers.get(name)
        return sum(slots.taken) if slots else 0

    def report(self, name: ServerName, report: ServerReport) -> None:
        """Record what a server reports about itself; an overloaded server gets single requests."""
        overloaded = report.state is ReportedState.OVERLOADED
        places = 1 if overloaded else report.max_concurrent
        if places is None:
            self._reported.pop(name, None)
        else:
            self._reported[name] = places

    def forget(self, name: ServerName) -> None:
        """Forget what a server reported of itself: nobody asks it for its state any more."""
        self._reported.pop(name, None)

    async def take(self, server: Server, use: SlotUse) -> None:
        """Wait for a server's slot, and take it; the taker must `give` it back."""
        limit = server.concurrency
        if self._reported:
            limit = min(limit, self._reported.get(server.name, limit))
        slots = self._servers.get(server.name)
        if slots is None:
            slots = self._servers[server.name] = _Slots(limit)
        slots.limit = limit
        usual = use is SlotUse.LANE and not slots.waiting and sum(slots.taken) < limit
        if usual or (slots.is_first(use) and slots.is_free(use)):
            slots.taken[use] += 1
            return
        await self._wait(server.name, slots, use)

    async def _wait(self, name: ServerName, slots: _Slots, use: SlotUse) -> None:
        turn = asyncio.get_running_loop().create_future()
        entry = (use, next(self._numbers), turn)
        insort(slots.waiting, entry)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                slots.taken[use] -= 1  # it was given a slot, and leaves at the same moment
            elif entry in slots.waiting:  # else another call that ended was faster
                slots.waiting.remove(entry)
            self._let_in(name, slots)
            raise

    def give(self, server: Server, use: SlotUse) -> None:
        """Give a slot back; the first in line takes it."""
        slots = self._servers[server.name]
        slots.taken[use] -= 1
        if slots.waiting or not any(slots.taken):
            self._let_in(server.name, slots)

    def _let_in(self, name: ServerName, slots: _Slots) -> None:
        while slots.waiting and slots.is_free(slots.waiting[0][0]):
            use, _, turn = slots.waiting.pop(0)
            if turn.cancelled():  # it leaves, and has had no time to say so
                continue
            slots.taken[use] += 1
            turn.set_result(None)
        over = not slots.waiting and not any(slots.taken)
        if over and self._servers.get(name) is slots:
            del self._servers[name]
