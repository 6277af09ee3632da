"""Settings of a team: its name and address, and the notices that it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import teams
from metaserver.operations.teams import NoticeChange, NoticeDetail, OneTeam, TeamChange
from metaserver.web.team.scope import Scope, scope_of
from metaserver.web.ui.console import ConsoleContext, mended, posted
from metaserver.web.ui.forms import Form, Wording, values_of

ABOUT = ("title", "email")
NOTICES = ("webhook", "email")
ABOUT_WORDING = {
    "title": Wording(label="Name of the team", help="As people call it; shown beside its runs."),
    "email": Wording(label="E-mail", kind="email", help="Where the organisers can reach it."),
}
NOTICE_WORDING = {
    "webhook": Wording(
        label="Webhook",
        help="A URL that is sent a JSON message when a server is down, up again or finished;"
        " empty: none. Only its host is shown again; leave it so to keep the one that there is.",
    ),
    "email": Wording(
        label="Send an e-mail to the team's address as well",
        help="If the organisers have set this hub up to send mail.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class SettingsPages:
    """The handlers of a team's settings."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/settings", self.show),
            web.post("/team/settings", self.change),
            web.post("/team/notices", self.notices),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the forms."""
        scope = await scope_of(self.console, request)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        return await self._show(request, scope)

    async def _show(
        self,
        request: web.Request,
        scope: Scope,
        *,
        about: Form | None = None,
        notices: Form | None = None,
        changed: NoticeDetail | None = None,
        status: int = 200,
    ) -> web.Response:
        kept = await self.console.ask(request, teams.get_notices, OneTeam(team=scope.team.team))
        plan = {"webhook": kept.webhook, "email": kept.email}
        said = {"title": scope.team.title, "email": scope.team.email}
        return self.console.answer(
            "team_settings.html",
            status=status,
            scope=scope,
            about=about
            or Form.of(TeamChange, ABOUT, values=said, wording=ABOUT_WORDING, name="about"),
            notices=notices
            or Form.of(NoticeChange, NOTICES, values=plan, wording=NOTICE_WORDING, name="notices"),
            changed=changed,
        )

    async def _posted_scope(self, request: web.Request) -> Scope:
        sent = await posted(request)
        scope = await scope_of(
            self.console, request, str(sent["team"]) if sent.get("team") else None
        )
        if scope is None:
            raise web.HTTPSeeOther("/team")
        return scope

    async def change(self, request: web.Request) -> web.Response:
        """Change the team's name and address."""
        scope, sent = await self._posted_scope(request), await posted(request)
        try:
            values = values_of(TeamChange, ABOUT, sent)
            await self.console.submit(request, teams.update, {**values, "team": scope.team.team})
        except RefusedError as error:
            refused = mended(error)
            form = Form.of(
                TeamChange, ABOUT, values=sent, wording=ABOUT_WORDING, name="about", refused=refused
            )
            return await self._show(request, scope, about=form, status=refused.refusal)
        raise web.HTTPSeeOther(scope.link("/team/settings"))

    async def notices(self, request: web.Request) -> web.Response:
        """Change the notices of the team; the secret of its webhook is shown only once."""
        scope, sent = await self._posted_scope(request), await posted(request)
        try:
            values = values_of(NoticeChange, NOTICES, sent)
            changed = await self.console.submit(
                request, teams.set_notices, {**values, "team": scope.team.team}
            )
        except RefusedError as error:
            refused = mended(error)
            form = Form.of(
                NoticeChange,
                NOTICES,
                values=sent,
                wording=NOTICE_WORDING,
                name="notices",
                refused=refused,
            )
            return await self._show(request, scope, notices=form, status=refused.refusal)
        return await self._show(request, scope, changed=changed)
