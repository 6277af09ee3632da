"""The tokens of no team: organisers', curators' and readers'. All are revoked here."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import tokens
from metaserver.operations.tokens import IssuedToken, NewToken, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import team_path
from metaserver.web.organise.teams import TOKEN
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.held import made_with

MADE = OperationForm(
    request=NewToken,
    names=("label", "role", "days"),
    wording={
        **TOKEN.wording,
        "label": Wording(help="Who holds it: the audit log calls an organiser by it."),
        "role": Wording(
            label="May do",
            choices=[
                ("organiser", "everything"),
                ("curator", "ask servers about articles"),
                ("reader", "read what is public"),
            ],
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class OrganiserTokenPages:
    """The handlers of these tokens."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/tokens", self.show),
            web.post("/organise/tokens", self.issue),
            web.post(r"/organise/tokens/{id:\d+}/revoke", self.revoke),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the tokens of no team, and the form of a new one."""
        return await self._show(request, MADE.form({"role": "organiser"}))

    async def _show(
        self,
        request: web.Request,
        form: Form,
        *,
        issued: IssuedToken | None = None,
        refused: RefusedError | None = None,
        status: int = 200,
    ) -> web.Response:
        known = await self.console.ask(request, tokens.list_, TokenQuery(ended=1_000))
        return self.console.answer(
            "organise_tokens.html",
            status=refused.refusal if refused else status,
            tokens=[token for token in known if token.team is None],
            now=self.console.hub.clock(),
            mine=caller_of(request).token_id,
            made=made_with(known, self.console.hub.clock()),
            form=form,
            issued=issued,
            refused=str(refused or ""),
        )

    async def issue(self, request: web.Request) -> web.Response:
        """Make a token and show it only once."""
        sent = await posted(request)
        done = await tried(self.console.submit(request, tokens.create, MADE.values(sent)))
        if isinstance(done, RefusedError):
            return await self._show(request, MADE.form(sent, done), status=done.refusal)
        return await self._show(request, MADE.form({"role": "organiser"}), issued=done)

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token; the page that lists it says so."""
        number, sent = request.match_info["id"], await posted(request)
        values = {"id": number, "made_with_it": "made_with_it" in sent}
        known = await self.console.ask(request, tokens.list_, TokenQuery(ended=1_000))
        done = await tried(self.console.submit(request, tokens.revoke, values), ("id",))
        if isinstance(done, RefusedError):
            return await self._show(request, MADE.form({"role": "organiser"}), refused=done)
        team = next((token.team for token in known if str(token.id) == number), None)
        raise web.HTTPSeeOther("/organise/tokens" if team is None else team_path(team))
