"""A running phase: its articles, its gold, its boards, and lanes for its servers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from metaserver.client.caller import ArticleCaller
from metaserver.client.http import HttpClient
from metaserver.client.urls import address
from metaserver.config import Settings
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.lanes.lane import Lane
from metaserver.leaderboards.gold import read_gold, scored_tasks
from metaserver.leaderboards.rescoring import Scored, ignored, score_answers
from metaserver.leaderboards.scoreboard import Scoreboard
from metaserver.model.lanes import Corpus, LaneKey
from metaserver.model.phases import GoldVersion, Phase
from metaserver.model.records import PhaseName, ServerName, TaskName
from metaserver.model.servers import LaneControl, RegisteredServer
from metaserver.model.states import ANSWERED, OPEN_STATES, PhaseState, ServerState
from metaserver.monitoring.monitor import ServerMonitor
from metaserver.monitoring.tally import Ended
from metaserver.monitoring.windows import LONGEST, Windows
from metaserver.phases.live import LiveBoards, RunOwner
from metaserver.phases.restore import articles_of, asked_tasks, gold_marks, restore
from metaserver.store import phases as stored_phases
from metaserver.store import runs as stored_runs
from metaserver.store import servers as stored_servers
from metaserver.store import states
from metaserver.store.runs import OfflineRun
from metaserver.store.store import Store
from metaserver.uniprot import ReleaseVocabulary


class RunningPhase:
    """One phase in the hub's memory; `RunningPhase.open` loads it.

    `state` is the state into which the scheduler has brought it; `servers` have a lane or a run.
    """

    def __init__(
        self,
        phase: Phase,
        corpus: Corpus,
        settings: Settings,
        vocabulary: ReleaseVocabulary,
        gold: Mapping[TaskName, GoldVersion],
        scoreboard: Scoreboard,
        *,
        store: Store,
        client: HttpClient,
        publish: Callable[[RunningPhase, AttemptEnded | LaneChanged], None],
        clock: Callable[[], float],
        patience: float | None,
    ) -> None:
        self.phase = phase
        self.state: PhaseState | None = None
        self.corpus = corpus
        self.settings = settings
        self.vocabulary = vocabulary
        self.gold = gold
        self.positions = {article: position for position, article in enumerate(corpus.ids)}
        self.servers: dict[ServerName, RegisteredServer] = {}
        self._found_down: dict[ServerName, str] = {}  # at loading, with the reason
        self.windows = Windows(settings.limits.timeout, clock=clock)
        self._store = store
        self._publish = publish
        self._clock = clock
        self._patience = patience
        self.offline: dict[ServerName, OfflineRun] = {}
        self.scoring = asyncio.Lock()  # one change of the runs' scores at a time
        self.boards = LiveBoards(
            ServerMonitor(
                phase.name,
                len(corpus),
                settings.limits.timeout,
                clock=clock,
                opened=lambda: self.phase.state(clock()) in OPEN_STATES,
            ),
            scoreboard,
            blocked=lambda: store.blocked,
        )
        self.tasks = asked_tasks(gold, phase.plan.tasks)
        self._client = client
        self._caller = self._make_caller()

    @classmethod
    async def open(
        cls,
        phase: Phase,
        settings: Settings,
        *,
        vocabulary: ReleaseVocabulary,
        store: Store,
        client: HttpClient,
        publish: Callable[[RunningPhase, AttemptEnded | LaneChanged], None],
        clock: Callable[[], float],
        patience: float | None,
    ) -> RunningPhase:
        """Load a phase, with its boards, from the store.

        A server that is down is left after `patience` seconds; None: it is probed for ever.
        """
        settings = settings.of_phase(phase.plan.limits)
        async with store.reading() as connection:
            gold = await stored_phases.newest_gold(connection, phase.id)
            controls = await stored_servers.controls(connection, phase.id)
            registered = await stored_servers.list_all(connection)
            offline = await stored_runs.list_all(connection, phase.id)
        running = cls(
            phase,
            await store.corpus(phase.corpus_id),
            settings,
            vocabulary,
            gold,
            await asyncio.to_thread(_scoreboard, gold, vocabulary),
            store=store,
            client=client,
            publish=publish,
            clock=clock,
            patience=patience,
        )
        for server in registered:
            if server.id in controls:
                await running.add(server, controls[server.id])
        for run in offline:
            await running.add_run(run)
        return running

    def _make_caller(self) -> ArticleCaller:
        return ArticleCaller(
            self._client.bounded(self.settings.http_limits()),
            articles_of(self._store, self.corpus),
            self.tasks,
            self.vocabulary,
            time_limit=self.settings.limits.timeout,
            clock=self._clock,
        )

    @property
    def name(self) -> PhaseName:
        """The phase's name."""
        return self.phase.name

    @property
    def has_runs(self) -> bool:
        """True if a server takes part, or an offline run was uploaded."""
        return bool(self.servers or self.offline)

    def replan(self, phase: Phase, settings: Settings) -> None:
        """Apply a changed plan; its limits apply to lanes that are started from now on."""
        self.phase = phase
        self.settings = settings.of_phase(phase.plan.limits)
        self.boards.server_monitor.limit(self.settings.limits.timeout)
        self._caller = self._make_caller()

    def key(self, server: RegisteredServer) -> LaneKey:
        """Return the key of a server's lane."""
        return LaneKey(self.phase.id, server.id)

    async def add(self, registered: RegisteredServer, control: LaneControl) -> None:
        """Add a server to the phase, or apply changes of it."""
        name = registered.server.name
        self.servers[name] = registered
        self.boards.server_monitor.add(registered.server, address(registered.server.url))
        self.boards.server_monitor.control(name, control.control, control.note)
        self.boards.enter(name, RunOwner(team=registered.team or ""))
        await restore(self._store, self.boards, self.corpus, name, self.key(registered))
        await self._restore_windows(name, self.key(registered))

    async def _restore_windows(self, name: ServerName, key: LaneKey) -> None:
        """Compute a server's measures of the last month from the store."""
        self.windows.forget(name)
        month = self._clock() - LONGEST.seconds
        async with self._store.reading() as connection:
            changes = await states.list_changes(connection, key, since=month)
        for change in changes:
            self.windows.state(name, change.at, change.state, change.note)
        if changes and changes[-1].state is ServerState.DOWN:
            self._found_down[name] = changes[-1].note
            self.boards.server_monitor.found_down(name, changes[-1].note)
        hits = await self._store.hits_kept(key)
        ended = [
            Ended.of(
                stored.attempt,
                hits=hits.get(stored.position, 0) if stored.attempt.outcome in ANSWERED else 0,
                article_bytes=self.corpus.wire_bytes[stored.position],
                final=stored.final,
            )
            async for stored in self._store.attempts(key, name, self.corpus, since=month)
        ]
        self.windows.restore(name, ended)

    def published(self, event: AttemptEnded | LaneChanged) -> None:
        """Record an event of a lane."""
        self.boards.publish(event)
        if isinstance(event, AttemptEnded):
            ended = Ended.of(
                event.attempt,
                hits=event.answer.hits_kept if event.answer else 0,
                article_bytes=self.corpus.wire_bytes[event.position],
                final=event.decision.final,
            )
            self.windows.attempt(event.server.name, ended)

    async def add_run(self, run: OfflineRun) -> None:
        """Show an offline run, replacing the one of its name if there is one.

        The caller holds `scoring` once the phase is running.
        """
        tasks = [one for one in self.boards.scoreboard.scored() if one.plugin.name == run.task]
        scored = await asyncio.to_thread(Scoreboard, tasks)
        await score_answers(self._store, scored, self.corpus, {}, [run])
        self.offline[run.name] = run
        self.boards.scoreboard.adopt(scored, run.name)
        self.boards.enter(run.name, RunOwner(team=run.team, offline=True))

    def drop_run(self, name: ServerName) -> None:
        """Remove an offline run from the boards."""
        del self.offline[name]
        self.boards.leave(name)

    async def lanes(self, names: Iterable[ServerName]) -> Sequence[Lane]:
        """Take the lanes of servers from the store; they must not be running.

        One that was down is probed before it is sent an article.
        """
        servers = [self.servers[name] for name in names]
        states = await self._store.take_lanes(self.phase.id, [server.id for server in servers])
        limits = self.settings.lane_limits(self._patience)
        return [
            Lane(
                registered.server,
                self.corpus,
                states[registered.id],
                limits,
                caller=self._caller,
                recorder=self._store,
                publish=functools.partial(self._publish, self),
                prepare=self.boards.prepare,
                clock=self._clock,
                down=self._found_down.pop(registered.server.name, ""),
            )
            for registered in servers
        ]

    def show_gold(self, gold: GoldVersion, scoreboard: Scoreboard) -> None:
        """Show a task's scores on its newest gold, and request the task from now on.

        The caller holds `scoring`, and has put onto the board all answers that arrived meanwhile.
        """
        self.gold = {**self.gold, gold.task: gold}
        scoreboard.mark(gold.task, gold_marks(self.gold)[gold.task])
        self.boards.regrade(gold.task, scoreboard)
        self.tasks = asked_tasks(self.gold, self.phase.plan.tasks)
        self._caller = self._make_caller()

    async def score_answers(self, board: Scoreboard, scored: Scored = ignored) -> None:
        """Put all answers of the phase onto an empty board."""
        lanes = {name: self.key(registered) for name, registered in self.servers.items()}
        runs = list(self.offline.values())
        await score_answers(self._store, board, self.corpus, lanes, runs, scored)

    async def answer_count(self) -> int:
        """Return the number of answers, of servers and of offline runs."""
        offline = sum(run.articles for run in self.offline.values())
        return offline + await self._store.answer_count(self.phase.id)


def _scoreboard(gold: Mapping[TaskName, GoldVersion], vocabulary: ReleaseVocabulary) -> Scoreboard:
    """Return the empty boards of the tasks that have gold; slow for a large gold."""
    golds = {task: read_gold(task, one.content, one.source) for task, one in gold.items()}
    return Scoreboard(scored_tasks(golds, vocabulary, gold_marks(gold)))
