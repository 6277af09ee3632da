"""How a process with pages follows the store: lanes and changes by other processes.

Once a second it compares the store with memory, and reloads what differs. So what is shown depends
only on the store, not on messages, which may be lost.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import LaneKey, StateChange
from metaserver.base.phases import GoldVersion, Phase
from metaserver.base.records import TaskName
from metaserver.boards.gold import read_gold
from metaserver.lanes.events import LaneChanged, LaneEnd
from metaserver.phases.candidate import candidate
from metaserver.phases.jobs import Progress
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.store import audit, leases, states
from metaserver.store import phases as stored_phases
from metaserver.store.leases import SeenLane
from metaserver.store.outage import Outage
from metaserver.store.store import Store
from metaserver.tasks.plugin import installed_tasks

LOOK_SECONDS = 1.0
"""The time between two looks; a longer look is followed by a pause."""
PAUSE_SECONDS = 0.2

log = logging.getLogger(__name__)


class StoreFollower:
    """Follows the store for a process with pages; `lag` is the age of what it shows.

    `listeners` reload what belongs to no phase, whenever another process has changed anything.
    """

    def __init__(self, store: Store, scheduler: Scheduler) -> None:
        self._store = store
        self._scheduler = scheduler
        self._looked_at: float | None = None  # by the loop's clock
        self._last_entry = -1  # of the audit log: whoever changes something writes one
        self._last_change = 0  # of servers' states
        self._regrading: dict[tuple[int, TaskName], asyncio.Task[None]] = {}
        self._refreshing = asyncio.Lock()
        self._shown: dict[LaneKey, SeenLane] = {}
        self.listeners: list[Callable[[], Awaitable[None]]] = []

    @property
    def lag(self) -> float:
        """The time since the store was looked at, in seconds; infinite before the first time."""
        if self._looked_at is None:
            return float("inf")
        return asyncio.get_running_loop().time() - self._looked_at

    async def begin(self) -> None:
        """Note where the log of server states ends, before the phases are loaded."""
        async with self._store.reading() as connection:
            self._last_change = await states.last(connection)

    async def run(self) -> None:
        """Follow the store, until cancelled."""
        outage = Outage(
            log,
            lambda: self._store.blocked,
            "changes of other processes cannot be read",
            "changes of other processes are read again",
        )
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self.look()
            except Exception as error:
                outage.failed(error)
            else:
                self._looked_at = began
                outage.ended()
            elapsed = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(PAUSE_SECONDS, LOOK_SECONDS - elapsed))

    async def reload_after_failures(self) -> None:
        """Reload what a lone process has stored without knowing it, until cancelled.

        If a connection breaks in a commit, it is unknown whether it was carried out.
        """
        handled = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            failed, before = self._store.failed_writes, self._last_entry
            if failed != handled and self._store.blocked is None:
                await self.reload_changes()
                if self._last_entry == before >= 0:  # else it failed, or more was changed
                    handled = failed

    async def reload_changes(self) -> None:
        """Reload what others have changed before now; if that fails, later."""
        try:
            await self._reload_if_changed()
        except UnavailableError:
            pass  # `run` says so
        except Exception:
            log.exception("changes of other processes cannot be read")

    async def _reload_if_changed(self) -> None:
        async with self._refreshing:
            async with self._store.reading() as connection:
                last = await audit.last(connection)
            if last != self._last_entry:
                self._last_entry = last
                try:
                    await self._read_changes()
                except BaseException:
                    self._last_entry = -1  # they are read again
                    raise

    async def _read_changes(self) -> None:
        async with self._scheduler.lanes.lock:
            await self._refresh()
        for running in list(self._scheduler.phases.values()):
            await self._scheduler.advance(running)
        for listener in self.listeners:
            await listener()

    async def look(self) -> None:
        """Bring memory up to date with the store."""
        await self._reload_if_changed()
        async with self._store.reading() as connection:
            lanes = await leases.seen(connection)
            changes = await states.after(connection, self._last_change)
        phases = {running.phase.id: running for running in self._scheduler.phases.values()}
        self._show_states(phases, changes)
        for phase_id, running in phases.items():
            await self._follow(running, [lane for lane in lanes if lane.key.phase_id == phase_id])

    # -- lanes -----------------------------------------------------------------------------------

    async def _follow(self, running: RunningPhase, lanes: Iterable[SeenLane]) -> None:
        """Show what other processes did in a phase's lanes."""
        by_name = {name: lane for lane in lanes if (name := running.name_of(lane.key)) is not None}
        for name, lane in by_name.items():
            before = self._shown.get(lane.key)
            if before is not None and before.revision != lane.revision:
                running.revise(name)
        await running.follower.follow({name: lane.serial for name, lane in by_name.items()})
        for lane in by_name.values():
            before = self._shown.get(lane.key)
            if before is None or _shows(before) != _shows(lane):
                running.shown(_event(running, lane), at_work=lane.is_due or bool(lane.worker))
            self._shown[lane.key] = lane
            self._scheduler.lanes.elsewhere(lane.key, at_work=bool(lane.worker))

    def _show_states(
        self, phases: Mapping[int, RunningPhase], changes: Iterable[StateChange]
    ) -> None:
        """Count server state changes that the leader has stored."""
        for change in changes:
            running = phases.get(change.key.phase_id)
            if running is not None and (name := running.name_of(change.key)) is not None:
                running.follower.change(name, change)
                running.boards.touch()
            self._last_change = change.id

    # -- changes ---------------------------------------------------------------------------------

    async def _refresh(self) -> None:
        """Reload what other processes have changed.

        The caller holds the lanes' lock: nothing here waits for `scoring`, which a gold change
        holds for minutes, and which the deletion of a phase holds while it waits for that lock.
        """
        async with self._store.reading() as connection:
            phases = await stored_phases.list_all(connection)
        ids = {phase.id for phase in phases}
        for running in list(self._scheduler.phases.values()):
            if running.phase.id not in ids:
                self._scheduler.forget(running)
        for phase in phases:
            running = await self._phase(phase)
            for part in Part:
                await running.reload(part)
            await self._show_gold(running)

    async def _phase(self, phase: Phase) -> RunningPhase:
        """Return a phase in memory, by its plan and state as they are stored."""
        running = self._scheduler.phases.get(phase.name)
        if running is None:
            return await self._scheduler.open(phase)
        if running.phase != phase:
            await self._scheduler.replan(running, phase)
        return running

    async def _show_gold(self, running: RunningPhase) -> None:
        """Score the tasks again whose gold another process has changed."""
        async with self._store.reading() as connection:
            versions = await stored_phases.gold_numbers(connection, running.phase.id)
        for task, version in versions.items():
            gold = running.gold.get(task)
            if gold is not None and gold.version == version:
                continue
            async with self._store.reading() as connection:
                newest = await stored_phases.gold_version(connection, running.phase.id, task)
            key = (running.phase.id, task)
            if newest is not None and key not in self._regrading:
                work = asyncio.create_task(self._regrade(running, newest), name="regrading")
                self._regrading[key] = work
                work.add_done_callback(functools.partial(self._regraded, key))

    def _regraded(self, key: tuple[int, TaskName], _work: asyncio.Task[None]) -> None:
        del self._regrading[key]
        self._last_entry = -1  # it has failed, or a newer version has come meanwhile: look again

    async def _regrade(self, running: RunningPhase, gold: GoldVersion) -> None:
        """Show the scores on another process' stored gold, once computed."""
        plugin = installed_tasks()[gold.task]
        try:
            gold_read = await asyncio.to_thread(read_gold, gold.task, gold.content, gold.source)
            async with running.scoring:
                current = running.gold.get(gold.task)
                if current is not None and current.version >= gold.version:
                    return  # it was this process
                async with candidate(self._store, running, plugin, gold_read, Progress()) as board:
                    board.show(gold)
        except UnavailableError:
            pass  # it is tried again
        except Exception:
            log.exception("the gold of %s cannot be shown", gold.task)


def _shows(lane: SeenLane) -> Sequence[object]:
    return (lane.worker, lane.is_due, lane.in_flight, lane.down, lane.ended)


def _event(running: RunningPhase, lane: SeenLane) -> LaneChanged:
    is_over = lane.ended and not (lane.worker or lane.is_due)  # else it is at work, or to be
    end = LaneEnd(lane.ended) if is_over else None
    server = running.server_of(lane.key).server
    return LaneChanged(server=server, in_flight=lane.in_flight, down=lane.down, end=end)
