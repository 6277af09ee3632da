"""Views of phases: a phase's boards, monitor and servers as a viewer may see them.

The public pages are drawn from a view whenever something changes, so it answers from memory. What
needs the store is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import msgspec

from metaserver.base.boards import (
    PUBLIC,
    RAW,
    ArticleBoard,
    Board,
    BoardRow,
    FrozenBoard,
    PairedRuns,
    View,
)
from metaserver.base.compression import unpack
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import PhaseName, ServerName, TaskName, TeamName
from metaserver.base.states import OVER, ServerState, Visibility
from metaserver.base.structs import convert
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.scoreboard import order_of
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.boards.trends import Trend
from metaserver.boards.windows import ServerWindow, Window
from metaserver.operations.attempts import AttemptDetail
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.methods import MethodDetail, seen_methods
from metaserver.operations.monitoring import StateEvent
from metaserver.operations.phases import PhaseDetail, detail
from metaserver.operations.rounded import (
    AnsweredShare,
    RoundedRow,
    in_public_part,
    note,
    reveals_gold,
    rounded,
)
from metaserver.operations.visibility import (
    PublicMonitor,
    SeenNames,
    seen,
    seen_articles,
    seen_frozen,
    seen_note,
    seen_usage,
    sees_all_scores,
    sees_curves,
    why_hidden,
)
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards, states
from metaserver.store.uploads import Upload
from metaserver.tasks.plugin import PairedTask, TaskPlugin

NOTES: Mapping[Visibility, str] = {
    Visibility.HIDDEN: "Only organisers see these scores.",
    Visibility.OWN: "Organisers see all scores, each team those of its own runs.",
}
UNTIL_FROZEN = "How hard articles are is shown when the phase is frozen: it depends on the gold."
NO_PART = "The articles of the public part of the gold are not named."
OWN_NOTE = "The runs of your team, placed among themselves."
EVENTS = 50  # newest changes of a server's state that are shown
ATTEMPTS = 20  # newest attempts that a server's team is shown; its console has all


@dataclass(frozen=True, kw_only=True)
class ServerReading:
    """A server in a phase as a viewer may see it; `attempts` is None if hidden from the viewer.

    `seen_as` is the name that others see until the freeze; empty if they see its own.
    """

    phase: PhaseName
    status: ServerStatus
    team: str
    seen_as: str
    window: Window
    measures: ServerWindow
    trend: Trend
    time_limit: float
    events: Sequence[StateEvent]  # newest first
    errors: Sequence[ErrorEntry]
    attempts: Sequence[AttemptDetail] | None


class _Rounded(NamedTuple):
    """A board with rounded scores, what it was made from, and its rows for the next."""

    rows: Sequence[BoardRow]
    made_of: tuple[Mapping[str, int], Set[str], float]
    board: Board
    kept: dict[str, RoundedRow]


class _Carded(NamedTuple):
    """A run's card, with what it is compared by."""

    plugin: PairedTask
    gold: Any
    card: Any
    measure: str


class PhaseView:
    """A running phase as far as each viewer may see it.

    It caches the monitor's public rows, so keep the view if you draw often. `links` are its frozen
    boards' permanent links, by task: see `look_for_frozen`. `names` are those that viewers see.
    """

    def __init__(self, hub: HubContext, running: RunningPhase) -> None:
        self.links: Mapping[TaskName, str] = {}
        self._hub = hub
        self._running = running
        self.names = SeenNames(running)
        self._public_monitor = PublicMonitor(self._team, self._named)
        self._rounded: dict[tuple[TaskName, View], _Rounded] = {}

    @classmethod
    def find(cls, hub: HubContext, phase: str) -> PhaseView | None:
        """Return a phase's view by name, or None."""
        running = hub.phases.scheduler.phases.get(PhaseName(phase))
        return None if running is None else cls(hub, running)

    @property
    def current(self) -> bool:
        """True while the hub works this phase: a new plan may have put another in its place."""
        return self._hub.phases.scheduler.phases.get(self.name) is self._running

    def __eq__(self, other: object) -> bool:
        """Return whether the other shows the same phase."""
        return isinstance(other, PhaseView) and other._running is self._running

    def __hash__(self) -> int:
        """Return the phase's hash."""
        return hash(self._running)

    @property
    def name(self) -> PhaseName:
        """The phase's name."""
        return self._running.name

    @property
    def own_name(self) -> str:
        """The phase's name in its challenge."""
        return self._running.phase.own_name

    @property
    def embargoed(self) -> bool:
        """True while the phase's challenge is for organisers alone."""
        return self._hub.is_embargoed(self._running)

    @property
    def challenge(self) -> str:
        """The phase's challenge."""
        return self._running.phase.challenge

    @property
    def public(self) -> bool:
        """True if everybody may see the phase's scores."""
        return not self.embargoed and sees_all_scores(self._visibility, ANYBODY)

    @property
    def _visibility(self) -> Visibility:
        return self._running.phase.plan.visibility

    def is_rounded(self, viewer: Viewer) -> bool:
        """Return whether the viewer's scores are rounded: the phase is open, its gold a secret."""
        return not viewer.organiser and _reveals_gold(self._running)

    def _in_part(self, viewer: Viewer) -> bool:
        """Return whether the viewer's scores cover only the gold's public part."""
        plan, state = self._running.phase.plan, self._running.state
        return not viewer.organiser and in_public_part(plan, state)

    def detail(self) -> PhaseDetail:
        """Return the phase's plan and state, which everybody may see."""
        return detail(self._hub, self._running)

    # -- boards ----------------------------------------------------------------------------------

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that have a leaderboard."""
        return self._running.boards.tasks()

    def task(self, name: str) -> TaskPlugin:
        """Return a task that has a leaderboard; else `RefusedError`."""
        scored = {plugin.name: plugin for plugin in self.tasks()}
        if name not in scored:
            names = ", ".join(scored) or "none yet"
            message = f"phase {self.name} has no board of {name!r}: it has {names}"
            raise RefusedError(Refusal.UNKNOWN, message, field="task")
        return scored[TaskName(name)]

    def counts(self, viewer: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        """Return each task's number of runs that the viewer may see, or nothing."""
        if why_hidden(self._visibility, viewer):
            return {}
        sees_all = sees_all_scores(self._visibility, viewer)
        return self._running.boards.counts(None if sees_all else viewer.team)

    def views(self, task: TaskName, viewer: Viewer = ANYBODY) -> Sequence[str]:
        """Return the views in which a viewer may see a task's scores, the usual view first.

        While scores cover only the gold's public part, that is the only view.
        """
        views = self._running.boards.scoreboard.views(task)
        return [view for view in views if view == PUBLIC] if self._in_part(viewer) else views

    def policies(self, task: TaskName) -> Sequence[ArticlePolicy]:
        """Return which articles can count in a task's scores."""
        return self._running.boards.scoreboard.policies(task)

    async def refresh(
        self,
        task: TaskName,
        view: str = RAW,
        viewer: Viewer = ANYBODY,
        articles: ArticlePolicy | None = None,
    ) -> None:
        """Average the runs that have changed, so that `board` has all their scores."""
        scoreboard = self._running.boards.scoreboard
        await scoreboard.refresh(task, self._view(view, viewer), articles)

    def _view(self, view: str, viewer: Viewer) -> View:
        """Return the view that a viewer sees in place of another."""
        return PUBLIC if self._in_part(viewer) else view

    def board(
        self,
        task: TaskName,
        view: str = RAW,
        viewer: Viewer = ANYBODY,
        articles: ArticlePolicy | None = None,
    ) -> Board:
        """Return a leaderboard with the newest scores that there are.

        `articles` are those that count; None: those of the phase's ranking.
        """
        board = self._running.boards.board(task, self._view(view, viewer), articles)
        board = seen(board, self._visibility, viewer)
        if board.hidden:
            return board
        if self.is_rounded(viewer):
            board = self._rounded_board(board)
        rows = seen_usage(board.rows, self._running.phase.plan.usage.boards, viewer)
        return replace(
            board,
            rows=self.names.rows(rows, viewer),
            note=self._note(viewer),
            frozen="" if self.is_rounded(viewer) else self.links.get(task, ""),
            catching_up=self._running.catching_up,
        )

    def _rounded_board(self, board: Board) -> Board:
        """Return a board with rounded scores; the same board until a row or an answer is new."""
        answered = {row.run: self._answered(row.run, board.task) for row in board.rows}
        newest = {upload.run: upload for upload in self._running.uploads}
        withheld = frozenset(run for run, upload in newest.items() if self._is_withheld(upload))
        cached = self._rounded.get((board.task, board.view))
        min_coverage = self._running.phase.plan.ranking.min_coverage
        made_of = (answered, withheld, min_coverage)
        if cached is None or cached.rows is not board.rows or cached.made_of != made_of:
            plugin = self._running.boards.scoreboard.scored_task(board.task).plugin
            coverage = AnsweredShare(
                answered=answered,
                articles=self._running.articles_of(plugin),
                withheld=withheld,
                least=min_coverage,
            )
            kept = {} if cached is None else cached.kept
            rounded_board = rounded(board, plugin.columns, coverage, kept)
            cached = self._rounded[board.task, board.view] = _Rounded(
                board.rows, made_of, rounded_board, kept
            )
        return cached.board

    def _is_withheld(self, upload: Upload) -> bool:
        """Return whether an upload tries single answers out, and is the run that there is now."""
        run = self._running.offline.get(upload.run)
        return upload.near and run is not None and run.created_at == upload.at

    def _answered(self, run: str, task: TaskName) -> int:
        """Return the number of articles that a run has answered for a task."""
        name = ServerName(run)
        if (uploaded := self._running.offline.get(name)) is not None:
            return uploaded.articles
        return self._running.boards.server_monitor.answered(name, task)

    def _note(self, viewer: Viewer) -> str:
        if viewer.organiser:
            return NOTES.get(self._visibility, "")
        own_note = OWN_NOTE if self._visibility is Visibility.OWN else ""
        return (
            f"{own_note} {note(self._running.phase.plan)}".strip()
            if self.is_rounded(viewer)
            else own_note
        )

    def articles(self, task: TaskName, view: str = RAW, viewer: Viewer = ANYBODY) -> ArticleBoard:
        """Return how hard a task's articles are."""
        if view == PUBLIC and not viewer.organiser:
            return ArticleBoard(task=task, hidden=NO_PART)
        board = self._running.boards.articles(task, view)
        levels = seen_articles(board, self._visibility, viewer)
        if self.is_rounded(viewer) and not levels.hidden:
            return replace(levels, levels=(), withheld=0, hidden=UNTIL_FROZEN)
        return levels

    async def changed(self, since: int) -> int:
        """Wait until the boards' and monitor's version is not `since`; return it."""
        return await self._running.boards.changed(since)

    def touch(self) -> None:
        """Raise the version: the pages are drawn again."""
        self._running.boards.touch()

    # -- runs ------------------------------------------------------------------------------------

    def run_named(self, name_shown: str, viewer: Viewer) -> tuple[ServerName, TeamName | None]:
        """Return the run that a viewer is shown by this name, and its team; else `RefusedError`."""
        for name, team in _teams_of_runs(self._running).items():
            if self.names.run(name, team, viewer) == name_shown:
                return name, team
        raise RefusedError(Refusal.UNKNOWN, f"there is no run {name_shown!r}", field="run")

    def servers_of(self, team_shown: str, viewer: Viewer) -> Sequence[ServerStatus]:
        """Return the servers of the team that a viewer is shown by this name."""
        running = self._running
        names = {
            self.names.run(name, registered.team, viewer)
            for name, registered in running.servers.items()
            if registered.team and self.names.team(registered.team, viewer) == team_shown
        }
        return [status for status in self.monitor(viewer).servers if status.name in names]

    def is_paired(self, task: TaskName) -> bool:
        """Return whether a task's runs can be tested against each other."""
        return self._paired_task(task) is not None

    def _paired_task(self, task: TaskName) -> tuple[PairedTask, str] | None:
        """Return a task whose runs can be tested against each other, and by which measure."""
        scoreboard = self._running.boards.scoreboard
        plugin = scoreboard.scored_task(task).plugin
        measure = order_of(plugin, scoreboard.ranking)[0]
        if isinstance(plugin, PairedTask) and measure in plugin.resampled:
            return plugin, measure
        return None

    def sees_articles(self, teams: Sequence[TeamName | None], viewer: Viewer) -> bool:
        """Return whether a viewer may see the scores of teams' runs article by article.

        They show answers, and the gold: while the phase is open, a team sees them of its own runs,
        and in a test phase not even of these.
        """
        plan, state = self._running.phase.plan, self._running.state
        if state in OVER:
            return sees_all_scores(self._visibility, viewer) or all(map(viewer.owns, teams))
        return sees_curves(plan, state, viewer) and all(map(viewer.owns, teams))

    async def paired(
        self, task: TaskName, view: str, runs: tuple[ServerName, ServerName]
    ) -> Callable[[], PairedRuns] | None:
        """Return the work that tests two runs of a task, for a thread; None if there is no test."""
        first, second = [await self._carded(task, view, run) for run in runs]
        if first is None or second is None:
            return None
        return partial(first.plugin.paired, first.gold, first.card, second.card, first.measure)

    async def by_article(
        self, task: TaskName, view: str, run: ServerName
    ) -> Callable[[], Mapping[str, float | None]] | None:
        """Return the work that scores a run's articles, for a thread; None if they have none."""
        carded = await self._carded(task, view, run)
        if carded is None:
            return None
        return partial(carded.plugin.by_article, carded.gold, carded.card, carded.measure)

    async def _carded(self, task: TaskName, view: str, run: ServerName) -> _Carded | None:
        scoreboard = self._running.boards.scoreboard
        if (paired := self._paired_task(task)) is None:
            return None
        score = await scoreboard.average(task, view, run)
        if score is None or score.card is None or not score.articles_scored:
            return None
        plugin, measure = paired
        gold = scoreboard.scored_task(task).gold_of(view)
        return _Carded(plugin, gold, score.card, measure)

    # -- frozen boards ---------------------------------------------------------------------------

    async def frozen_boards(self, viewer: Viewer) -> Sequence[boards.StoredBoard]:
        """Return the phase's frozen boards, newest first; none for who may see no score."""
        if why_hidden(self._visibility, viewer) or self.is_rounded(viewer):
            return []
        async with self._hub.store.reading() as connection:
            return await boards.list_all(connection, self._running.phase.id)

    async def look_for_frozen(self) -> bool:
        """Look for the frozen boards' links; return whether they have changed."""
        over = self._running.state in OVER
        frozen = await self.frozen_boards(Viewer(organiser=True)) if over else []
        links = {board.task: board.id for board in reversed(frozen)}
        changed, self.links = links != self.links, links
        return changed

    async def methods(self, viewer: Viewer) -> Sequence[MethodDetail]:
        """Return the phase's runs with their methods, as far as the viewer may see them."""
        return await seen_methods(self._hub, self._running, viewer)

    # -- monitor and servers ---------------------------------------------------------------------

    def monitor(self, viewer: Viewer = ANYBODY) -> Monitor:
        """Return the monitor as of now."""
        return self._public_monitor(self._running.boards.monitor(), viewer)

    def _team(self, server: ServerName) -> str:
        registered = self._running.servers.get(server)
        return (registered.team or "") if registered else ""

    def _named(self, server: ServerName, viewer: Viewer) -> str:
        registered = self._running.servers.get(server)
        return self.names.run(server, registered.team if registered else None, viewer)

    def badge(self, server: ServerName, viewer: Viewer) -> tuple[str, ServerState]:
        """Return the name and the state of a server that takes part, which everybody may see."""
        state = self._running.boards.server_monitor.status(server).state
        return self._named(server, viewer), state

    async def server(self, name: ServerName, window: Window, viewer: Viewer) -> ServerReading:
        """Return a server's state and measures."""
        running, registered = self._running, self._running.servers[name]
        seen_as = self._named(name, ANYBODY)
        is_own, public = viewer.owns(registered.team), self._public_monitor
        key = running.key(registered)
        async with self._hub.store.reading() as connection:
            changes = await states.list_changes(connection, key, limit=EVENTS)
        attempts = None
        if is_own:
            newest = await self._hub.store.newest_attempts(
                key, name, running.corpus, limit=ATTEMPTS
            )
            attempts = [
                convert(attempt.attempt, AttemptDetail, final=attempt.final) for attempt in newest
            ]
        monitor_now = running.boards.monitor()
        return ServerReading(
            phase=running.name,
            status=public.status(running.boards.server_monitor.status(name), viewer),
            team=self.names.team(registered.team, viewer),
            seen_as="" if seen_as == name else seen_as,
            window=window,
            measures=running.windows.window(name, window),
            trend=running.windows.trend(name, window),
            time_limit=monitor_now.time_limit,
            events=[
                convert(
                    change, StateEvent, note=seen_note(change.state, change.note, is_own=is_own)
                )
                for change in reversed(changes)
            ],
            errors=[
                public.error(error, viewer) for error in monitor_now.errors if error.server == name
            ],
            attempts=attempts,
        )


def list_views(hub: HubContext) -> Sequence[PhaseView]:
    """Return all phases' views, oldest first."""
    phases_known = sorted(
        hub.phases.scheduler.phases.values(), key=lambda running: running.phase.id
    )
    return [PhaseView(hub, running) for running in phases_known]


def _reveals_gold(running: RunningPhase) -> bool:
    return reveals_gold(running.phase.plan, running.state)


async def frozen_board(hub: HubContext, key: str, caller: Caller) -> FrozenBoard | None:
    """Return any phase's frozen board by its link; None if the caller may see none."""
    async with hub.store.reading() as connection:
        entry = await boards.get(connection, key)
    if entry is None:
        return None
    stored, document = entry
    running = hub.phase(stored.phase)
    viewer = caller.viewer_in(running.phase.challenge)
    if hub.is_embargoed(running) and not viewer.organiser:
        return None
    if not viewer.organiser and _reveals_gold(running):
        return None
    async with hub.store.reading() as connection:
        newer = await boards.superseding(connection, running.phase.id, stored)
    board = await asyncio.to_thread(_decoded, document)  # a thousand runs have megabytes of curves
    frozen = seen_frozen(board, running.phase.plan.visibility, viewer)
    if frozen is None:
        return None
    names, usage = SeenNames(running), running.phase.plan.usage.boards
    views, other_views = (
        {
            name: msgspec.structs.replace(
                view, rows=tuple(names.rows(seen_usage(view.rows, usage, viewer), viewer))
            )
            for name, view in views_of.items()
        }
        for views_of in (frozen.views, frozen.others)
    )
    runs_seen = {row.run for view in views.values() for row in view.rows}
    kept = {names.run(run, team, viewer) for run, team in _teams_of_runs(running).items()}
    over = running.state in OVER or viewer.organiser  # it may have been extended since
    methods = {run: method for run, method in frozen.methods.items() if over and run in runs_seen}
    return msgspec.structs.replace(
        frozen,
        views=views,
        others=other_views,
        methods=methods,
        newer=newer,
        gone=tuple(sorted(runs_seen - kept)),
    )


def _teams_of_runs(running: RunningPhase) -> Mapping[ServerName, TeamName | None]:
    """Return the team of each run that a phase has."""
    teams = {name: registered.team for name, registered in running.servers.items()}
    return teams | {name: run.team for name, run in running.offline.items()}


def _decoded(packed: bytes) -> FrozenBoard:
    return FrozenBoard.decode(unpack(packed))
