"""Visibility: the parts of a phase that a viewer may see. Every interface asks here, and only here.

Scores, frozen boards and article levels follow the phase's `Visibility`, answers its state as well.
A server's messages and addresses are for its team and organisers, the gold's keyed digest only for
organisers. Teams, servers and runs can be anonymous until the freeze.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec

from metaserver.base.boards import ArticleBoard, Board, BoardRow, FrozenBoard, FrozenView, marked
from metaserver.base.curations import AskedServer, AskedState
from metaserver.base.plans import PhasePlan, ShownUsage, TeamNames
from metaserver.base.records import ServerName, TeamName
from metaserver.base.states import OVER, PhaseState, ServerState, Visibility
from metaserver.base.viewer import Aliases, Viewer
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.phases.runtime import RunningPhase

HIDDEN = "The scores of this phase are not shown yet. Its organisers see them."
SIGN_IN = "Each team sees the scores of its own runs: sign in with its token."
OWN_STATES = frozenset(
    {ServerState.WAITING, ServerState.UP, ServerState.SLOW, ServerState.FINISHED}
)
"""States whose notes are the hub's own words; those of others quote errors or organisers."""
QUOTING = frozenset({AskedState.ANSWERED, AskedState.FAILED})
"""Server states in a curator's request whose messages come from attempts."""


# -- scores ------------------------------------------------------------------------------------


def sees_all_scores(visibility: Visibility, viewer: Viewer) -> bool:
    """Return whether a viewer may see every team's scores."""
    return viewer.organiser or visibility is Visibility.PUBLIC


def why_hidden(visibility: Visibility, viewer: Viewer) -> str:
    """Return why a viewer may see no score, in full sentences; empty if it may see some."""
    if sees_all_scores(visibility, viewer):
        return ""
    if visibility is Visibility.HIDDEN:
        return HIDDEN
    return "" if viewer.team else SIGN_IN


def seen(board: Board, visibility: Visibility, viewer: Viewer) -> Board:
    """Return a board's part that the viewer may see.

    A team that sees only its own runs sees them ranked among themselves, without intervals: rank
    intervals would reveal others' results. Only organisers see the gold's keyed digest.
    """
    if hidden := why_hidden(visibility, viewer):
        return replace(board, gold="", rows=(), hidden=hidden)
    return replace(board, **_seen_values(board, visibility, viewer))


def seen_articles(board: ArticleBoard, visibility: Visibility, viewer: Viewer) -> ArticleBoard:
    """Return how hard articles are; nothing for a viewer who may not see all scores."""
    if sees_all_scores(visibility, viewer):
        return board
    return replace(board, levels=(), withheld=0, hidden=why_hidden(Visibility.HIDDEN, viewer))


def seen_frozen(frozen: FrozenBoard, visibility: Visibility, viewer: Viewer) -> FrozenBoard | None:
    """Return a frozen board's part that the viewer may see, or None."""
    if why_hidden(visibility, viewer):
        return None
    views = {
        name: msgspec.structs.replace(view, **_seen_values(view, visibility, viewer))
        for name, view in frozen.views.items()
    }
    other_views = {
        name: msgspec.structs.replace(view, **_seen_values(view, visibility, viewer))
        for name, view in frozen.others.items()
    }
    return msgspec.structs.replace(frozen, views=views, others=other_views)


def _seen_values(
    board: Board | FrozenView, visibility: Visibility, viewer: Viewer
) -> dict[str, Any]:
    """Return a board's values that differ for a viewer who may see some of it."""
    if viewer.organiser:
        return {"signature": marked(board.signature, board.gold)}
    if visibility is Visibility.PUBLIC:
        return {"gold": ""}
    rows = _own(board.rows, viewer.team)
    return {"gold": "", "rows": rows, "resampling": "", "unresampled": ""}


def _own(rows: Sequence[BoardRow], team: str) -> tuple[BoardRow, ...]:
    own_rows = [row for row in rows if row.team == team]
    places = _places([row.place for row in own_rows])
    return tuple(
        msgspec.structs.replace(row, place=place, interval=None)
        for row, place in zip(own_rows, places, strict=True)
    )


def _places(places: Sequence[int | None]) -> Sequence[int | None]:
    """Return rising places, numbered again from 1; ties stay, None stays None."""
    return [None if place is None else places.index(place) + 1 for place in places]


def sees_curves(plan: PhasePlan, state: PhaseState | None, viewer: Viewer) -> bool:
    """Return whether a viewer may see how single answers change the score of its own run.

    In a test phase that would give the gold away, answer by answer, until it is frozen.
    """
    training = plan.kind is PhaseState.TRAINING
    return viewer.organiser or training or state in OVER


def seen_usage(
    rows: Sequence[BoardRow], visibility: ShownUsage, viewer: Viewer
) -> Sequence[BoardRow]:
    """Return a board's rows with the tokens and costs that the viewer may see.

    Each team sees those that it declared itself.
    """
    if viewer.organiser or visibility is ShownUsage.SHOWN or all(row.usage is None for row in rows):
        return rows
    return [
        row
        if row.usage is None or viewer.owns(TeamName(row.team) if row.team else None)
        else msgspec.structs.replace(row, usage=None)
        for row in rows
    ]


# -- answers and messages ------------------------------------------------------------------------


def may_read_answers(
    state: PhaseState | None, visibility: Visibility, team: TeamName | None, viewer: Viewer
) -> bool:
    """Return whether a viewer may read a team's server's answers in a phase with this state.

    Everybody may once the phase is closed and its scores are public.
    """
    public = state is PhaseState.CLOSED and visibility is Visibility.PUBLIC
    return public or viewer.owns(team)


def sees_method(
    state: PhaseState | None, visibility: Visibility, team: str | None, viewer: Viewer
) -> bool:
    """Return whether a viewer may see the description of a run's method.

    Others than its team may once the phase is over, if they see its scores.
    """
    over = state in OVER
    return viewer.owns(team) or (over and sees_all_scores(visibility, viewer))


def seen_note(state: ServerState, note: str, *, is_own: bool) -> str:
    """Return the note of a server's state; those that quote errors are for its team alone."""
    return note if is_own or state in OWN_STATES else ""


def seen_asked(server: AskedServer, viewer: Viewer) -> AskedServer:
    """Return a server of a curator's request; what an attempt quotes is for organisers alone."""
    if viewer.organiser or server.state not in QUOTING:
        return server
    return msgspec.structs.replace(server, message="")


class PublicMonitor:
    """A phase's monitor as its viewers may see it.

    `team` gives a server's team, `named` the name by which a viewer sees it.
    """

    def __init__(
        self,
        team: Callable[[ServerName], str],
        name_of: Callable[[ServerName, Viewer], str] = lambda server, _: server,
    ) -> None:
        self._team = team
        self._named = name_of
        self._public: dict[ServerName, tuple[ServerStatus, ServerStatus]] = {}

    def __call__(self, monitor: Monitor, viewer: Viewer) -> Monitor:
        """Return the monitor as the viewer may see it."""
        if viewer.organiser:
            return monitor
        servers = [self.status(status, viewer) for status in monitor.servers]
        if any(
            status.name != before.name
            for status, before in zip(servers, monitor.servers, strict=True)
        ):
            servers.sort(key=lambda status: status.name)  # not in the order of registration
        return replace(
            monitor,
            servers=servers,
            errors=[self.error(error, viewer) for error in monitor.errors],
            blocked="its store does not take them" if monitor.blocked else "",
        )

    def status(self, status: ServerStatus, viewer: Viewer) -> ServerStatus:
        """Return a row as the viewer may see it."""
        if viewer.owns(self._team(status.name)):
            return status
        return self._public_status(status, ServerName(self._named(status.name, viewer)))

    def error(self, error: ErrorEntry, viewer: Viewer) -> ErrorEntry:
        """Return an error log entry as the viewer may see it."""
        if viewer.owns(self._team(error.server)):
            return error
        return error.public(ServerName(self._named(error.server, viewer)))

    def _public_status(self, status: ServerStatus, name: ServerName) -> ServerStatus:
        """Return a row for everybody; the same object while nothing has changed."""
        cached = self._public.get(status.name)
        if cached is None or cached[0] is not status or cached[1].name != name:
            note = seen_note(status.state, status.note, is_own=False)
            protocol = status.protocol if name == status.name else ""
            public = status.public(name, note=note, protocol=protocol)
            cached = self._public[status.name] = (status, public)
        return cached[1]


class SeenNames:
    """A phase's names, for its viewers; `aliases` are its own unless others are given."""

    def __init__(self, running: RunningPhase, aliases: Aliases | None = None) -> None:
        self._running = running
        self._aliases = aliases or running.aliases

    @property
    def hidden(self) -> bool:
        """True while a team's name is shown to itself and to organisers alone."""
        plan = self._running.phase.plan
        return plan.team_names is TeamNames.HIDDEN and self._running.state not in OVER

    def hidden_from(self, team: str | None, viewer: Viewer) -> bool:
        """Return whether a viewer is shown an anonymous name for a team, and for its runs."""
        return self.hidden and not viewer.owns(team)

    def team(self, team: TeamName | None, viewer: Viewer) -> str:
        """Return a team's name; empty for none."""
        if not team or not self.hidden_from(team, viewer):
            return team or ""
        owner = self._running.teams.get(team)
        return "" if owner is None else self._aliases.team(owner.id)

    def run(self, run: str, team: TeamName | None, viewer: Viewer) -> str:
        """Return a run's or server's name."""
        if not self.hidden_from(team, viewer):
            return run
        return self._aliases.run(self.team(team, viewer), run)

    def rows(self, rows: Sequence[BoardRow], viewer: Viewer) -> Sequence[BoardRow]:
        """Return a board's rows; ties are ordered by shown name."""
        if not self.hidden or viewer.organiser:
            return rows
        rows_seen = [self._row(row, viewer) for row in rows]
        return [
            row
            for _, equal in groupby(rows_seen, key=lambda row: (row.place, row.values))
            for row in sorted(equal, key=lambda row: row.run)
        ]

    def _row(self, row: BoardRow, viewer: Viewer) -> BoardRow:
        team = TeamName(row.team) if row.team else None
        if not self.hidden_from(team, viewer):
            return row
        return row.anonymous(self.run(row.run, team, viewer), self.team(team, viewer))

    def server(self, name_shown: str, viewer: Viewer) -> ServerName | None:
        """Return the server of the phase that is shown by this name; None for the viewer's eyes.

        A server's anonymous name leads to it after the freeze too.
        """
        server = self._running.servers.get(ServerName(name_shown))
        if server is not None:
            return None if self.hidden_from(server.team, viewer) else server.server.name
        if " " not in name_shown or self._running.phase.plan.team_names is not TeamNames.HIDDEN:
            return None
        aliases, teams = self._aliases, self._running.teams
        for name, registered in self._running.servers.items():
            team = teams.get(registered.team) if registered.team else None
            if aliases.run(aliases.team(team.id) if team else "", name) == name_shown:
                return name
        return None
