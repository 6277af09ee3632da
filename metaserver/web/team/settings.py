"""What a team sets for itself: its name and address, notices, tokens; and the hub's tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import teams, tokens
from metaserver.operations.teams import NoticeDetail, OneTeam, TeamDetail
from metaserver.operations.tokens import IssuedToken, TokenDetail, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.members import offered
from metaserver.web.team.view import scope_of
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, tried
from metaserver.web.ui.forms import Form, Wording


class SettingsPages(ConsolePages):
    """The handlers of a team's settings."""

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
        return scope.link("/team/settings")


ROLES = Wording(
    help="A team's token allows everything that you can do here; a reader's token only allows"
    " reading.",
    choices=[("team", "everything for this team"), ("reader", "read what is public")],
)
HUB_ROLES = Wording(
    choices=[
        ("organiser", "everything"),
        ("curator", "ask servers about articles"),
        ("reader", "read what is public"),
    ],
)


@dataclass(frozen=True, kw_only=True)
class TokenPages(ConsolePages):
    """The handlers of a team's tokens, or with `of_hub` of those without; these revoke any."""

    of_hub: bool = False

    @property
    def _path(self) -> str:
        return "/organise/tokens" if self.of_hub else "/team/tokens"

    @cached_property
    def _new(self) -> FormPage[IssuedToken]:
        return FormPage(
            console=self.console,
            path=self._path,
            operation=tokens.create,
            fields=("label", "role", "challenge", "days")
            if self.of_hub
            else ("label", "role", "days"),
            show=self._show,
            then=lambda request, issued: self._show(request, issued=issued),
            wording={"role": HUB_ROLES if self.of_hub else ROLES},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(self._path, self._show),
            self._new.route(),
            web.post(self._path + r"/{id:\d+}/revoke", self.revoke),
        ]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        issued: IssuedToken | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with the tokens; a new one is shown once, on an uncached page."""
        template, query = "organise_tokens.html", TokenQuery(ended=1_000)
        context: dict[str, Any] = {}
        if not self.of_hub:
            scope = await scope_of(self.console, request)
            template, query = "team_tokens.html", TokenQuery(team=scope.team.team)
            context["scope"] = scope
        form = form or self._new.form({"role": "organiser"} if self.of_hub else None)
        if self.of_hub:
            form = await offered(self.console, request, form)
        listed = await self.console.ask(request, tokens.list_, query)
        return self.console.answer(
            template,
            status=refused.refusal if refused else form.status,
            tokens=[token for token in listed if token.person is None and token.team == query.team],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(listed, self.console.hub.clock()),
            form=form,
            issued=issued,
            refused=str(refused or ""),
            **context,
        )

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token; the page that lists it says so."""
        number, submitted = request.match_info["id"], await posted(request)
        values = {"id": number, "made_with_it": "made_with_it" in submitted}
        team = await self._holder(request, number) if self.of_hub else None
        result = await tried(self.console.submit(request, tokens.revoke, values), ("id",))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        if self.of_hub:
            raise web.HTTPSeeOther(
                f"/organise/teams/{quote(team, safe='')}" if team else self._path
            )
        scope = await scope_of(self.console, request)
        raise web.HTTPSeeOther(scope.link(self._path))

    async def _holder(self, request: web.Request, number: str) -> str | None:
        """Return the team that a token belongs to."""
        listed = await self.console.ask(request, tokens.list_, TokenQuery(ended=1_000))
        return next((token.team for token in listed if str(token.id) == number), None)


def holds(token: TokenDetail, now: float) -> bool:
    """Return whether a token opens anything now."""
    over = token.expires_at is not None and token.expires_at <= now
    return token.revoked_at is None and not over


def made_with(tokens: Iterable[TokenDetail], now: float) -> Counter[int | None]:
    """Count the valid tokens by the id of what they were made with, directly or not."""
    by_id = {token.id: token for token in tokens}
    counts: Counter[int | None] = Counter()
    for token in by_id.values():
        above = by_id.get(token.parent or 0) if holds(token, now) else None
        while above is not None:
            counts[above.id] += 1
            above = by_id.get(above.parent or 0)
    return counts
