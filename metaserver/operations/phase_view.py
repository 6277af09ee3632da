"""Views of phases: the boards, the monitor and the servers of a phase as a viewer may see them.

The public pages are drawn from a view as often as something changes, so that it answers from
memory. What needs the store is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from metaserver.base.boards import (
    PUBLIC,
    RAW,
    ArticleBoard,
    Board,
    BoardRow,
    FrozenBoard,
    View,
    rising_measures,
)
from metaserver.base.compression import unpack
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import PhaseName, ServerName, TaskName
from metaserver.base.states import ServerState, Visibility
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.boards.trends import Trend
from metaserver.boards.windows import ServerWindow, Window
from metaserver.operations.attempts import AttemptDetail
from metaserver.operations.context import HubContext
from metaserver.operations.methods import MethodDetail, seen_methods
from metaserver.operations.monitoring import StateEvent
from metaserver.operations.names import SeenNames
from metaserver.operations.phases import PhaseDetail, detail
from metaserver.operations.rounded import (
    AnsweredShare,
    in_public_part,
    note,
    reveals_gold,
    rounded,
)
from metaserver.operations.visibility import (
    PublicMonitor,
    seen,
    seen_articles,
    seen_frozen,
    seen_note,
    seen_usage,
    sees_all_scores,
    why_hidden,
)
from metaserver.phases.archiver import OVER
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards, states
from metaserver.store.uploads import Upload
from metaserver.tasks.plugin import TaskPlugin

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
    """A server in a phase as one viewer may see it; `attempts` is None for who may not see them.

    `seen_as` is the name by which others see it until the freeze; empty where they see its own.
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
    """A board with rounded scores, and what it was made from."""

    of: Sequence[BoardRow]
    made_of: tuple[Mapping[str, int], Set[str], float]
    board: Board


class PhaseView:
    """A running phase as far as each viewer may see it.

    It keeps the public rows of the monitor, so that whoever draws often keeps the view.
    `links` are the permanent links of its frozen boards, by task: see `look_for_frozen`.
    """

    def __init__(self, hub: HubContext, running: RunningPhase) -> None:
        self.links: Mapping[TaskName, str] = {}
        self._hub = hub
        self._running = running
        self._names = SeenNames(running)
        self._public_monitor = PublicMonitor(self._team, self._named)
        self._rounded: dict[tuple[TaskName, View], _Rounded] = {}

    @classmethod
    def find(cls, hub: HubContext, phase: str) -> PhaseView | None:
        """Return a view of a phase by name; None where there is none."""
        running = hub.phases.scheduler.phases.get(PhaseName(phase))
        return None if running is None else cls(hub, running)

    @property
    def current(self) -> bool:
        """True while the hub works this phase: a new plan may have put another in its place."""
        return self._hub.phases.scheduler.phases.get(self.name) is self._running

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a view of the same phase."""
        return isinstance(other, PhaseView) and other._running is self._running

    def __hash__(self) -> int:
        """Return the hash of the phase."""
        return hash(self._running)

    @property
    def name(self) -> PhaseName:
        """The phase's name."""
        return self._running.name

    @property
    def embargoed(self) -> bool:
        """True while the phase's challenge is for organisers alone."""
        return self._hub.is_embargoed(self._running)

    @property
    def challenge(self) -> str:
        """The name of the phase's challenge."""
        return self._running.phase.challenge

    @property
    def _visibility(self) -> Visibility:
        return self._running.phase.plan.visibility

    def is_rounded(self, viewer: Viewer) -> bool:
        """Return whether the viewer's scores are rounded: the phase is open, its gold a secret."""
        return not viewer.organiser and _reveals_gold(self._running)

    def _in_part(self, viewer: Viewer) -> bool:
        """Return whether the viewer's scores are of the public part of the gold alone."""
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
        """Return a task that has a leaderboard; `RefusedError` where there is none."""
        scored = {plugin.name: plugin for plugin in self.tasks()}
        if name not in scored:
            names = ", ".join(scored) or "none yet"
            message = f"phase {self.name} has no board of {name!r}: it has {names}"
            raise RefusedError(Refusal.UNKNOWN, message, field="task")
        return scored[TaskName(name)]

    def counts(self, viewer: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        """Return the number of runs of each task that the viewer may see; empty if it sees none."""
        if why_hidden(self._visibility, viewer):
            return {}
        sees_all = sees_all_scores(self._visibility, viewer)
        return self._running.boards.counts(None if sees_all else viewer.team)

    def views(self, task: TaskName, viewer: Viewer = ANYBODY) -> Sequence[str]:
        """Return the views in which a viewer may see a task's scores, the usual one first.

        While scores are of the public part of the gold, that is the only one.
        """
        views = self._running.boards.views(task)
        return [view for view in views if view == PUBLIC] if self._in_part(viewer) else views

    def policies(self, task: TaskName) -> Sequence[ArticlePolicy]:
        """Return which articles can count in a task's scores."""
        return self._running.boards.policies(task)

    async def refresh(
        self,
        task: TaskName,
        view: str = RAW,
        viewer: Viewer = ANYBODY,
        articles: ArticlePolicy | None = None,
    ) -> None:
        """Average the runs that have changed, so that `board` has all their scores."""
        await self._running.boards.refresh(task, self._view(view, viewer), articles)

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
        return replace(
            board,
            rows=self._names.rows(self._seen_usage(board.rows, viewer), viewer),
            note=self._note(viewer),
            frozen="" if self.is_rounded(viewer) else self.links.get(task, ""),
            catching_up=self._running.catching_up,
        )

    def _seen_usage(self, rows: Sequence[BoardRow], viewer: Viewer) -> Sequence[BoardRow]:
        return seen_usage(rows, self._running.phase.plan.usage.boards, viewer)

    def _rounded_board(self, board: Board) -> Board:
        """Return a board with rounded scores; the same one until a row or an answer is new."""
        answered = {row.run: self._answered(row.run, board.task) for row in board.rows}
        newest = {upload.run: upload for upload in self._running.uploads}
        withheld = frozenset(run for run, upload in newest.items() if self._is_withheld(upload))
        known = self._rounded.get((board.task, board.view))
        least = self._running.phase.plan.ranking.min_coverage
        made_of = (answered, withheld, least)
        if known is None or known.of is not board.rows or known.made_of != made_of:
            plugin = self._running.boards.scoreboard.scored_task(board.task).plugin
            coverage = AnsweredShare(
                answered=answered,
                articles=self._running.articles_of(plugin),
                withheld=withheld,
                least=least,
            )
            made = rounded(board, board.order, coverage, rising_measures(plugin.columns))
            known = self._rounded[board.task, board.view] = _Rounded(board.rows, made_of, made)
        return known.board

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
        own = OWN_NOTE if self._visibility is Visibility.OWN else ""
        return f"{own} {note(self._running.phase.plan)}".strip() if self.is_rounded(viewer) else own

    def articles(self, task: TaskName, view: str = RAW, viewer: Viewer = ANYBODY) -> ArticleBoard:
        """Return how hard a task's articles are."""
        if view == PUBLIC and not viewer.organiser:
            return ArticleBoard(task=task, hidden=NO_PART)
        board = self._running.boards.articles(task, view)
        found = seen_articles(board, self._visibility, viewer)
        if self.is_rounded(viewer) and not found.hidden:
            return replace(found, levels=(), withheld=0, hidden=UNTIL_FROZEN)
        return found

    async def changed(self, since: int) -> int:
        """Wait until the version of boards and monitor is not `since`; return it."""
        return await self._running.boards.changed(since)

    def touch(self) -> None:
        """Raise the version: the pages are drawn again."""
        self._running.boards.touch()

    # -- frozen boards ---------------------------------------------------------------------------

    async def frozen_boards(self, viewer: Viewer) -> Sequence[boards.StoredBoard]:
        """Return the phase's frozen boards, newest first; none for who may see no score."""
        if why_hidden(self._visibility, viewer) or self.is_rounded(viewer):
            return []
        async with self._hub.store.reading() as connection:
            return await boards.list_all(connection, self._running.phase.id)

    async def look_for_frozen(self) -> bool:
        """Look for the links of the frozen boards; return whether there are other ones now."""
        over = self._running.state in OVER
        kept = await self.frozen_boards(Viewer(organiser=True)) if over else []
        links = {board.task: board.id for board in reversed(kept)}
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
        known = self._running.servers.get(server)
        return (known.team or "") if known else ""

    def _named(self, server: ServerName, viewer: Viewer) -> str:
        known = self._running.servers.get(server)
        return self._names.run(server, known.team if known else None, viewer)

    def find_server(self, shown: str, viewer: Viewer) -> ServerName | None:
        """Return the server that takes part and is shown to the viewer by this name, or None."""
        return self._names.server(shown, viewer)

    def badge(self, server: ServerName, viewer: Viewer) -> tuple[str, ServerState]:
        """Return the name and the state of a server that takes part, which everybody may see."""
        state = self._running.boards.server_monitor.status(server).state
        return self._named(server, viewer), state

    async def server(self, name: ServerName, window: Window, viewer: Viewer) -> ServerReading:
        """Return the state and measures of a server that takes part."""
        running, registered = self._running, self._running.servers[name]
        seen_as = self._named(name, ANYBODY)
        own, public = viewer.owns(registered.team), self._public_monitor
        key = running.key(registered)
        async with self._hub.store.reading() as connection:
            changes = await states.list_changes(connection, key, limit=EVENTS)
        attempts = None
        if own:
            newest = await self._hub.store.newest_attempts(
                key, name, running.corpus, limit=ATTEMPTS
            )
            attempts = [AttemptDetail.of(one.attempt, final=one.final) for one in newest]
        shown = running.boards.monitor()
        return ServerReading(
            phase=running.name,
            status=public.status(running.boards.server_monitor.status(name), viewer),
            team=self._names.team(registered.team, viewer),
            seen_as="" if seen_as == name else seen_as,
            window=window,
            measures=running.windows.window(name, window),
            trend=running.windows.trend(name, window),
            time_limit=shown.time_limit,
            events=[
                StateEvent(at=one.at, state=one.state, note=seen_note(one.state, one.note, own=own))
                for one in reversed(changes)
            ],
            errors=[public.error(one, viewer) for one in shown.errors if one.server == name],
            attempts=attempts,
        )


def list_views(hub: HubContext) -> Sequence[PhaseView]:
    """Return the views of all phases, oldest first."""
    known = sorted(hub.phases.scheduler.phases.values(), key=lambda running: running.phase.id)
    return [PhaseView(hub, running) for running in known]


def _reveals_gold(running: RunningPhase) -> bool:
    return reveals_gold(running.phase.plan, running.state)


async def frozen_board(hub: HubContext, key: str, viewer: Viewer) -> FrozenBoard | None:
    """Return a frozen board of any phase by its link; None where there is none for the viewer."""
    async with hub.store.reading() as connection:
        found = await boards.get(connection, key)
    if found is None:
        return None
    kept, document = found
    running = hub.phase(kept.phase)
    if hub.is_embargoed(running) and not viewer.organiser:
        return None
    if not viewer.organiser and _reveals_gold(running):
        return None
    async with hub.store.reading() as connection:
        newer = await boards.superseding(connection, running.phase.id, kept)
    board = await asyncio.to_thread(_decoded, document)  # a thousand runs have megabytes of curves
    frozen = seen_frozen(board, running.phase.plan.visibility, viewer)
    if frozen is None:
        return None
    names, usage = SeenNames(running), running.phase.plan.usage.boards
    views, others = (
        {
            name: msgspec.structs.replace(
                view, rows=tuple(names.rows(seen_usage(view.rows, usage, viewer), viewer))
            )
            for name, view in some.items()
        }
        for some in (frozen.views, frozen.others)
    )
    shown = {row.run for view in views.values() for row in view.rows}
    over = running.state in OVER or viewer.organiser  # it may have been extended since
    methods = {run: one for run, one in frozen.methods.items() if over and run in shown}
    return msgspec.structs.replace(frozen, views=views, others=others, methods=methods, newer=newer)


def _decoded(packed: bytes) -> FrozenBoard:
    return FrozenBoard.decode(unpack(packed))
