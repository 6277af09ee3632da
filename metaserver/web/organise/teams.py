"""Teams: let in, given tokens, retired."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.states import Role
from metaserver.operations import servers, teams, tokens
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.table import Nothing
from metaserver.operations.teams import NewTeam, OneTeam, TeamDetail
from metaserver.operations.tokens import IssuedToken, NewToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import team_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.held import holds, made_with

MADE = OperationForm(
    request=NewTeam,
    names=("team", "title", "email"),
    wording={
        "team": Wording(label="Name", help=f"For good: {NAME_HELP}."),
        "title": Wording(help="What people call it; shown beside its runs."),
        "email": Wording(label="E-mail", kind="email", help="Where you can reach it."),
    },
)
TOKEN = OperationForm(
    request=NewToken,
    names=("label", "days"),
    wording={
        "label": Wording(help="Who or what holds it: “Ana's laptop”, “nightly script”."),
        "days": Wording(
            label="Days",
            help="Days until it expires; empty: it is valid until revoked. No longer than yours.",
        ),
    },
)
RETIRED = OperationForm(request=OneTeam, names=())


@dataclass(frozen=True, kw_only=True)
class OrganiserTeamPages:
    """The handlers of teams."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one = "/organise/teams/{team}"
        return [
            web.get("/organise/teams", self.list),
            web.post("/organise/teams", self.make),
            web.get(one, self.show),
            web.post(f"{one}/tokens", self.issue),
            web.get(f"{one}/retire", self.confirm),
            web.post(f"{one}/retire", self.retire),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with all teams, and the form of a new one."""
        return await self._list(request, MADE.form())

    async def _list(self, request: web.Request, form: Form, status: int = 200) -> web.Response:
        registered = await self.console.ask(request, servers.list_, Nothing())
        issued = await self.console.ask(request, tokens.list_, TokenQuery(ended=0))
        now = self.console.hub.clock()
        return self.console.answer(
            "organise_teams.html",
            status=status,
            teams=await self.console.ask(request, teams.list_, Nothing()),
            servers=Counter(server.team for server in registered if not server.retired),
            tokens=Counter(token.team for token in issued if holds(token, now)),
            path=team_path,
            form=form,
        )

    async def make(self, request: web.Request) -> web.Response:
        """Add a team; its page links to its token."""
        sent = await posted(request)
        done = await tried(self.console.submit(request, teams.create, MADE.values(sent)))
        if isinstance(done, RefusedError):
            return await self._list(request, MADE.form(sent, done), done.refusal)
        raise web.HTTPSeeOther(team_path(done.team))

    # -- one of them -----------------------------------------------------------------------------

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a team: its tokens, its servers."""
        return await self._show(request, TOKEN.form())

    async def _show(
        self,
        request: web.Request,
        form: Form,
        issued: IssuedToken | None = None,
        status: int = 200,
    ) -> web.Response:
        team = await self._team(request)
        known = await self.console.ask(request, tokens.list_, TokenQuery(team=team.team))
        registered = await self.console.ask(request, servers.list_, Nothing())
        return self.console.answer(
            "organise_team.html",
            status=status,
            team=team,
            path=team_path(team.team),
            tokens=known,
            servers=[server for server in registered if server.team == team.team],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(known, self.console.hub.clock()),
            form=form,
            issued=issued,
        )

    async def _team(self, request: web.Request) -> TeamDetail:
        """Return the team of the address; one that is retired as well."""
        for team in await self.console.ask(request, teams.list_, Nothing()):
            if team.team == request.match_info["team"]:
                return team
        raise web.HTTPNotFound(text="There is no team of that name.")

    async def issue(self, request: web.Request) -> web.Response:
        """Make a token for a team and show it only once: no page that was posted for is kept."""
        team, sent = await self._team(request), await posted(request)
        values = {**TOKEN.values(sent), "role": Role.TEAM, "team": team.team}
        done = await tried(self.console.submit(request, tokens.create, values))
        if isinstance(done, RefusedError):
            return await self._show(request, TOKEN.form(sent, done), status=done.refusal)
        return await self._show(request, TOKEN.form(), done)

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask whether a team is to be retired."""
        return self._confirm(await self._team(request))

    def _confirm(self, team: TeamDetail, refused: RefusedError | None = None) -> web.Response:
        return self.console.answer(
            "organise_retire.html",
            status=refused.refusal if refused else 200,
            team=team,
            path=team_path(team.team),
            form=RETIRED.form(refused=refused),
        )

    async def retire(self, request: web.Request) -> web.Response:
        """Retire a team; its page says so."""
        team = await self._team(request)
        done = await tried(
            self.console.ask(request, teams.retire, OneTeam(team=team.team)), ("team",)
        )
        if isinstance(done, RefusedError):
            return self._confirm(team, done)
        raise web.HTTPSeeOther(team_path(team.team))
