"""The tokens of a team: made (shown once), listed, revoked."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import tokens
from metaserver.operations.tokens import IssuedToken, NewToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.scope import scope_of
from metaserver.web.ui.console import ConsoleContext, mended, posted
from metaserver.web.ui.forms import Form, Wording, values_of
from metaserver.web.ui.held import made_with

FIELDS = ("label", "role", "days")
WORDING = {
    "label": Wording(help="Who or what holds it: “Ana's laptop”, “nightly script”."),
    "role": Wording(
        label="May do",
        help="A token of the team can do all that you can here; a reader's only reads.",
        choices=[("team", "everything for this team"), ("reader", "read what is public")],
    ),
    "days": Wording(
        label="Days",
        help="Days until it expires; empty: it is valid until revoked. No longer than yours.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class TeamTokenPages:
    """The handlers of a team's tokens."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/tokens", self.show),
            web.post("/team/tokens", self.create),
            web.post(r"/team/tokens/{id:\d+}/revoke", self.revoke),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the team's tokens and the form of a new one."""
        return await self._show(request)

    async def _show(
        self,
        request: web.Request,
        *,
        team: str | None = None,
        form: Form | None = None,
        issued: IssuedToken | None = None,
        refused: str = "",
        status: int = 200,
    ) -> web.Response:
        scope = await scope_of(self.console, request, team)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        known = await self.console.ask(request, tokens.list_, TokenQuery(team=scope.team.team))
        return self.console.answer(
            "team_tokens.html",
            status=status,
            scope=scope,
            tokens=known,
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(known, self.console.hub.clock()),
            form=form or Form.of(NewToken, FIELDS, wording=WORDING),
            issued=issued,
            refused=refused,
        )

    async def create(self, request: web.Request) -> web.Response:
        """Make a token and show it only once: a page that was posted for is kept nowhere."""
        sent = await posted(request)
        team = str(sent["team"]) if sent.get("team") else caller_of(request).team
        try:
            values = {**values_of(NewToken, FIELDS, sent), "team": team}
            issued = await self.console.submit(request, tokens.create, values)
        except RefusedError as error:
            refused = mended(error)
            form = Form.of(NewToken, FIELDS, values=sent, wording=WORDING, refused=refused)
            return await self._show(request, team=team, form=form, status=refused.refusal)
        return await self._show(request, team=team, issued=issued)

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token."""
        sent = await posted(request)
        team = str(sent["team"]) if sent.get("team") else None
        try:
            values = {"id": request.match_info["id"], "made_with_it": "made_with_it" in sent}
            await self.console.submit(request, tokens.revoke, values)
        except RefusedError as error:
            refused = mended(error)
            return await self._show(
                request, team=team, refused=str(refused), status=refused.refusal
            )
        scope = await scope_of(self.console, request, team)
        raise web.HTTPSeeOther(scope.link("/team/tokens") if scope else "/team")
