"""Signing in with a token, and signing out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import hdrs, web

from metaserver.base.errors import RefusedError, UnavailableError
from metaserver.base.states import Role
from metaserver.base.viewer import Session, Token
from metaserver.web.access.auth import Gate, check_same_site, visitor_of
from metaserver.web.access.form_bodies import Form
from metaserver.web.access.headers import (
    HOME,
    own_path,
    refusal_headers,
    sign_in_page,
    unsent_page,
)
from metaserver.web.access.posted import KEPT_BYTES, Unsent, fields
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import VISITOR, remember
from metaserver.web.ui.templates import Templates

HOMES = {Role.TEAM: "/team", Role.CURATOR: "/curate", Role.ORGANISER: "/organise"}
"""The pages to which a sign-in on the first page leads, by role."""
FORM_BYTES = 16_384 + 3 * KEPT_BYTES
"""The most that a sign-in brings: a token, an address to go to, and a form that was not sent, whose
bytes may be escaped now."""
KEPT = "kept."
"""The beginning of the names of its fields; the template of the sign-in writes them."""


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
        visitor = request[VISITOR]
        if visitor.session is not None:
            undecided = visitor.caller.role is None and not after.startswith("/invitations/")
            raise web.HTTPSeeOther("/account" if undecided else place_of(visitor.session, after))
        return sign_in_page(self.templates, after)

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a session; or answer with the form and the reason why not.

        A form that came without a session is shown again then, not sent.
        """
        check_same_site(request)
        submitted = await fields(request, FORM_BYTES)
        after, unsent = own_path(str(submitted.get("next", ""))), _unsent(submitted)
        secret = str(submitted.get("token", "")).strip()
        form = partial(sign_in_page, self.templates, after, unsent)
        if not secret:
            return form(wrong={"token": "Enter your token."}, status=422)
        try:
            token = await self.gate.signing_in(secret, request[VISITOR].origin)
        except RefusedError as error:
            wrong = {"token": in_words(error)}
            return form(wrong, error.refusal, refusal_headers(error))
        try:
            cookie, session = await self._begin(request, token)
        except UnavailableError:
            return form({"token": "The hub cannot open a session at the moment: try again."}, 503)
        if unsent is None:
            place = place_of(session, after)
            response = web.Response(status=303, headers={hdrs.LOCATION: place})
        else:
            remember(request, visitor_of(session, request, request[VISITOR].origin))
            response = unsent_page(self.templates, unsent, "you are signed in now")
        self.set_cookie(request, response, cookie)
        return response

    async def enter(
        self, request: web.Request, secret: str, *, instead: bool = False
    ) -> Callable[[web.Response], None]:
        """Begin a session with a token that was just issued, unless the browser has one.

        `instead`: the session that it has is ended. Returns what puts the session onto an answer;
        the answer is drawn after this.
        """
        known = request[VISITOR]
        if known.session is not None and not instead:
            return lambda _: None
        try:
            token = await self.gate.signing_in(secret, known.origin)
            cookie, session = await self._begin(request, token)
        except (RefusedError, UnavailableError):
            return lambda _: None  # the page has the token, and a link to sign in with it
        remember(request, visitor_of(session, request, known.origin))
        return partial(self.set_cookie, request, cookie=cookie)

    async def end(self, request: web.Request) -> web.Response:
        """End the session. Without one there is nothing to do."""
        response = web.Response(status=303, headers={hdrs.LOCATION: HOME})
        name = self.gate.cookie_name(request[VISITOR].origin)
        if cookie := request.cookies.get(name):
            await self.gate.sessions.end(cookie)
        self.gate.drop_cookie(request, response, name)
        return response

    async def _begin(self, request: web.Request, token: Token) -> tuple[str, Session]:
        """Begin a new session; the session that the browser had, whoever gave it, is over."""
        visitor = request[VISITOR]
        return await self.gate.sessions.begin(
            token,
            self.gate.now(),
            seconds=self.gate.settings.session_hours * 3600,
            earlier=request.cookies.get(self.gate.cookie_name(visitor.origin)),
            request_id=visitor.caller.request_id,
        )

    def set_cookie(self, request: web.Request, response: web.Response, cookie: str) -> None:
        """Give a browser the cookie of its new session."""
        name = self.gate.cookie_name(request[VISITOR].origin)
        seconds = int(self.gate.settings.session_hours * 3600)
        self.gate.set_cookie(request, response, name, cookie, seconds)


def _unsent(submitted: Form) -> Unsent | None:
    """Return the form to show again after a sign-in, or None."""
    if not submitted.get("action"):
        return None
    pairs = [
        (name.removeprefix(KEPT), value)
        for name, value in submitted.items()
        if name.startswith(KEPT) and isinstance(value, str)
    ]
    return Unsent(own_path(str(submitted["action"])), pairs)


def place_of(session: Session, after: str) -> str:
    """Return the page that a session begins with: the page asked for, or that of its role."""
    if after != HOME:
        return after
    return "/account" if session.token is None else HOMES.get(session.token.role, HOME)
