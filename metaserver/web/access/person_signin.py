"""Signing in as a person: by a link in a mail, or by an OpenID Connect provider.

Whoever signs in gets a cookie first: what comes back, from a mail or from a provider, signs in only
the browser with that cookie. It also has the address to go to afterwards.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from aiohttp import hdrs, web
from yarl import URL

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.viewer import Person
from metaserver.config import ProviderSettings
from metaserver.operations.openid import Answer, Provider
from metaserver.operations.sign_ins import SignIns, provider_path
from metaserver.web.access.auth import check_same_site
from metaserver.web.access.headers import HOME, own_path, refusal_headers, sign_in_page, unkept
from metaserver.web.access.posted import fields
from metaserver.web.access.refusals import in_words
from metaserver.web.access.signin import SignIn, place_of
from metaserver.web.access.visitor import VISITOR, Ways, caller_of

FORM_BYTES = 16_384
BOUND_SECONDS = 900
"""Seconds for which a browser is bound to a sign-in."""
LONGEST_PATH = 1_500
"""A longer address is not kept for after the sign-in."""


@dataclass(frozen=True, kw_only=True)
class PersonSignIn:
    """The handlers by which people sign in."""

    sign_in: SignIn
    people: SignIns

    def ways(self) -> Ways:
        """Return the ways in which people sign in."""
        providers = [
            (provider_path(number), label_of(provider.settings))
            for number, provider in enumerate(self.people.providers)
        ]
        return Ways(mail=self.people.by_mail, providers=providers)

    def routes(self) -> list[web.RouteDef]:
        """Return the addresses and their handlers."""
        return [
            web.post("/signin/mail", self.send_link),
            web.get("/signin/code", self.ask_code),
            web.post("/signin/code", self.take_code),
            web.get("/signin/link/{secret}", self.look_at_link),
            web.post("/signin/link/{secret}", self.take_link),
            web.get(r"/signin/with/{number:\d{1,3}}", self.to_provider, allow_head=False),
            web.get(r"/signin/with/{number:\d{1,3}}/back", self.from_provider, allow_head=False),
            web.post("/account/providers", self.add_provider),
        ]

    async def send_link(self, request: web.Request) -> web.Response:
        """Let a link be sent to an address; say the same to everybody."""
        check_same_site(request)
        submitted = await fields(request, FORM_BYTES)
        after, email = own_path(str(submitted.get("next", ""))), str(submitted.get("email", ""))
        browser = secrets.token_urlsafe(32)
        try:
            await self.people.ask(request[VISITOR].caller, email.strip(), browser)
        except RefusedError as error:
            wrong = {"email": in_words(error)}
            return sign_in_page(
                self.sign_in.templates, after, None, wrong, error.refusal, refusal_headers(error)
            )
        response = web.Response(status=303, headers={hdrs.LOCATION: "/signin/code"})
        self.bind(request, response, browser, after)
        return response

    async def ask_code(self, request: web.Request) -> web.Response:
        """Answer with the form for the code that was sent."""
        if not self.bound(request)[0]:
            raise web.HTTPSeeOther("/signin")
        return self._page("signin_code.html", wrong="")

    async def take_code(self, request: web.Request) -> web.Response:
        """Sign the person in whose code was typed."""
        check_same_site(request)
        code = str((await fields(request, FORM_BYTES)).get("code", ""))
        try:
            person = await self.people.by_code(code, self.bound(request)[0])
        except RefusedError as error:
            return self._page("signin_code.html", error.refusal, wrong=in_words(error))
        return await self.enter(request, person, "mail")

    async def look_at_link(self, request: web.Request) -> web.Response:
        """Answer with the button that uses a link up: scanners of mail open links too."""
        secret = request.match_info["secret"][:100]
        bound = await self.people.is_bound(secret, self.bound(request)[0])
        status = 200 if bound else Refusal.UNKNOWN
        return self._page("signin_link.html", status, path=request.path, bound=bound)

    async def take_link(self, request: web.Request) -> web.Response:
        """Sign the person in whose link it is."""
        check_same_site(request)
        secret = request.match_info["secret"][:100]
        try:
            person = await self.people.by_link(secret, self.bound(request)[0])
        except RefusedError as error:
            return self._page("signin_link.html", error.refusal, path=request.path, bound=False)
        return await self.enter(request, person, "mail")

    async def to_provider(self, request: web.Request) -> web.Response:
        """Lead a browser to a provider, from a page of this site alone."""
        after = own_path(request.query.get("next", HOME))
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise web.HTTPSeeOther("/signin")
        try:
            browser, address = await self._address(request)
        except RefusedError as error:
            return self._refused(after, error)
        response = web.Response(status=303, headers={hdrs.LOCATION: address})
        self.bind(request, response, browser, after)
        return response

    async def from_provider(self, request: web.Request) -> web.Response:
        """Sign the person in of whom the provider speaks."""
        provider, query = self._provider(request), request.query
        browser, after = self.bound(request)
        answer = Answer(
            code=query.get("code", ""),
            state=query.get("state", ""),
            iss=query.get("iss"),
            error=query.get("error", ""),
        )
        try:
            person = await self.people.by_provider(provider, answer, browser)
        except RefusedError as error:
            return self._refused(after, error)
        return await self.enter(request, person, provider.settings.issuer)

    async def add_provider(self, request: web.Request) -> web.Response:
        """Begin to add a provider to the account of the person who is signed in.

        A page leads on: a form of this site may lead to no other site.
        """
        person = caller_of(request).require_person()
        chosen = str((await fields(request, FORM_BYTES)).get("provider", ""))
        browser, address = await self._address(request, chosen, person)
        provider = self._provider(request, chosen)
        response = self._page(
            "account_provider.html", address=address, label=label_of(provider.settings)
        )
        self.bind(request, response, browser, "/account")
        return response

    async def _address(
        self, request: web.Request, number: str | None = None, adds: Person | None = None
    ) -> tuple[str, str]:
        """Return a new secret for a browser's cookie, and the provider's address."""
        browser, provider = secrets.token_urlsafe(32), self._provider(request, number)
        caller = request[VISITOR].caller
        return browser, await self.people.to_provider(caller, provider, browser, adds)

    def _provider(self, request: web.Request, number: str | None = None) -> Provider:
        text = request.match_info["number"] if number is None else number
        providers = self.people.providers
        if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) >= len(providers):
            raise web.HTTPNotFound
        return providers[int(text)]

    def _refused(self, after: str, error: RefusedError) -> web.Response:
        wrong = {"provider": in_words(error)}
        headers = refusal_headers(error)
        return sign_in_page(self.sign_in.templates, after, None, wrong, error.refusal, headers)

    async def enter(
        self,
        request: web.Request,
        person: Person,
        way: str,
        *,
        membership: int | None = None,
        team: str | None = None,
        after: str | None = None,
    ) -> web.Response:
        """Begin a new session of a person, and lead to the page that was asked for, or theirs."""
        visitor = request[VISITOR]
        cookie, session = await self.people.begin(
            person,
            way=way,
            now=self.sign_in.gate.now(),
            seconds=self.sign_in.gate.settings.session_hours * 3600,
            earlier=request.cookies.get(self.sign_in.gate.cookie_name(visitor.origin)),
            request_id=visitor.caller.request_id,
            membership=membership,
            team=team,
        )
        place = place_of(session, self.bound(request)[1] if after is None else after)
        response = web.Response(status=303, headers={hdrs.LOCATION: place})
        self.sign_in.set_cookie(request, response, cookie)
        self.sign_in.gate.drop_cookie(request, response, self._bound_name(request))
        return response

    def bind(self, request: web.Request, response: web.Response, secret: str, after: str) -> None:
        """Give a browser the cookie that its sign-in is bound to, always a new cookie."""
        kept = after if len(after) <= LONGEST_PATH else HOME
        value = f"{secret}.{quote(kept, safe='')}"
        self.sign_in.gate.set_cookie(
            request, response, self._bound_name(request), value, BOUND_SECONDS
        )

    def bound(self, request: web.Request) -> tuple[str, str]:
        """Return the secret that a browser's sign-in is bound to, and where to go afterwards."""
        value = request.cookies.get(self._bound_name(request), "")
        secret, _, after = value.partition(".")
        return secret, own_path(unquote(after)) if after else HOME

    def _bound_name(self, request: web.Request) -> str:
        secure = self.sign_in.gate.secure(request[VISITOR].origin)
        return "__Host-signing-in" if secure else "signing-in"

    def _page(self, template: str, status: int = 200, **context: Any) -> web.Response:
        return unkept(self.sign_in.templates.page(template, **context), status)


def label_of(provider: ProviderSettings) -> str:
    """Return the words of a provider's button."""
    return provider.label or f"Sign in by {URL(provider.issuer).host}"
