"""The states of servers, looked at once a second: kept when they change, told to who listens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from metaserver.dispatch.phase import RunningPhase
from metaserver.dispatch.steps import whole
from metaserver.errors import UnavailableError
from metaserver.lifecycle import ServerState
from metaserver.records import ServerName
from metaserver.store import states
from metaserver.store.states import StateChange
from metaserver.store.store import Store
from metaserver.store.writer import LaneKey

LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


class Seen(NamedTuple):
    """A change of state, in which phase and of which server."""

    phase: RunningPhase
    server: ServerName
    change: StateChange


class StateLog:
    """Keeps the changes of all lanes' states; `listeners` are told of each when it is kept."""

    def __init__(
        self,
        store: Store,
        phases: Callable[[], Iterable[RunningPhase]],
        clock: Callable[[], float],
    ) -> None:
        self.listeners: list[Callable[[Seen], None]] = []
        self._store = store
        self._phases = phases
        self._clock = clock
        self._last: dict[LaneKey, ServerState] = {}

    async def run(self) -> None:
        """Look for changes for ever."""
        while True:
            try:
                await whole(self._keep(self.look()))
            except UnavailableError as error:  # the store is blocked: they are found again
                log.warning("states are not kept: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> Sequence[Seen]:
        """Return what has changed since the last look that was kept."""
        return [
            Seen(running, name, StateChange(key=key, at=self._clock(), state=state, note=note))
            for running in self._phases()
            for name, registered in running.servers.items()
            for key in [running.key(registered)]
            for state, note in [running.boards.watch.state(name)]
            if state is not self._last.get(key)
        ]

    async def _keep(self, changes: Sequence[Seen]) -> None:
        if not changes:
            return
        async with self._store.writing() as connection:
            await states.add(connection, [seen.change for seen in changes])
        for seen in changes:
            change = seen.change
            self._last[change.key] = change.state
            seen.phase.windows.state(seen.server, change.at, change.state, change.note)
            for listener in self.listeners:
                listener(seen)
