"""Signing in with a token, and signing out."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import hdrs, web

from metaserver.model.errors import RefusedError, UnavailableError
from metaserver.model.tokens import Token
from metaserver.web.access.auth import Gate, check_same_site
from metaserver.web.access.headers import refusal_headers
from metaserver.web.access.posted import fields
from metaserver.web.access.visitor import VISITOR
from metaserver.web.ui.templates import Templates

HOME = "/"
FORM_BYTES = 16_384
"""The most that a sign-in brings: a token, and an address to go to."""


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """The handlers of `/signin` and `/signout`."""

    gate: Gate
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the addresses and their handlers."""
        return [
            web.get("/signin", self.ask),
            web.post("/signin", self.begin),
            web.post("/signout", self.end),
        ]

    async def ask(self, request: web.Request) -> web.Response:
        """Answer with the form, or redirect a viewer who is signed in already."""
        after = own_path(request.query.get("next", HOME))
        if request[VISITOR].session is not None:
            raise web.HTTPSeeOther(after)
        return self._form(after)

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a session; or answer with the form and the reason why not."""
        check_same_site(request)
        sent = await fields(request, FORM_BYTES)
        after = own_path(str(sent.get("next", "")))
        secret = str(sent.get("token", "")).strip()
        if not secret:
            return self._form(after, wrong="Enter your token.", status=422)
        try:
            token = await self.gate.signing_in(secret, request[VISITOR].origin)
        except RefusedError as error:
            wrong = f"{error.message[0].upper()}{error.message[1:]}."
            return self._form(after, wrong, error.refusal, refusal_headers(error))
        try:
            cookie = await self._begin(request, token)
        except UnavailableError:
            return self._form(after, "The hub cannot keep sessions now: try again.", 503)
        return self._redirect(request, after, cookie)

    async def end(self, request: web.Request) -> web.Response:
        """End the session. Without one there is nothing to do."""
        response = web.Response(status=303, headers={hdrs.LOCATION: HOME})
        origin = request[VISITOR].origin
        name = self.gate.cookie_name(origin)
        if cookie := request.cookies.get(name):
            await self.gate.sessions.end(cookie)
        response.del_cookie(name, path="/", secure=self.gate.secure(origin), httponly=True)
        return response

    async def _begin(self, request: web.Request, token: Token) -> str:
        """Begin a new session; the one that the browser had, whoever gave it, is over."""
        visitor = request[VISITOR]
        return await self.gate.sessions.begin(
            token,
            self.gate.now(),
            seconds=self.gate.settings.session_hours * 3600,
            old=request.cookies.get(self.gate.cookie_name(visitor.origin)),
            request_id=visitor.caller.request_id,
        )

    def _redirect(self, request: web.Request, after: str, cookie: str) -> web.Response:
        response = web.Response(status=303, headers={hdrs.LOCATION: after})
        origin = request[VISITOR].origin
        response.set_cookie(
            self.gate.cookie_name(origin),
            cookie,
            max_age=int(self.gate.settings.session_hours * 3600),
            path="/",
            httponly=True,
            samesite="Lax",
            secure=self.gate.secure(origin),
        )
        return response

    def _form(
        self,
        after: str,
        wrong: str = "",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> web.Response:
        page = self.templates.page("signin.html", after=after, wrong=wrong)
        kept = {hdrs.CACHE_CONTROL: "no-store"} | (headers or {})
        return web.Response(text=page, status=status, content_type="text/html", headers=kept)


def own_path(path: str) -> str:
    """Return a path of this site to redirect to; for anything else, the first page.

    Browsers read two slashes as the start of a host's name, a backslash as a slash, and pass over
    tabs and line ends.
    """
    own = path.startswith("/") and not path.startswith("//")
    return path if own and path.isprintable() and "\\" not in path else HOME
