"""What a team sets for itself: its name and address, the notices that it is sent, its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import teams, tokens
from metaserver.operations.teams import NoticeDetail, OneTeam, TeamDetail
from metaserver.operations.tokens import IssuedToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.view import scope_of
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import FormPage, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.held import made_with


@dataclass(frozen=True, kw_only=True)
class SettingsPages:
    """The handlers of a team's settings."""

    console: ConsoleContext

    @cached_property
    def _about(self) -> FormPage[TeamDetail]:
        return FormPage(
            console=self.console,
            path="/team/settings",
            operation=teams.update,
            fields=("title", "email"),
            show=self._show,
            then=self._changed,
            name="about",
        )

    @cached_property
    def _notices(self) -> FormPage[NoticeDetail]:
        return FormPage(
            console=self.console,
            path="/team/notices",
            operation=teams.set_notices,
            fields=("webhook", "email"),
            show=self._show,
            then=lambda request, changed: self._show(request, changed=changed),
            name="notices",
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        show = web.get("/team/settings", self._show)
        return [show, self._about.route(), self._notices.route()]

    async def _show(
        self, request: web.Request, form: Form | None = None, changed: NoticeDetail | None = None
    ) -> web.Response:
        """Answer with both forms, one as it was sent."""
        scope = await scope_of(self.console, request)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        team = scope.team
        notices = await self.console.ask(request, teams.get_notices, OneTeam(team=team.team))
        forms = {
            "about": self._about.form({"title": team.title, "email": team.email}),
            "notices": self._notices.form({"webhook": notices.webhook, "email": notices.email}),
        }
        if form is not None:
            forms[form.name] = form
        return self.console.answer(
            "team_settings.html",
            status=form.status if form else 200,
            scope=scope,
            changed=changed,
            **forms,
        )

    async def _changed(self, request: web.Request, team: TeamDetail) -> str:
        scope = await scope_of(self.console, request, team.team)
        return scope.link("/team/settings") if scope else "/team"


ROLES = Wording(
    help="A token of the team can do all that you can here; a reader's only reads.",
    choices=[("team", "everything for this team"), ("reader", "read what is public")],
)


@dataclass(frozen=True, kw_only=True)
class TeamTokenPages:
    """The handlers of a team's tokens."""

    console: ConsoleContext

    @cached_property
    def _new(self) -> FormPage[IssuedToken]:
        return FormPage(
            console=self.console,
            path="/team/tokens",
            operation=tokens.create,
            fields=("label", "role", "days"),
            show=self._show,
            then=lambda request, issued: self._show(request, issued=issued),
            wording={"role": ROLES},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [*self._new.routes(), web.post(r"/team/tokens/{id:\d+}/revoke", self.revoke)]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        issued: IssuedToken | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with the team's tokens; a new token is shown once, on an uncached page."""
        scope = await scope_of(self.console, request)
        form = form or self._new.form()
        if scope is None:
            raise web.HTTPSeeOther("/team")
        listed = await self.console.ask(request, tokens.list_, TokenQuery(team=scope.team.team))
        return self.console.answer(
            "team_tokens.html",
            status=refused.refusal if refused else form.status,
            scope=scope,
            tokens=[token for token in listed if token.person is None],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(listed, self.console.hub.clock()),
            form=form,
            issued=issued,
            refused=str(refused or ""),
        )

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token."""
        submitted = await posted(request)
        values = {"id": request.match_info["id"], "made_with_it": "made_with_it" in submitted}
        result = await tried(self.console.submit(request, tokens.revoke, values))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        scope = await scope_of(self.console, request)
        raise web.HTTPSeeOther(scope.link("/team/tokens") if scope else "/team")
