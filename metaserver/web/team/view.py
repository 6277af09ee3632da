"""The team console's view: whose it is, and each server's state and actions in each phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote, urlencode

from aiohttp import hdrs, web

from metaserver.base.phases import label_of
from metaserver.base.states import OPEN_STATES, PhaseState, ServerState
from metaserver.operations import phases, servers, teams
from metaserver.operations.conformance import Tested, TestState
from metaserver.operations.fields import OneServer
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import LaneProgress, ServerDetail
from metaserver.operations.table import Nothing
from metaserver.operations.teams import OneTeam, TeamDetail
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.formatting import duration, element_id


class TeamLaneAction(StrEnum):
    """A team's action on a lane, named like the operation."""

    START = "start"
    NEXT = "next"
    PAUSE = "pause"
    CANCEL = "cancel"


WORDS: Mapping[TeamLaneAction, tuple[str, str]] = {
    TeamLaneAction.START: ("Start", "send it the phase's articles, one after another"),
    TeamLaneAction.NEXT: ("Next", "send it just the next article of its queue"),
    TeamLaneAction.PAUSE: ("Pause", "send it no more articles; what is in flight is finished"),
    TeamLaneAction.CANCEL: ("Cancel", "drop what is in flight, to be sent again later, and pause"),
}

BEGIN, GO_ON = (TeamLaneAction.START, TeamLaneAction.NEXT), (TeamLaneAction.PAUSE,)
ACTS: Mapping[ServerState, Sequence[TeamLaneAction]] = {
    ServerState.WAITING: GO_ON,
    ServerState.UP: GO_ON,
    ServerState.SLOW: GO_ON,
    ServerState.DOWN: GO_ON,
    ServerState.PAUSED: BEGIN,
    ServerState.SUSPENDED: (),
    ServerState.FINISHED: (),
}

TESTED: Mapping[TestState, tuple[str, str]] = {
    TestState.NEVER: ("waiting", "not tested"),
    TestState.PASSED: ("up", "test passed"),
    TestState.FAILED: ("down", "test failed"),
    TestState.OUTDATED: ("slow", "test outdated"),
}
"""The state of a server's test: the pill's shape and colour, and its word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamLaneRow:
    """A server in a phase; `progress` is None before it takes part.

    `tested` is None if the phase is over.
    """

    phase: PhaseDetail
    progress: LaneProgress | None
    tested: Tested | None

    @property
    def untested(self) -> str:
        """The reason why it cannot be started in the phase, in a word; empty if its test passed."""
        if self.tested is None or self.tested.state is TestState.PASSED:
            return ""
        return TESTED[self.tested.state][1]

    @property
    def acts(self) -> Sequence[TeamLaneAction]:
        """The actions that are possible now."""
        if self.phase.state not in OPEN_STATES:
            return ()
        if self.progress is None:
            return BEGIN
        acts = ACTS[ServerState(self.progress.state)]
        return (*acts, TeamLaneAction.CANCEL) if self.progress.in_flight else acts


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedAction:
    """An action that was refused, to be shown next to its button."""

    server: str
    act: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A server of the team, and its row in each phase."""

    server: ServerDetail
    rows: Sequence[TeamLaneRow]
    titles: Mapping[str, str] = field(default_factory=dict)  # the phases', by name

    @classmethod
    def of(cls, server: ServerDetail, phases: Sequence[PhaseDetail]) -> Card:
        """Return a server's card: with the phases it has taken part in, and those it could."""
        in_phases = {progress.phase: progress for progress in server.phases}
        shown_phases = [
            phase
            for phase in phases
            if phase.phase in in_phases or (phase.state in OPEN_STATES and not server.retired)
        ]
        tests = {tested.phase: tested for tested in server.tests}
        rows = [
            TeamLaneRow(
                phase=phase,
                progress=in_phases.get(phase.phase),
                tested=tests.get(phase.phase),
            )
            for phase in shown_phases
        ]
        titles = {phase.phase: phase.title for phase in phases}
        return cls(server=server, rows=rows, titles=titles)

    def title(self, phase: str) -> str:
        """Return a phase's title, or its name if it has none."""
        return self.titles.get(phase) or phase

    def label(self, phase: str) -> str:
        """Return how people know a phase: by its title, or as `phase NAME`."""
        return label_of(phase, self.titles.get(phase, ""))

    @property
    def open(self) -> bool:
        """True if articles are sent in any phase that it shows."""
        return any(row.phase.state in OPEN_STATES for row in self.rows)

    @property
    def path(self) -> str:
        """The path of its pages."""
        return f"/team/servers/{quote(self.server.server, safe='')}"

    @property
    def tested(self) -> tuple[str, str]:
        """The state and its test's word."""
        return ("slow", "testing") if self.server.testing else TESTED[self.server.tested]

    def id(self, kind: str) -> str:
        """Return the id of a part of its card."""
        return element_id(kind, self.server.server)

    @property
    def news(self) -> str:
        """The text that is announced when it changes: the server's state in each phase."""
        return "; ".join(self.state_words(progress.phase) for progress in self.server.phases)

    def state_words(self, phase: str) -> str:
        """Return its state in a phase, as the hub reports it."""
        progress_found = [progress for progress in self.server.phases if progress.phase == phase]
        if not progress_found:
            return f"{self.server.server} takes no part in {self.label(phase)} yet"
        note = f" ({progress_found[0].note})" if progress_found[0].note else ""
        return f"{self.server.server} is {progress_found[0].state} in {self.label(phase)}{note}"


def left(progress: LaneProgress) -> str:
    """Say how long the rest of a queue will take, as far as it is known."""
    if progress.state == ServerState.FINISHED:
        return "done"
    if progress.eta is None:
        return "–"
    return f"{duration(progress.eta)} left" if progress.eta >= 1 else "less than a second left"


STATE_WORDS: Mapping[PhaseState, str] = {
    PhaseState.SETUP: "not open yet: register and test your servers",
    PhaseState.TRAINING: "open (training): started servers are sent articles",
    PhaseState.TEST: "open (test): started servers are sent articles",
    PhaseState.FROZEN: "frozen: no article is sent any more",
    PhaseState.CLOSED: "over",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The team whose console this is, for its links and forms."""

    team: TeamDetail
    organiser: bool

    def link(self, path: str, **query: str) -> str:
        """Return an address of the console; organisers keep the team in it."""
        parameters = {"team": self.team.team} | query if self.organiser else query
        return f"{path}?{urlencode(parameters)}" if parameters else path

    @property
    def kept(self) -> dict[str, str]:
        """The fields that a form sends along."""
        return {"team": self.team.team} if self.organiser else {}


async def scope_of(console: ConsoleContext, request: web.Request, team: str | None = None) -> Scope:
    """Return whose console is requested, as `named_scope`; without a team, lead to their list."""
    scope = await named_scope(console, request, team)
    if scope is None:
        raise web.HTTPSeeOther("/team")
    return scope


async def named_scope(
    console: ConsoleContext, request: web.Request, team: str | None = None
) -> Scope | None:
    """Return whose console is requested; None if an organiser has yet to say it.

    `team` is known from a server, or else from the form that was sent. Raises `RefusedError` for a
    caller without a team.
    """
    caller = caller_of(request)
    if team is None and request.method == hdrs.METH_POST:
        team = str((await posted(request)).get("team") or "") or None
    name = team or request.query.get("team") or caller.team
    if name is None and caller.organiser:
        return None
    detail = await console.ask(request, teams.get, OneTeam(team=name or "-"))
    return Scope(team=detail, organiser=caller.organiser)


async def newest_phases(console: ConsoleContext, request: web.Request) -> Sequence[PhaseDetail]:
    """Return all phases, the newest first."""
    return list(reversed(await console.ask(request, phases.list_, Nothing())))


async def cards(console: ConsoleContext, request: web.Request, team: str) -> Sequence[Card]:
    """Return the cards of a team's servers, those in use first."""
    registered = await console.ask(request, servers.list_, Nothing())
    own = sorted(
        (server for server in registered if server.team == team), key=lambda server: server.retired
    )
    listed = await newest_phases(console, request)
    return [Card.of(server, listed) for server in own]


async def one_card(console: ConsoleContext, request: web.Request, name: str) -> Card:
    """Return a server's card; `RefusedError` if the caller has no such server."""
    server = await console.ask(request, servers.get, OneServer(server=name))
    return Card.of(server, await newest_phases(console, request))
