"""Signing the first organiser in, by the link that a start of the hub prints."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import first_organiser
from metaserver.operations.context import HubContext
from metaserver.web.access.auth import check_same_site
from metaserver.web.access.headers import unkept
from metaserver.web.access.signin import SignIn
from metaserver.web.access.visitor import caller_of


@dataclass(frozen=True, kw_only=True)
class FirstSignIn:
    """The handlers of the link."""

    hub: HubContext
    sign_in: SignIn

    def routes(self) -> list[web.RouteDef]:
        """Return its routes."""
        path = f"{first_organiser.PATH}{{secret}}"
        return [web.get(path, self.look), web.post(path, self.use)]

    async def look(self, request: web.Request) -> web.Response:
        """Answer with the button that uses the link up."""
        if not await first_organiser.is_open(self.hub, _secret(request)):
            return self._page(Refusal.UNKNOWN)
        return self._page(path=request.path)

    async def use(self, request: web.Request) -> web.Response:
        """Sign the browser in, and show the organiser's token, once."""
        check_same_site(request)
        try:
            token = await first_organiser.use(self.hub, caller_of(request), _secret(request))
        except RefusedError as error:
            return self._page(error.refusal)
        signed = await self.sign_in.enter(request, token, instead=True)
        answer = self._page(token=token)
        signed(answer)
        return answer

    def _page(self, status: int = 200, *, path: str = "", token: str = "") -> web.Response:
        page = self.sign_in.templates.page("signin_first.html", path=path, token=token)
        return unkept(page, status)


def _secret(request: web.Request) -> str:
    return request.match_info["secret"][:100]
