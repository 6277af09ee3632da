"""The work of lanes: articles, limits, and how servers are asked; in a hub and in a worker.

Gold and boards are no part of it: a process that works lanes alone has no phase but these.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import Corpus, LaneKey, LaneReport, TakenLane
from metaserver.base.phases import Phase
from metaserver.base.records import RegisteredServer, Server, TaskName
from metaserver.base.states import OPEN_STATES
from metaserver.config import Settings
from metaserver.exchange.http.caller import ArticleCaller
from metaserver.exchange.http.client import HttpClient
from metaserver.lanes.events import AttemptEnded, LaneChanged, Recorder
from metaserver.lanes.lane import Lane
from metaserver.phases.locked import LockedServers
from metaserver.phases.restore import articles_of, asked_tasks, vocabulary_of
from metaserver.store import phases as stored_phases
from metaserver.store import servers as stored_servers
from metaserver.store.reader import ReadStore
from metaserver.store.store import Store
from metaserver.tasks.plugin import AnsweredTask, TaskPlugin, answered_tasks
from metaserver.uniprot import ReleaseVocabulary

Publish: TypeAlias = Callable[[AttemptEnded | LaneChanged], None]
Prepare: TypeAlias = Callable[[AttemptEnded], Awaitable[None] | None]


class PhaseWork:
    """The work for a phase's lanes, by one plan and choice of tasks.

    `settings` have the phase's own limits. A server that is down is left after `patience` seconds;
    None: it is probed forever. `scope` is as in `communications.Exchanged`.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        vocabulary: ReleaseVocabulary,
        tasks: Sequence[TaskPlugin],
        *,
        store: ReadStore,
        client: HttpClient,
        clock: Callable[[], float],
        patience: float | None,
        scope: str,
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self.tasks = tasks
        self._clock = clock
        self._patience = patience
        self._caller = ArticleCaller(
            client.bounded(settings.http_limits()),
            articles_of(store, corpus),
            answered_of(tasks),
            vocabulary,
            time_limit=settings.limits.timeout,
            completion=settings.completion(),
            clock=clock,
            scope=scope,
        )

    def lane(
        self,
        server: Server,
        taken_lane: TakenLane,
        recorder: Recorder,
        publish: Publish,
        *,
        prepare: Prepare | None = None,
        down: str = "",
    ) -> Lane:
        """Return a taken server's lane; a lane that was `down` is probed first."""
        return Lane(
            server,
            self.corpus,
            taken_lane.state,
            self.settings.lane_limits(self._patience),
            caller=self._caller,
            recorder=recorder,
            publish=publish,
            prepare=prepare,
            clock=self._clock,
            down=down,
        )


def answered_of(tasks: Sequence[TaskPlugin]) -> Sequence[AnsweredTask]:
    """Return the tasks that servers answer."""
    answered = answered_tasks()
    return [answered[task.name] for task in tasks if task.name in answered]


# -- the phases of a process that works lanes alone ------------------------------------------------

UNFIT_SECONDS = 300.0
"""Time until a phase is tried again that this process cannot work."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """A phase's work, and what it was made from."""

    phase: Phase
    gold: frozenset[TaskName]
    work: PhaseWork


class _Lack(NamedTuple):
    """The lack of what a phase needs, until it is tried again by the loop's clock."""

    until: float
    reason: str


class PhaseWorks:
    """All phases' work, for a process without boards; `clock` returns Unix seconds."""

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        settings: Settings,
        recorder: Recorder,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._client = client
        self._settings = settings
        self._recorder = recorder
        self._clock = clock
        self._known: dict[int, _Known] = {}
        self.locked = LockedServers(store, client.keyring)
        self._unfit: dict[int, _Lack] = {}  # by phase
        self._servers: dict[LaneKey, RegisteredServer] = {}
        self._reports: dict[LaneKey, LaneReport] = {}

    def may_take(self, key: LaneKey) -> bool:
        """Return whether this process can work a lane, as far as it knows."""
        return not self.locked.has(key.server_id) and key.phase_id not in self._lacks()

    def lacks(self) -> str:
        """Return why there are lanes that this process cannot work, so that others have its share.

        Empty if it can work all of them.
        """
        return "; ".join(filter(None, [self.locked.reason(), *self._lacks().values()]))

    def _lacks(self) -> Mapping[int, str]:
        """Return why phases cannot be worked now, by their ids."""
        now = asyncio.get_running_loop().time()
        return {phase: lack.reason for phase, lack in self._unfit.items() if lack.until > now}

    def _lack(self, phase_id: int, reason: str) -> None:
        if phase_id not in self._unfit:
            log.warning("lanes are left to other processes: %s", reason)
        until = asyncio.get_running_loop().time() + UNFIT_SECONDS
        self._unfit[phase_id] = _Lack(until, reason)

    async def make(self, taken_lanes: Sequence[TakenLane]) -> Sequence[Lane]:
        """Return the lanes that were taken, ready to work; without those that it cannot work."""
        lanes: list[Lane] = []
        async with self._store.reading() as connection:
            registered = {server.id: server for server in await stored_servers.list_all(connection)}
        await self.locked.look()
        taken_lanes = [
            lane for lane in taken_lanes if not self.locked.has(lane.state.key.server_id)
        ]
        for phase_id in sorted({taken_lane.state.key.phase_id for taken_lane in taken_lanes}):
            try:
                work = await self._work(phase_id)
            except UnavailableError as error:  # they are given back, and offered again
                log.warning("phase %d cannot be read now: %s", phase_id, error.reason)
                continue
            except Exception as error:
                self._lack(phase_id, f"phase {phase_id} cannot be worked here: {error}")
                continue
            self._unfit.pop(phase_id, None)
            if work is None:
                continue
            lanes.extend(
                self._lane(work, registered[taken_lane.state.key.server_id], taken_lane)
                for taken_lane in taken_lanes
                if taken_lane.state.key.phase_id == phase_id
            )
        return lanes

    def ended(self, key: LaneKey, failure: Exception | None) -> None:
        """Note a lane's end."""
        registered = self._servers.pop(key)
        self._reports.pop(key, None)
        if not any(key.server_id == other_server.server_id for other_server in self._servers):
            self._client.slots.forget(registered.server.name)
        if failure is not None:
            log.error("%s is sent nothing until it is started", registered.server.name)

    def take_reports(self) -> Sequence[LaneReport]:
        """Return what the lanes are at that have changed since the last call."""
        reports, self._reports = self._reports, {}
        return list(reports.values())

    def _lane(self, work: PhaseWork, registered: RegisteredServer, taken_lane: TakenLane) -> Lane:
        key = taken_lane.state.key
        self._servers[key] = registered

        def publish(event: AttemptEnded | LaneChanged) -> None:
            if isinstance(event, LaneChanged):
                self._reports[key] = LaneReport(key, event.in_flight, event.down)

        return work.lane(
            registered.server, taken_lane, self._recorder, publish, down=taken_lane.down
        )

    async def _work(self, phase_id: int) -> PhaseWork | None:
        """Return a phase's work as planned now; None for a phase that is not open."""
        async with self._store.reading() as connection:
            phase = await stored_phases.by_id(connection, phase_id)
            gold = await stored_phases.gold_tasks(connection, phase_id)
        if phase is None or phase.state(self._clock()) not in OPEN_STATES:
            return None
        cached = self._known.get(phase_id)
        if cached is None or (cached.phase.plan, cached.gold) != (phase.plan, gold):
            corpus = await self._store.corpus(phase.corpus_id)
            work = PhaseWork(
                corpus,
                self._settings.of_phase(phase.plan),
                await asyncio.to_thread(vocabulary_of, self._settings, phase.release),
                asked_tasks(dict.fromkeys(gold), phase.plan.tasks),
                store=self._store,
                client=self._client,
                clock=self._clock,
                patience=None,
                scope=f"phase {phase_id}",
            )
            cached = self._known[phase_id] = _Known(phase=phase, gold=gold, work=work)
        return cached.work
