"""Teams: let in, given tokens, retired."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from aiohttp import web

from metaserver.operations import servers, teams, tokens
from metaserver.operations.table import Nothing
from metaserver.operations.teams import TeamChange, TeamDetail
from metaserver.operations.tokens import IssuedToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.overview import team_path
from metaserver.web.team.settings import holds, made_with
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form

ONE = "/organise/teams/{team}"


class OrganiserTeamPages(ConsolePages):
    """The team handlers."""

    @cached_property
    def _token(self) -> FormPage[IssuedToken]:
        return FormPage(
            console=self.console,
            path=f"{ONE}/tokens",
            operation=tokens.create,
            fields=("label", "days"),
            show=self._show,
            then=lambda request, issued: self._show(request, issued=issued),
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        new = FormPage(
            console=self.console,
            path="/organise/teams",
            operation=teams.create,
            fields=("team", "title", "email"),
            show=self._list,
            then=self._path,
        )
        retired = FormPage(
            console=self.console,
            path=f"{ONE}/retire",
            operation=teams.retire,
            show=self._confirm,
            then=self._path,
            shown_at=("team",),
        )
        host = web.post(f"{ONE}/host", self._host)
        return [
            host,
            *new.routes(),
            web.get(ONE, self._show),
            self._token.route(),
            *retired.routes(),
        ]

    async def _path(self, request: web.Request, created: TeamDetail | None) -> str:
        return team_path(created.team if created else request.match_info["team"])

    async def _list(self, request: web.Request, form: Form) -> web.Response:
        """Answer with all teams, and the form for a new team."""
        registered = await self.console.ask(request, servers.list_, Nothing())
        issued = await self.console.ask(request, tokens.list_, TokenQuery(ended=0))
        now = self.console.hub.clock()
        return self.console.answer(
            "organise_teams.html",
            status=form.status,
            teams=await self.console.ask(request, teams.list_, Nothing()),
            servers=Counter(server.team for server in registered if not server.retired),
            tokens=Counter(
                token.team for token in issued if token.person is None and holds(token, now)
            ),
            path=team_path,
            form=form,
        )

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        issued: IssuedToken | None = None,
    ) -> web.Response:
        """Answer with a team; a new token is shown once, on a page that is not kept."""
        form = form or self._token.form()
        team = await self._team(request)
        listed = await self.console.ask(request, tokens.list_, TokenQuery(team=team.team))
        registered = await self.console.ask(request, servers.list_, Nothing())
        return self.console.answer(
            "organise_team.html",
            status=form.status,
            team=team,
            path=team_path(team.team),
            tokens=[token for token in listed if token.person is None],
            servers=[server for server in registered if server.team == team.team],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(listed, self.console.hub.clock()),
            form=form,
            issued=issued,
        )

    async def _host(self, request: web.Request) -> web.Response:
        """Say whether a team is the organisers' own."""
        sent = await posted(request)
        change = TeamChange(team=request.match_info["team"], host=bool(sent.get("host")))
        await self.console.ask(request, teams.update, change)
        raise web.HTTPSeeOther(team_path(change.team))

    async def _team(self, request: web.Request) -> TeamDetail:
        """Return the addressed team, even if retired."""
        for team in await self.console.ask(request, teams.list_, Nothing()):
            if team.team == request.match_info["team"]:
                return team
        raise web.HTTPNotFound(text="There is no team of that name.")

    async def _confirm(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a team is to be retired."""
        team = await self._team(request)
        return self.console.answer(
            "organise_retire.html",
            status=form.status,
            team=team,
            path=team_path(team.team),
            form=form,
        )
