"""Whose console is looked at: a team's own; an organiser says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from metaserver.model.records import ServerName
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import ServerDetail
from metaserver.operations.teams import TeamDetail
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.view import Card
from metaserver.web.ui.console import ConsoleContext


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The team whose console this is, for its links and forms."""

    team: TeamDetail
    organiser: bool

    def link(self, path: str, **query: str) -> str:
        """Return an address of the console; organisers keep the team in it."""
        asked = {"team": self.team.team} | query if self.organiser else query
        return f"{path}?{urlencode(asked)}" if asked else path

    @property
    def kept(self) -> dict[str, str]:
        """What a form sends along."""
        return {"team": self.team.team} if self.organiser else {}


async def scope_of(
    console: ConsoleContext, request: web.Request, team: str | None = None
) -> Scope | None:
    """Return whose console is asked for; None where an organiser has yet to say it.

    `team` is known from a server or a form. Raises `RefusedError` for who is of no team.
    """
    caller = caller_of(request)
    name = team or request.query.get("team") or caller.team
    if name is None and caller.organiser:
        return None
    detail = await console.ask(request, "teams.get", team=name or "-")
    return Scope(team=detail, organiser=caller.organiser)


async def phases(console: ConsoleContext, request: web.Request) -> Sequence[PhaseDetail]:
    """Return all phases, the newest first."""
    known: Sequence[PhaseDetail] = await console.ask(request, "phases.list")
    return list(reversed(known))


async def cards(console: ConsoleContext, request: web.Request, team: str) -> Sequence[Card]:
    """Return the cards of a team's servers, those in use first."""
    servers: Sequence[ServerDetail] = await console.ask(request, "servers.list")
    own = sorted((one for one in servers if one.team == team), key=lambda one: one.retired)
    known = await phases(console, request)
    return [card(console, server, known) for server in own]


async def one_card(console: ConsoleContext, request: web.Request, name: str) -> Card:
    """Return the card of one server; `RefusedError` where there is none for who asks."""
    server = await console.ask(request, "servers.get", server=name)
    return card(console, server, await phases(console, request))


def card(console: ConsoleContext, server: ServerDetail, known: Sequence[PhaseDetail]) -> Card:
    """Return a server's card."""
    testing = console.hub.conformance.under_way(ServerName(server.server)) is not None
    return Card.of(server, known, testing=testing)
