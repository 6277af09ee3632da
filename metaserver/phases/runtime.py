"""A running phase: its articles, its gold, its boards, and lanes for its servers."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum, auto

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import Corpus, LaneKey, StateChange, TakenLane
from metaserver.base.phases import DataPackage, GoldVersion, Phase
from metaserver.base.records import PhaseName, RegisteredServer, ServerName, TaskName, TeamName
from metaserver.base.states import OPEN_STATES, PhaseState, ServerState
from metaserver.base.viewer import Aliases
from metaserver.boards.coverage import Coverage
from metaserver.boards.forecast import Paces
from metaserver.boards.gold import PublicPart
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.rescoring import Scored, ignored, score_answers
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.boards.windows import Windows
from metaserver.config import Settings
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.urls import address
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.lanes.lane import Lane
from metaserver.phases.checkpoints import basis_of
from metaserver.phases.follower import Follower
from metaserver.phases.live import LiveBoards, RunOwner
from metaserver.phases.restore import asked_tasks, gold_marks, scored_of
from metaserver.phases.work import PhaseWork, answered_of
from metaserver.store import kept_files, logs, states
from metaserver.store import phases as stored_phases
from metaserver.store import runs as stored_runs
from metaserver.store import servers as stored_servers
from metaserver.store import teams as stored_teams
from metaserver.store import uploads as stored_uploads
from metaserver.store.keys import digest_key
from metaserver.store.logs import LogEnd, LoggedAttempt
from metaserver.store.runs import OfflineRun
from metaserver.store.store import Store
from metaserver.store.teams import Team
from metaserver.store.uploads import Upload
from metaserver.tasks.plugin import AnsweredTask, OfflineTask, TaskPlugin
from metaserver.uniprot import ReleaseVocabulary


class Part(Enum):
    """A part of a phase in memory that any process' operations change in the store."""

    TEAMS = auto()
    SERVERS = auto()  # and the desired states of their lanes
    RUNS = auto()
    UPLOADS = auto()
    DATA = auto()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class PhaseContext:
    """What the hub gives each phase to work with.

    `publish` is called with its lanes' events, `on_attempt` with each attempt that other processes
    store. A server that is down is left after `patience` seconds; None: it is probed forever.
    """

    store: Store
    client: HttpClient
    publish: Callable[[RunningPhase, AttemptEnded | LaneChanged], None]
    on_attempt: Callable[[LoggedAttempt], None] | None
    clock: Callable[[], float]
    patience: float | None


class RunningPhase:
    """A phase in the hub's memory; `RunningPhase.open` loads it.

    `reload` shows what was committed, by whichever process. `state` is the state into which the
    scheduler has brought the phase; `servers` have a lane or a run.
    """

    def __init__(
        self,
        phase: Phase,
        corpus: Corpus,
        settings: Settings,
        vocabulary: ReleaseVocabulary,
        gold: Mapping[TaskName, GoldVersion],
        scored: Sequence[ScoredTask],
        *,
        part: PublicPart | None,
        aliases: Aliases,
        context: PhaseContext,
    ) -> None:
        clock = context.clock
        self.phase = phase
        self.state: PhaseState | None = None
        self.corpus = corpus
        self.settings = settings
        self.vocabulary = vocabulary
        self.gold = gold
        self.part = part
        self.aliases = aliases
        self.teams: dict[TeamName, Team] = {}
        self.positions = {article: position for position, article in enumerate(corpus.ids)}
        self.servers: dict[ServerName, RegisteredServer] = {}
        self._names: dict[int, ServerName] = {}  # of the servers, by id
        self._found_down: dict[ServerName, str] = {}  # at loading, with the reason
        self.windows = Windows(settings.limits.timeout, clock=clock)
        self.paces = Paces(clock)
        self._context = context
        self.offline: dict[ServerName, OfflineRun] = {}
        self.uploads: list[Upload] = []  # all that counted, in their order
        self.data: DataPackage | None = None  # that its organiser released
        self._reloading = asyncio.Lock()  # so that what was read last is shown last
        self._unscored: dict[ServerName, OfflineRun | None] = {}  # until `catch_up`; None: deleted
        self.scoring = asyncio.Lock()  # one change of the runs' scores at a time
        self._ended = False  # nothing more is answered, though it is open
        monitor = ServerMonitor(
            phase.name,
            len(corpus),
            settings.limits.timeout,
            clock=clock,
            opened=lambda: self.phase.state(clock()) in OPEN_STATES,
        )
        self.boards = LiveBoards(
            monitor,
            Scoreboard(
                scored,
                phase.plan.ranking,
                Coverage(
                    positions=self.positions,
                    over=monitor.over,
                    is_open=lambda: not self._ended and self.phase.state(clock()) in OPEN_STATES,
                ),
            ),
            blocked=lambda: context.store.blocked,
            lacking=self._lacking,
            currency=phase.plan.usage.currency,
        )
        self.follower = Follower(
            context.store,
            self.boards,
            self.windows,
            corpus,
            basis=basis_of(settings, vocabulary),
            measuring=self._measuring,
            clock=clock,
            on_attempt=None if context.on_attempt is None else self._heard,
        )
        self.tasks = asked_tasks(gold, phase.plan.tasks)
        self.work = self._work()

    @classmethod
    async def open(
        cls,
        phase: Phase,
        settings: Settings,
        vocabulary: ReleaseVocabulary,
        context: PhaseContext,
    ) -> RunningPhase:
        """Load a phase from the store; its boards are made by `catch_up`."""
        async with context.store.reading() as connection:
            gold = await stored_phases.newest_gold(connection, phase.id)
            key = await digest_key(connection)
        corpus = await context.store.corpus(phase.corpus_id)
        part = PublicPart.of(key, phase.id, phase.plan)
        scored = await asyncio.to_thread(scored_of, gold, vocabulary, corpus, part)
        running = cls(
            phase,
            corpus,
            settings,
            vocabulary,
            gold,
            scored,
            part=part,
            aliases=Aliases(key, phase.id),
            context=context,
        )
        for changing in Part:
            await running.reload(changing)
        return running

    def _work(self) -> PhaseWork:
        return PhaseWork(
            self.corpus,
            self.settings,
            self.vocabulary,
            self.tasks,
            store=self._context.store,
            client=self._context.client,
            clock=self._context.clock,
            patience=self._context.patience,
            scope=f"phase {self.phase.id}",
        )

    @property
    def name(self) -> PhaseName:
        """The phase's name."""
        return self.phase.name

    @property
    def label(self) -> str:
        """How people know the phase: its title, or `phase NAME`."""
        return self.phase.label

    @property
    def uploads_only(self) -> bool:
        """True if its tasks are offline: no server takes part."""
        return any(isinstance(task, OfflineTask) for task in self.tasks)

    @property
    def answered(self) -> Sequence[AnsweredTask]:
        """The tasks that its servers answer."""
        return answered_of(self.tasks)

    def articles_of(self, task: TaskPlugin) -> int:
        """Return how many articles a run of a task answers: the corpus's, or an offline gold's."""
        if not isinstance(task, OfflineTask):
            return len(self.corpus)
        golds = {scored.plugin.name: scored.gold for scored in self.boards.scoreboard.scored()}
        return len(task.gold_articles(golds[task.name])) if task.name in golds else 0

    @property
    def has_runs(self) -> bool:
        """True if a server takes part, or an offline run was uploaded."""
        return bool(self.servers or self.offline)

    def replan(self, phase: Phase, settings: Settings) -> None:
        """Apply a changed plan; its limits apply to lanes started from now on.

        If the time limit changed, attempts that timed out are counted again.
        """
        before = self.settings.limits.timeout
        self.phase = phase
        self.boards.rank(phase.plan.ranking)
        self.boards.price(phase.plan.usage.currency)
        self.settings = settings.of_phase(phase.plan)
        if self.settings.limits.timeout != before:
            self.boards.server_monitor.limit(self.settings.limits.timeout)
            self.windows.limit(self.settings.limits.timeout)
            self.follower.limit(basis_of(self.settings, self.vocabulary))
        self.work = self._work()

    def key(self, server: RegisteredServer) -> LaneKey:
        """Return a server's lane key."""
        return LaneKey(self.phase.id, server.id)

    async def reload(self, part: Part, name: str | None = None) -> None:
        """Show what a part has in the store now: for a team, server or run, or for all.

        `score_run` or `catch_up` bring new and deleted runs onto the boards.
        """
        async with self._reloading, self._context.store.reading() as connection:
            match part:
                case Part.TEAMS:
                    await self._reload_teams(connection, name)
                case Part.SERVERS:
                    await self._reload_servers(connection, name)
                case Part.RUNS:
                    await self._reload_runs(connection, name)
                case Part.UPLOADS:
                    self.uploads[:] = await stored_uploads.list_all(connection, self.phase.id)
                case Part.DATA:
                    self.data = await kept_files.data_package(connection, self.phase.id)
        self.boards.touch()

    async def _reload_teams(self, connection: AsyncConnection, name: str | None) -> None:
        if name is None:
            stored = await stored_teams.list_all(connection)
        else:
            team = await stored_teams.get(connection, TeamName(name))
            stored = [] if team is None else [team]
        changed = {team.name: team for team in stored if self.teams.get(team.name) != team}
        self.teams |= changed
        for server, registered in self.servers.items():
            if registered.team in changed:
                self.boards.enter(server, self._owner_of(registered))
        for run in self.offline.values():
            if run.team in changed:
                self.boards.enter(run.name, self._owner(run.team, offline=True))

    async def _reload_servers(self, connection: AsyncConnection, name: str | None) -> None:
        stored = await stored_servers.in_phase(connection, self.phase.id, name)
        new_servers = [server for server, _ in stored if server.server.name not in self.servers]
        ends: Mapping[int, LogEnd] = {}
        changes: Mapping[int, StateChange] = {}
        if new_servers:
            only = new_servers[0].id if name is not None else None
            ends = await logs.ends(connection, self.phase.id, only)
            changes = await states.newest(connection, self.phase.id, server_id=only)
        for registered, control in stored:
            present = self.servers.get(registered.server.name)
            if present is None:
                await self._load_team(connection, registered.team)
                self._enter(registered, ends[registered.id], changes.get(registered.id))
            elif present != registered:
                self._enter(registered)
            monitor = self.boards.server_monitor
            monitor.control(registered.server.name, control.control, control.note)

    async def _reload_runs(self, connection: AsyncConnection, name: str | None) -> None:
        stored: dict[ServerName, OfflineRun | None]
        if name is None:
            stored = dict.fromkeys(self.offline)
            for run in await stored_runs.list_all(connection, self.phase.id):
                stored[run.name] = run
        else:
            key = ServerName(name)
            stored = {key: await stored_runs.get(connection, self.phase.id, key)}
        for key, newest in stored.items():
            if newest == self._unscored.get(key, self.offline.get(key)):
                continue
            if newest is not None:
                await self._load_team(connection, newest.team)
                self._enter_run(newest)
            elif not self.scoring.locked():
                self._drop_run(key)
                continue
            self._unscored[key] = newest  # the runs may be being scored now

    async def _load_team(self, connection: AsyncConnection, team: TeamName | None) -> None:
        """Read the team of a server or run that enters the phase, if the team is newer."""
        if team is not None and team not in self.teams:
            await self._reload_teams(connection, team)

    def _owner(self, team: TeamName | None, *, offline: bool = False) -> RunOwner:
        owner = self.teams.get(team) if team else None
        title, host = (owner.title, owner.host) if owner else ("", False)
        return RunOwner(team=team or "", title=title, offline=offline, baseline=host)

    def _owner_of(self, registered: RegisteredServer) -> RunOwner:
        owner = self._owner(registered.team)
        return dataclasses.replace(owner, protocol=registered.server.protocol)

    def _enter(
        self,
        registered: RegisteredServer,
        end: LogEnd = LogEnd(),  # noqa: B008
        change: StateChange | None = None,
    ) -> None:
        """Show a server; if it is new, its log ends there, and `change` was its state's last."""
        name = registered.server.name
        is_new = name not in self.servers
        self.servers[name] = registered
        self._names[registered.id] = name
        self.boards.server_monitor.add(registered.server, address(registered.server.url))
        self.boards.enter(name, self._owner_of(registered))
        self.follower.add(
            registered.server, self.key(registered), end, has_changed=change is not None
        )
        if is_new:
            self._find_down(name, change)

    def _find_down(self, name: ServerName, change: StateChange | None) -> None:
        """Note that a server was down when its lane last worked: it is probed first."""
        if change is not None and change.state is ServerState.DOWN:
            self._found_down[name] = change.note
            self.boards.server_monitor.found_down(name, change.note)

    def revise(self, name: ServerName) -> None:
        """Note that a server's attempts have changed: articles are in its queue again."""
        self.boards.server_monitor.reopened(name)
        self.follower.revise(name)

    async def read_again(self, name: ServerName) -> None:
        """Count a server's attempts again, which have changed."""
        async with self._context.store.reading() as connection:
            changes = await states.list_changes(connection, self.key(self.servers[name]), limit=1)
        self._find_down(name, changes[-1] if changes else None)
        await self.follower.catch_up_with(name)

    @property
    def is_behind(self) -> bool:
        """True while the boards lack stored answers."""
        finished, total = self.follower.progress
        return finished < total or bool(self._unscored)

    def _lacking(self) -> Set[ServerName]:
        """Return the runs that lack stored answers."""
        return self.follower.behind | self._unscored.keys()

    @property
    def catching_up(self) -> str:
        """A text for boards that lack stored answers; else empty."""
        if not self.is_behind:
            return ""
        finished, total = self.follower.progress
        runs = f", {len(self._unscored):,} uploaded runs left" if self._unscored else ""
        return f"catching up: {finished:,} of {total:,} servers{runs}"

    async def catch_up(self) -> None:
        """Bring the boards, monitor and windows up to date with the store.

        The caller holds `scoring`.
        """
        while self.is_behind:
            await self.catch_up_further()

    async def catch_up_further(self) -> None:
        """Bring all lanes up to date, and the next offline run.

        The caller holds `scoring`.
        """
        await self.follower.catch_up()
        for name in list(self._unscored)[:1]:
            await self.score_run(name)

    def _measuring(self) -> tuple[ServerMonitor, Windows]:
        limit = self.settings.limits.timeout
        monitor = ServerMonitor(self.phase.name, len(self.corpus), limit, clock=self._context.clock)
        return monitor, Windows(limit, clock=self._context.clock)

    def published(self, event: AttemptEnded | LaneChanged) -> None:
        """Record a lane's event."""
        self.paces.publish(event)
        self.follower.publish(event)

    def shown(self, event: LaneChanged, *, at_work: bool) -> None:
        """Record a changed lane in another process; `at_work`, or to be as soon as it can."""
        self.paces.turn(event.server.name, working=at_work)
        self.follower.publish(event)

    def _heard(self, entry: LoggedAttempt) -> None:
        """Record an attempt that another process has stored."""
        assert self._context.on_attempt is not None
        if entry.final:
            self.paces.ended(entry.attempt.server, entry.attempt.ended_at)
        self._context.on_attempt(entry)

    async def score_run(self, name: ServerName) -> None:
        """Bring an uploaded run that was stored or deleted onto the boards, or off them.

        The caller holds `scoring`.
        """
        if name in self._unscored:
            run = self._unscored[name]
            if run is None:
                self._drop_run(name)
            else:
                await self._score_run(run)

    def _enter_run(self, run: OfflineRun) -> None:
        self.offline[run.name] = run
        self.boards.enter(run.name, self._owner(run.team, offline=True))

    async def _score_run(self, run: OfflineRun) -> None:
        tasks = [
            scored for scored in self.boards.scoreboard.scored() if scored.plugin.name == run.task
        ]
        scored = await asyncio.to_thread(Scoreboard, tasks, self.phase.plan.ranking)
        await score_answers(self._context.store, scored, self.corpus, {}, [run])
        self.boards.scoreboard.adopt(scored, run.name)
        if self._unscored.get(run.name) == run:  # else another process has replaced it meanwhile
            del self._unscored[run.name]
        self.boards.touch()

    def _drop_run(self, name: ServerName) -> None:
        """Remove an offline run from the boards."""
        self.offline.pop(name, None)
        self._unscored.pop(name, None)
        self.boards.leave(name)

    def end(self) -> None:
        """Count all articles in the scores from now on, as from a freeze on.

        It is for who drives a phase and ends with its lanes: in the store it stays open.
        """
        self._ended = True
        self.boards.touch()

    def lane(self, taken_lane: TakenLane) -> Lane:
        """Return a taken lane; if it was down, it is probed before it gets an article."""
        registered = self.server_of(taken_lane.state.key)
        name = registered.server.name
        self.follower.expect(name, taken_lane.state.serial)
        return self.work.lane(
            registered.server,
            taken_lane,
            self._context.store,
            functools.partial(self._context.publish, self),
            prepare=self.boards.prepare,
            down=self._found_down.pop(name, ""),
        )

    def name_of(self, key: LaneKey) -> ServerName | None:
        """Return the name of a lane's server, or None if unknown."""
        return self._names.get(key.server_id)

    def server_of(self, key: LaneKey) -> RegisteredServer:
        """Return a lane's server."""
        return self.servers[self._names[key.server_id]]

    def rest(self, name: ServerName) -> None:
        """Forget what a server reported of its state, as no lane asks it any more."""
        self._context.client.slots.forget(name)

    def show_locked(self, names: Set[ServerName]) -> None:
        """Show which servers wait for the key of their credentials, and no others."""
        if self.boards.server_monitor.lock(names):
            self.boards.touch()

    def show_gold(self, gold: GoldVersion, scoreboard: Scoreboard) -> None:
        """Show a task's scores on its newest gold, and request the task from now on.

        The caller holds `scoring`, and has put onto the board all answers that arrived meanwhile.
        """
        self.gold = {**self.gold, gold.task: gold}
        scoreboard.mark(gold.task, gold_marks(self.gold)[gold.task])
        self.boards.regrade(gold.task, scoreboard)
        self.follower.void_scores()
        self.tasks = asked_tasks(self.gold, self.phase.plan.tasks)
        self.work = self._work()

    async def score_answers(self, board: Scoreboard, scored: Scored = ignored) -> None:
        """Put all the phase's answers onto an empty board."""
        lanes = {name: self.key(registered) for name, registered in self.servers.items()}
        runs = list(self.offline.values())
        await score_answers(self._context.store, board, self.corpus, lanes, runs, scored)

    async def answer_count(self) -> int:
        """Return the number of answers, from servers and offline runs."""
        offline = sum(run.answers for run in self.offline.values())
        return offline + await self._context.store.answer_count(self.phase.id)
