"""Settings of a team: its name and address, and the notices that it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.operations import teams
from metaserver.operations.teams import NoticeDetail, OneTeam, TeamDetail
from metaserver.web.team.view import scope_of
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form


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
