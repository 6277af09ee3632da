"""Tokens without a team: organisers', curators' and readers'. All are revoked here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import tokens
from metaserver.operations.tokens import IssuedToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.overview import team_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import FormPage, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.held import made_with

ROLES = Wording(
    choices=[
        ("organiser", "everything"),
        ("curator", "ask servers about articles"),
        ("reader", "read what is public"),
    ],
)


@dataclass(frozen=True, kw_only=True)
class OrganiserTokenPages:
    """The handlers for these tokens."""

    console: ConsoleContext

    @cached_property
    def _new(self) -> FormPage[IssuedToken]:
        return FormPage(
            console=self.console,
            path="/organise/tokens",
            operation=tokens.create,
            fields=("label", "role", "days"),
            show=self._show,
            then=lambda request, issued: self._show(request, issued=issued),
            wording={"role": ROLES},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/tokens", self._show),
            self._new.route(),
            web.post(r"/organise/tokens/{id:\d+}/revoke", self.revoke),
        ]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        issued: IssuedToken | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with the tokens without a team; a new one is shown once, on an uncached page."""
        form = form or self._new.form({"role": "organiser"})
        listed = await self.console.ask(request, tokens.list_, TokenQuery(ended=1_000))
        return self.console.answer(
            "organise_tokens.html",
            status=refused.refusal if refused else form.status,
            tokens=[token for token in listed if token.team is None and token.person is None],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(listed, self.console.hub.clock()),
            form=form,
            issued=issued,
            refused=str(refused or ""),
        )

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token; the page that lists it says so."""
        number, submitted = request.match_info["id"], await posted(request)
        values = {"id": number, "made_with_it": "made_with_it" in submitted}
        listed = await self.console.ask(request, tokens.list_, TokenQuery(ended=1_000))
        result = await tried(self.console.submit(request, tokens.revoke, values), ("id",))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        team = next((token.team for token in listed if str(token.id) == number), None)
        raise web.HTTPSeeOther("/organise/tokens" if team is None else team_path(team))
