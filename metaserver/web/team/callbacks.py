"""The callback key of a server that calls the hub back: made here, and shown once."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import callbacks
from metaserver.operations.callbacks import CallbackKey
from metaserver.operations.fields import OneServer
from metaserver.web.team.scope import one_card, scope_of
from metaserver.web.ui.console import ConsoleContext, mended


@dataclass(frozen=True, kw_only=True)
class CallbackPages:
    """The handlers of a server's callbacks."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/team/servers/{server}/callbacks"
        return [web.get(path, self.show), web.post(path, self.make)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with what the key is for, and the button that makes one."""
        return await self._show(request)

    async def make(self, request: web.Request) -> web.Response:
        """Make a key and show it only once: a page that was posted for is kept nowhere."""
        asked = OneServer(server=request.match_info["server"])
        try:
            made = await self.console.ask(request, callbacks.callback_key, asked)
        except RefusedError as error:
            refused = mended(error)
            return await self._show(request, refused=str(refused), status=refused.refusal)
        return await self._show(request, made=made)

    async def _show(
        self,
        request: web.Request,
        *,
        made: CallbackKey | None = None,
        refused: str = "",
        status: int = 200,
    ) -> web.Response:
        card = await one_card(self.console, request, request.match_info["server"])
        return self.console.answer(
            "team_callbacks.html",
            status=status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            made=made,
            refused=refused,
        )
