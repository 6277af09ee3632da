"""Views of phases: the boards, the monitor and the servers of a phase as a viewer may see them.

The public pages are drawn from a view as often as something changes, so that it answers from
memory. What needs the store is awaited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metaserver.model.boards import RAW, ArticleBoard, Board, FrozenBoard
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.records import PhaseName, ServerName, TaskName, TeamName
from metaserver.model.states import OPEN_STATES, ServerState, Visibility
from metaserver.model.viewer import ANYBODY, Viewer
from metaserver.monitoring.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.monitoring.windows import ServerWindow, Window
from metaserver.operations.attempts import AttemptDetail
from metaserver.operations.context import HubContext
from metaserver.operations.monitoring import StateEvent
from metaserver.operations.phases import PhaseDetail, detail
from metaserver.operations.visibility import (
    PublicMonitor,
    seen,
    seen_articles,
    seen_frozen,
    seen_note,
    sees_all_scores,
    why_hidden,
)
from metaserver.phases.archiver import OVER
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards, states
from metaserver.tasks.plugin import TaskPlugin

NOTES: Mapping[Visibility, str] = {
    Visibility.HIDDEN: "Only organisers see these scores.",
    Visibility.OWN: "Organisers see all scores, each team those of its own runs.",
}
OWN_NOTE = "The runs of your team, placed among themselves."
EVENTS = 50  # newest changes of a server's state that are shown
ATTEMPTS = 20  # newest attempts that a server's team is shown; its console has all


@dataclass(frozen=True, kw_only=True)
class ServerReading:
    """A server in a phase as one viewer may see it; `attempts` is None for who may not see them."""

    phase: PhaseName
    status: ServerStatus
    team: TeamName | None
    window: Window
    measures: ServerWindow
    time_limit: float
    events: Sequence[StateEvent]  # newest first
    errors: Sequence[ErrorEntry]
    attempts: Sequence[AttemptDetail] | None


class PhaseView:
    """A running phase as far as each viewer may see it.

    It keeps the public rows of the monitor, so that whoever draws often keeps the view.
    `links` are the permanent links of its frozen boards, by task: see `look_for_frozen`.
    """

    def __init__(self, hub: HubContext, running: RunningPhase) -> None:
        self.links: Mapping[TaskName, str] = {}
        self._hub = hub
        self._running = running
        self._public_monitor = PublicMonitor(self._team)

    @classmethod
    def find(cls, hub: HubContext, phase: str) -> PhaseView | None:
        """Return a view of a phase by name; None where there is none."""
        running = hub.scheduler.phases.get(PhaseName(phase))
        return None if running is None else cls(hub, running)

    @property
    def current(self) -> bool:
        """True while the hub works this phase: a new plan may have put another in its place."""
        return self._hub.scheduler.phases.get(self.name) is self._running

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
    def _visibility(self) -> Visibility:
        return self._running.phase.plan.visibility

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
        """Return the number of runs of each task that the viewer may see."""
        if sees_all_scores(self._visibility, viewer):
            return self._running.boards.counts()
        return {task.name: len(self.board(task.name, RAW, viewer).rows) for task in self.tasks()}

    def views(self, task: TaskName) -> Sequence[str]:
        """Return the views that a task is scored in, the raw one first."""
        return self._running.boards.views(task)

    async def refresh(self, task: TaskName, view: str = RAW) -> None:
        """Average the runs that have changed, so that `board` has all their scores."""
        await self._running.boards.refresh(task, view)

    def board(self, task: TaskName, view: str = RAW, viewer: Viewer = ANYBODY) -> Board:
        """Return a leaderboard with the newest scores that there are."""
        board = seen(self._running.boards.board(task, view), self._visibility, viewer)
        if board.hidden:
            return board
        return replace(
            board,
            note=self._note(viewer),
            frozen=self.links.get(task, ""),
            catching_up=self._running.catching_up,
        )

    def _note(self, viewer: Viewer) -> str:
        if viewer.organiser:
            return NOTES.get(self._visibility, "")
        return OWN_NOTE if self._visibility is Visibility.OWN else ""

    def articles(self, task: TaskName, view: str = RAW, viewer: Viewer = ANYBODY) -> ArticleBoard:
        """Return how hard a task's articles are."""
        board = self._running.boards.articles(task, view)
        return seen_articles(board, self._visibility, viewer)

    async def frozen(self, key: str, viewer: Viewer = ANYBODY) -> FrozenBoard | None:
        """Return a frozen board of any phase by its link; None where the viewer may see none."""
        return await frozen_board(self._hub, key, viewer)

    async def changed(self, since: int) -> int:
        """Wait until the version of boards and monitor is not `since`; return it."""
        return await self._running.boards.changed(since)

    def touch(self) -> None:
        """Raise the version: the pages are drawn again."""
        self._running.boards.touch()

    # -- frozen boards ---------------------------------------------------------------------------

    async def frozen_boards(self, viewer: Viewer) -> Sequence[boards.StoredBoard]:
        """Return the phase's frozen boards, newest first; none for who may see no score."""
        if why_hidden(self._visibility, viewer):
            return []
        async with self._hub.store.reading() as connection:
            return await boards.list_all(connection, self._running.phase.id)

    async def look_for_frozen(self) -> bool:
        """Look for the links of the frozen boards; return whether there are other ones now."""
        if self._running.state not in OVER:
            return False
        kept = await self.frozen_boards(Viewer(organiser=True))
        links = {board.task: board.id for board in reversed(kept)}
        changed, self.links = links != self.links, links
        return changed

    # -- monitor and servers ---------------------------------------------------------------------

    def monitor(self, viewer: Viewer = ANYBODY) -> Monitor:
        """Return the monitor as of now."""
        return self._public_monitor(self._running.boards.monitor(), viewer)

    def _team(self, server: ServerName) -> str:
        known = self._running.servers.get(server)
        return (known.team or "") if known else ""

    def has_server(self, server: ServerName) -> bool:
        """Return whether a server takes part in the phase."""
        return server in self._running.servers

    def state(self, server: ServerName) -> ServerState:
        """Return the state of a server that takes part, which everybody may see."""
        return self._running.boards.server_monitor.status(server).state

    async def server(self, name: ServerName, window: Window, viewer: Viewer) -> ServerReading:
        """Return the state and measures of a server that takes part."""
        running, registered = self._running, self._running.servers[name]
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
            team=registered.team,
            window=window,
            measures=running.windows.window(name, window),
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
    known = sorted(hub.scheduler.phases.values(), key=lambda running: running.phase.id)
    return [PhaseView(hub, running) for running in known]


def first_shown(hub: HubContext) -> PhaseView | None:
    """Return the view of the phase that is open, else of the newest; None without any."""
    running = max(
        hub.scheduler.phases.values(),
        key=lambda one: (one.state in OPEN_STATES, one.phase.id),
        default=None,
    )
    return None if running is None else PhaseView(hub, running)


async def frozen_board(hub: HubContext, key: str, viewer: Viewer) -> FrozenBoard | None:
    """Return a frozen board of any phase by its link; None where there is none for the viewer."""
    async with hub.store.reading() as connection:
        found = await boards.get(connection, key)
    if found is None:
        return None
    kept, document = found
    visibility = hub.phase(kept.phase).phase.plan.visibility
    return seen_frozen(FrozenBoard.decode(document), visibility, viewer)
