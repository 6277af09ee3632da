"""What a team says of itself, and how it wants to be told that a server is down."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.client.urls import shown_webhook
from metaserver.model.errors import RefusedError
from metaserver.operations.teams import NoticeChange, NoticeDetail, TeamChange
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
        return await self._show(scope)

    async def _show(
        self,
        scope: Scope,
        *,
        about: Form | None = None,
        notices: Form | None = None,
        changed: NoticeDetail | None = None,
        status: int = 200,
    ) -> web.Response:
        team = await self.console.hub.team(scope.team.team)
        plan = {"webhook": shown_webhook(team.notices.webhook), "email": team.notices.email}
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
        """Change what the team says of itself."""
        scope, sent = await self._posted_scope(request), await posted(request)
        try:
            values = values_of(TeamChange, ABOUT, sent)
            await self.console.ask(request, "teams.update", team=scope.team.team, **values)
        except RefusedError as error:
            refused = mended(error)
            form = Form.of(
                TeamChange, ABOUT, values=sent, wording=ABOUT_WORDING, name="about", refused=refused
            )
            return await self._show(scope, about=form, status=refused.refusal)
        raise web.HTTPSeeOther(scope.link("/team/settings"))

    async def notices(self, request: web.Request) -> web.Response:
        """Change how the team is told; the secret of its webhook is shown this once."""
        scope, sent = await self._posted_scope(request), await posted(request)
        try:
            values = values_of(NoticeChange, NOTICES, sent)
            changed = await self.console.ask(
                request, "teams.notices", team=scope.team.team, **values
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
            return await self._show(scope, notices=form, status=refused.refusal)
        return await self._show(scope, changed=changed)
