"""The team whose console is shown: a team's own; an organiser says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import hdrs, web

from metaserver.operations import phases, servers, teams
from metaserver.operations.fields import OneServer
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.table import Nothing
from metaserver.operations.teams import OneTeam, TeamDetail
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.view import Card
from metaserver.web.ui.console import ConsoleContext, posted


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


async def scope_of(
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
