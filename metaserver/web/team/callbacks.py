"""A server's callback key: made here, and shown once."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.operations import callbacks
from metaserver.operations.callbacks import CallbackKey
from metaserver.web.team.scope import one_card, scope_of
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form


@dataclass(frozen=True, kw_only=True)
class CallbackPages:
    """The handlers for a server's callbacks."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return FormPage(
            console=self.console,
            path="/team/servers/{server}/callbacks",
            operation=callbacks.callback_key,
            show=self._show,
            then=lambda request, created: self._show(request, Form(fields=()), created),
        ).routes()

    async def _show(
        self, request: web.Request, form: Form, new_key: CallbackKey | None = None
    ) -> web.Response:
        """Answer with what the key is for; it is shown once, on a page that is not cached."""
        card = await one_card(self.console, request, request.match_info["server"])
        return self.console.answer(
            "team_callbacks.html",
            status=form.status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            made=new_key,
            refused=form.error,
        )
