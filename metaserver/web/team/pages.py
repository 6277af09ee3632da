"""The addresses of the team console; the overview, the actions and the event streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.states import Role
from metaserver.operations import lanes
from metaserver.operations.lanes import InLane
from metaserver.operations.servers import ServerDetail
from metaserver.web.access.refusals import in_words
from metaserver.web.access.roles import reserved
from metaserver.web.team import view
from metaserver.web.team.attempts import AttemptPages
from metaserver.web.team.conformance import TestPages, test_parts
from metaserver.web.team.members import MemberPages
from metaserver.web.team.methods import MethodPages
from metaserver.web.team.results import ResultPages, result_parts
from metaserver.web.team.servers import (
    TeamServerPages,
    server_parts,
    shown_server,
)
from metaserver.web.team.settings import SettingsPages, TokenPages
from metaserver.web.team.trials import TrialPages, trial_parts
from metaserver.web.team.uploads import TeamUploadPages
from metaserver.web.team.view import (
    Card,
    RefusedAction,
    Scope,
    TeamLaneAction,
    cards,
    named_scope,
    newest_phases,
    one_card,
    scope_of,
)
from metaserver.web.ui.console import (
    AskedOperation,
    ConsolePages,
    phase_named,
    posted,
    redisplayed,
)
from metaserver.web.ui.live import LiveParts

LANE_OPERATIONS: Mapping[TeamLaneAction, AskedOperation[InLane, ServerDetail]] = {
    TeamLaneAction.START: lanes.start,
    TeamLaneAction.NEXT: lanes.next_,
    TeamLaneAction.PAUSE: lanes.pause,
    TeamLaneAction.CANCEL: lanes.cancel,
}


class TeamConsole(ConsolePages):
    """The team console of a service."""

    def routes(self) -> list[web.RouteDef]:
        """Return the console's routes, all for teams and organisers."""
        console, acts = self.console, "|".join(TeamLaneAction)
        routes_open = [
            web.get("/team/servers", self.overview),
            web.get("/team/events", self.events, allow_head=False),
            web.post(f"/team/servers/{{server}}/{{act:{acts}}}", self.act),
            *ResultPages(console=console).routes(),
            *TeamUploadPages(console=console).routes(),
            *TestPages(console=console).routes(),
            *TrialPages(console=console).routes(),
            *AttemptPages(console=console).routes(),
            *TeamServerPages(console=console).routes(),
            *MemberPages(console=console).routes(),
            *TokenPages(console=console).routes(),
            *SettingsPages(console=console).routes(),
            *MethodPages(console=console).routes(),
        ]
        return reserved(Role.TEAM, routes_open)

    async def overview(self, request: web.Request) -> web.Response:
        """Answer with a team's servers; an organiser who has not said whose chooses first."""
        scope = await scope_of(self.console, request)
        return await self._overview(request, scope)

    async def _overview(
        self,
        request: web.Request,
        scope: Scope,
        refused: RefusedAction | None = None,
        status: int = 200,
    ) -> web.Response:
        shown_cards = await cards(self.console, request, scope.team.team)
        return self.console.answer(
            "team.html",
            status=status,
            scope=scope,
            view=view,
            cards=shown_cards,
            planned=await newest_phases(self.console, request),
            notice=_notice(phase_named(self.console, request), request, shown_cards),
            refused=refused,
        )

    async def act(self, request: web.Request) -> web.Response:
        """Start, pause, ...: then show how the server stands, or why it was refused."""
        name, act = request.match_info["server"], TeamLaneAction(request.match_info["act"])
        form = await posted(request)
        phase = str(form.get("phase", ""))
        from_overview = form.get("from") != "server"
        try:
            lane = InLane(server=name, phase=phase)
            detail = await self.console.ask(request, LANE_OPERATIONS[act], lane)
        except RefusedError as error:
            return await self._refused(request, redisplayed(error), from_overview=from_overview)
        scope = await scope_of(self.console, request, detail.team)
        path = "/team/servers" if from_overview else Card.of(detail, ()).path
        raise web.HTTPSeeOther(scope.link(path, server=name, act=act, phase=phase))

    async def _refused(
        self, request: web.Request, error: RefusedError, *, from_overview: bool
    ) -> web.Response:
        name, act = request.match_info["server"], request.match_info["act"]
        refused = RefusedAction(server=name, act=act, text=in_words(error))
        card = await one_card(self.console, request, name)
        if not from_overview:
            return await shown_server(self.console, request, card, refused, error.refusal)
        scope = await scope_of(self.console, request, card.server.team)
        return await self._overview(request, scope, refused, error.refusal)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of a page of the console."""
        page, console = request.query.get("page", ""), self.console
        if page in ("overview", "results"):
            scope = await named_scope(console, request)
            if scope is None:
                raise web.HTTPNotFound(text="Say which team's: ?team=NAME.")
            team, of = scope.team.team, scope
            if page == "results":
                key = f"results {team} {scope.organiser}"
                return await console.follow(
                    request, key, lambda: result_parts(console, request, of)
                )
            return await console.follow(
                request, f"team {team}", lambda: self._overview_parts(request, team)
            )
        makers = {"server": server_parts, "test": test_parts, "try": trial_parts}
        if page not in makers:
            raise web.HTTPNotFound(text="No page of that name has an event stream.")
        make, name = makers[page], request.query.get("server", "")
        phase = phase_named(console, request) or ""
        about = request.query.get("job", "") if page == "try" else phase
        return await console.follow(
            request, f"{page} {name} {about}", lambda: make(console, request, name)
        )

    async def _overview_parts(self, request: web.Request, team: str) -> LiveParts:
        listed = await newest_phases(self.console, request)
        part = self.console.templates.part
        html = {"phases": part("team_parts.html", "phases", listed, view)}
        for card in await cards(self.console, request, team):
            html[card.id("facts")] = part("team_parts.html", "facts", card)
            html[card.id("lanes")] = part("team_parts.html", "lanes", card, view)
            html[card.id("links")] = part("team_parts.html", "links", card)
        return LiveParts(html=html)


def _notice(phase: str | None, request: web.Request, shown_cards: Sequence[Card]) -> str:
    """Return what to say after an action: how the server stands by now."""
    name = request.query.get("server")
    for card in shown_cards:
        if card.server.server == name:
            return f"{card.state_words(phase)}." if phase else ""
    return ""
