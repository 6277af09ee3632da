"""The log of servers' states: changes are stored and sent to listeners, at most a second later.

That a server was down is stored however short it was.
Only the servers whose monitor has changed since the last check are looked at.

The last stored states are read from the store, so that a restarted hub repeats no change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import LaneKey, StateChange
from metaserver.base.records import ServerName
from metaserver.base.states import ServerState
from metaserver.boards.monitor import PassedState
from metaserver.phases.runtime import RunningPhase
from metaserver.store import states
from metaserver.store.store import Store

LOOK_SECONDS = 1.0
THERE = frozenset({ServerState.UP, ServerState.SLOW})

log = logging.getLogger(__name__)


class ServerStateChange(NamedTuple):
    """A change of a server's state in a phase.

    `was_down`: it was down before, and has not been up since.
    """

    phase: RunningPhase
    server: ServerName
    change: StateChange
    was_down: bool


class ServerStateRecorder:
    """Records changes in all lanes' states.

    `listeners` are called with each change in the transaction that stores it: what they write is
    stored with it or not at all. If the process is not `alone`, it counts them with the others, as
    it follows the store.
    """

    def __init__(
        self,
        store: Store,
        phases: Callable[[], Iterable[RunningPhase]],
        clock: Callable[[], float],
        *,
        alone: bool = True,
    ) -> None:
        self.listeners: list[Callable[[AsyncConnection, ServerStateChange], Awaitable[None]]] = []
        self._store = store
        self._phases = phases
        self._clock = clock
        self._alone = alone
        self._last: dict[LaneKey, ServerState] = {}
        self._down: set[LaneKey] = set()
        self._read: set[int] = set()  # phases whose lanes' last states were read from the store

    async def run(self) -> None:
        """Record changes, until cancelled."""
        self._read.clear()  # another process may have stored some
        self._last.clear()
        self._down.clear()
        while True:
            try:
                with suppress(
                    UnavailableError
                ):  # the store is blocked: they are found at the next check
                    await run_uncancelled(self.record())
            except Exception:
                log.exception("states could not be stored")
            await asyncio.sleep(LOOK_SECONDS)

    async def record(self) -> None:
        """Store the changes since the last check; `UnavailableError` if the store is blocked."""
        phases = [(phase, phase.boards.server_monitor.take_changed()) for phase in self._phases()]
        try:
            for running, _ in phases:
                if running.phase.id not in self._read:
                    await self._remember(running.phase.id)
            await self._keep([event for phase in phases for event in self._changes(*phase)])
        except BaseException:
            for running, changed in phases:
                running.boards.server_monitor.put_back(changed)
            raise

    async def _remember(self, phase_id: int) -> None:
        async with self._store.reading() as connection:
            newest = await states.newest(connection, phase_id)
            last = await states.newest(connection, phase_id, {ServerState.DOWN, *THERE})
        self._last.update({change.key: change.state for change in newest.values()})
        for change in last.values():
            self._note_down(change)
        self._read.add(phase_id)

    def _changes(
        self, running: RunningPhase, changed: Mapping[ServerName, Sequence[PassedState]]
    ) -> Iterator[ServerStateChange]:
        """Yield some servers' state changes since the last were stored, each in order.

        A server that went down and came back since the last check has two changes.
        """
        for name, passed in sorted(changed.items()):
            if running.follower.is_behind(name):  # its state is not known yet
                continue
            key = running.key(running.servers[name])
            last, was_down = self._last.get(key), key in self._down
            present = PassedState(self._clock(), *running.boards.server_monitor.state(name))
            for at, state, note in (*passed, present):
                if state is not last:
                    change = StateChange(key=key, at=at, state=state, note=note)
                    yield ServerStateChange(running, name, change, was_down=was_down)
                    last, was_down = state, _is_down(state, was_down)

    async def _keep(self, changes: Sequence[ServerStateChange]) -> None:
        if not changes:
            return
        async with self._store.writing() as connection:
            await states.add(connection, [event.change for event in changes])
            for event in changes:
                for listener in self.listeners:
                    await listener(connection, event)
        for event in changes:
            change = event.change
            self._last[change.key] = change.state
            self._note_down(change)
            if self._alone:
                event.phase.windows.state(event.server, change.at, change.state, change.note)

    def _note_down(self, change: StateChange) -> None:
        """Note that a server is down, or there again; other states say nothing of that."""
        if _is_down(change.state, change.key in self._down):
            self._down.add(change.key)
        else:
            self._down.discard(change.key)


def _is_down(state: ServerState, was_down: bool) -> bool:
    """Return whether a server in a state is down; most states say nothing of that."""
    return state is ServerState.DOWN or (was_down and state not in THERE)
