"""The addresses of the team console; the overview, the actions and the event streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from metaserver.model.errors import RefusedError
from metaserver.model.states import Role
from metaserver.web.access.refusals import in_words
from metaserver.web.access.roles import reserved
from metaserver.web.team import view
from metaserver.web.team.attempts import AttemptPages
from metaserver.web.team.scope import Scope, cards, one_card, phases, scope_of
from metaserver.web.team.servers import ServerPages, server_parts, shown_server
from metaserver.web.team.settings import SettingsPages
from metaserver.web.team.snippets import SnippetPages
from metaserver.web.team.tokens import TokenPages
from metaserver.web.team.trials import TrialPages, trial_parts
from metaserver.web.team.view import Act, Card
from metaserver.web.ui.console import Desk, mended, phase_named, posted
from metaserver.web.ui.live import Parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """What could not be done, to be told next to its button."""

    server: str
    act: str
    text: str


@dataclass(frozen=True, kw_only=True)
class TeamPages:
    """The team console of a service."""

    desk: Desk

    def routes(self) -> list[web.RouteDef]:
        """Return the console's routes: all of them are for teams, and for organisers."""
        desk, acts = self.desk, "|".join(Act)
        known = [
            web.get("/team", self.overview),
            web.get("/team/events", self.events, allow_head=False),
            web.post(f"/team/servers/{{server}}/{{act:{acts}}}", self.act),
            *TrialPages(desk=desk).routes(),
            *AttemptPages(desk=desk).routes(),
            *ServerPages(desk=desk).routes(),
            *TokenPages(desk=desk).routes(),
            *SettingsPages(desk=desk).routes(),
            *SnippetPages(desk=desk).routes(),
        ]
        return reserved(Role.TEAM, known)

    async def overview(self, request: web.Request) -> web.Response:
        """Answer with a team's servers; to an organiser who has not said whose, with all teams."""
        scope = await scope_of(self.desk, request)
        if scope is None:
            teams = await self.desk.ask(request, "teams.list")
            return self.desk.answer("team_choice.html", teams=teams)
        return await self._overview(request, scope)

    async def _overview(
        self, request: web.Request, scope: Scope, refused: Refused | None = None, status: int = 200
    ) -> web.Response:
        shown = await cards(self.desk, request, scope.team.team)
        return self.desk.answer(
            "team.html",
            status=status,
            scope=scope,
            view=view,
            cards=shown,
            planned=await phases(self.desk, request),
            notice=_notice(phase_named(self.desk, request), request, shown),
            refused=refused,
        )

    async def act(self, request: web.Request) -> web.Response:
        """Start, pause, ...: then show how the server stands, or why it was refused."""
        name, act = request.match_info["server"], Act(request.match_info["act"])
        form = await posted(request)
        phase = str(form.get("phase", ""))
        from_overview = form.get("from") != "server"
        try:
            detail = await self.desk.ask(request, f"servers.{act}", server=name, phase=phase)
        except RefusedError as error:
            return await self._refused(request, mended(error), from_overview=from_overview)
        scope = await scope_of(self.desk, request, detail.team)
        assert scope is not None
        card = Card.of(detail, (), testing=False)
        path = "/team" if from_overview else card.path
        raise web.HTTPSeeOther(scope.link(path, server=name, act=act, phase=phase))

    async def _refused(
        self, request: web.Request, error: RefusedError, *, from_overview: bool
    ) -> web.Response:
        name, act = request.match_info["server"], request.match_info["act"]
        told = Refused(server=name, act=act, text=in_words(error))
        card = await one_card(self.desk, request, name)
        if not from_overview:
            return await shown_server(self.desk, request, card, told, error.refusal)
        scope = await scope_of(self.desk, request, card.server.team)
        assert scope is not None
        return await self._overview(request, scope, told, error.refusal)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of a page of the console."""
        page, desk = request.query.get("page", ""), self.desk
        if page == "overview":
            scope = await scope_of(desk, request)
            if scope is None:
                raise web.HTTPNotFound(text="Say which team's: ?team=NAME.")
            team = scope.team.team
            return await desk.follow(
                request, f"team {team}", lambda: self._overview_parts(request, team)
            )
        makers = {"server": server_parts, "test": trial_parts}
        if page not in makers:
            raise web.HTTPNotFound(text="No page of that name has an event stream.")
        make, name = makers[page], request.query.get("server", "")
        phase = phase_named(desk, request) or ""
        return await desk.follow(
            request, f"{page} {name} {phase}", lambda: make(desk, request, name)
        )

    async def _overview_parts(self, request: web.Request, team: str) -> Parts:
        known = await phases(self.desk, request)
        part = self.desk.templates.part
        html = {"phases": part("team_parts.html", "phases", known, view)}
        for card in await cards(self.desk, request, team):
            html[card.id("facts")] = part("team_parts.html", "facts", card)
            html[card.id("lanes")] = part("team_parts.html", "lanes", card, view)
        return Parts(html=html)


def _notice(phase: str | None, request: web.Request, shown: Sequence[Card]) -> str:
    """Return what to say after an action: how the server stands by now."""
    name = request.query.get("server")
    for card in shown:
        if card.server.server == name:
            return f"{card.standing_words(phase)}." if phase else ""
    return ""
