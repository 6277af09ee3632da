"""Signing a team up, and the pages of its one-time links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
from aiohttp import hdrs, web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import LinkKind, SignUpMode, SignUpState, link_path
from metaserver.base.viewer import Person
from metaserver.operations import challenge_pages, sign_up_links, sign_ups
from metaserver.operations.challenge_pages import ChallengeTexts
from metaserver.operations.fields import OneChallenge
from metaserver.operations.sign_up_links import Confirmation, LinkDetail, OneLink
from metaserver.operations.sign_ups import NewSignUp
from metaserver.web.access.auth import check_same_site
from metaserver.web.access.headers import refusal_headers
from metaserver.web.access.person_signin import PersonSignIn
from metaserver.web.access.posted import fields
from metaserver.web.access.refusals import in_words
from metaserver.web.access.signin import SignIn
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsolePages
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.markdown import render

FORM_BYTES = 32_768
WORDING = {
    "team": Wording(
        label="Team",
        help="The team's name on the boards, which cannot be changed later: letters, digits,"
        " “.-_”.",
    ),
    "people": Wording(
        label="People",
        kind="long",
        help="The team's members, one name per line, the contact person first.",
    ),
    "email": Wording(
        label="E-mail", kind="email", help="You will receive a link there to confirm the address."
    ),
    "affiliation": Wording(label="Affiliation", help="Your institution or company."),
    "code": Wording(label="Invitation code", help="You have it from the organisers."),
}
ASKED = ("team", "people", "email", "affiliation")
OF_PERSON = ("team", "people", "affiliation")
"""What a person who is signed in is asked for: the address is known, and confirmed."""
CORRECTED = ("team", "people", "affiliation")


def _form(
    request: type[msgspec.Struct], names: tuple[str, ...], texts: ChallengeTexts | LinkDetail
) -> OperationForm:
    """Return a form, with a box for the terms if there are any."""
    label = f"I accept the terms (version {texts.terms_version})"
    box = Wording(
        label=label, kind="check", help="The terms are shown above.", sends=texts.terms_version
    )
    terms = ("terms",) if texts.terms else ()
    return OperationForm(request=request, names=names + terms, wording={**WORDING, "terms": box})


@dataclass(frozen=True, kw_only=True)
class SignUpPages(ConsolePages):
    """The handlers for signing up, for people without a token."""

    sign_in: SignIn
    entrance: PersonSignIn

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = link_path("{secret}")
        return [
            web.get(path, self.look),
            web.post(path, self.use),
            web.get("/sign-up/{challenge}", self.ask),
            web.post("/sign-up/{challenge}", self.begin),
        ]

    async def ask(self, request: web.Request) -> web.Response:
        """Answer with the form."""
        texts = await self._texts(request)
        person = caller_of(request).person
        values = {"people": person.name} if person else None
        return await self._ask(request, texts, self._asked(request, texts).form(values))

    async def begin(self, request: web.Request) -> web.Response:
        """Sign a team up; say the same to everybody."""
        check_same_site(request)
        texts, submitted = await self._texts(request), await fields(request, FORM_BYTES)
        form = self._asked(request, texts)
        values = {**form.values(submitted), "challenge": texts.challenge}
        person = caller_of(request).person
        if person is not None and person.email:
            values["email"] = person.email
        try:
            result = await tried(self.console.submit(request, sign_ups.begin, values))
        except RefusedError as error:
            if error.refusal is not Refusal.TOO_MANY:
                raise
            result = error
        if isinstance(result, RefusedError):
            answer = await self._ask(request, texts, form.form(submitted, result), result.refusal)
            answer.headers.update(refusal_headers(result))
            return answer
        if result.secret and person is not None:
            return await self._begun(request, person, texts, form.form(submitted), result.secret)
        return self._answer("sign_up_done.html", c=texts, message=result.message)

    async def _begun(
        self, request: web.Request, person: Person, texts: ChallengeTexts, form: Form, secret: str
    ) -> web.Response:
        """Confirm the sign-up of a person, whose address needs no link; act for the team then."""
        confirmation = Confirmation(secret=secret)
        result = await tried(self.console.ask(request, sign_up_links.confirm, confirmation))
        if isinstance(result, RefusedError):
            form = replace(form, error=in_words(result))
            return await self._ask(request, texts, form, result.refusal)
        if result.state is not SignUpState.APPROVED:
            return self._answer("sign_up_waits.html", link=texts, team=result.team)
        return await self.entrance.enter(
            request, person, "sign-up", team=result.team, after="/team"
        )

    # -- links -----------------------------------------------------------------------------------

    async def look(self, request: web.Request) -> web.Response:
        """Answer with what a link is for: only its button uses it up."""
        link = await self._link(request)
        form = self._confirmed(link).form({name: getattr(link, name) for name in CORRECTED})
        return await self._look(request, link, form)

    async def use(self, request: web.Request) -> web.Response:
        """Confirm a sign-up, accept an invitation, or show the first token."""
        check_same_site(request)
        secret, link = request.match_info["secret"], await self._link(request)
        if link.kind is LinkKind.TOKEN:
            return await self._enter(request, link, secret)
        form, submitted = self._confirmed(link), await fields(request, FORM_BYTES)
        values = {**form.values(submitted), "secret": secret}
        result = await tried(self.console.submit(request, sign_up_links.confirm, values))
        if isinstance(result, RefusedError):
            return await self._look(request, link, form.form(submitted, result), result.refusal)
        person = caller_of(request).person
        if result.state is SignUpState.APPROVED and person is not None:
            return await self.entrance.enter(
                request, person, "sign-up", team=result.team, after="/team"
            )
        if result.state is SignUpState.APPROVED:
            return await self._enter(request, link, result.secret)
        return self._answer("sign_up_waits.html", link=link, team=result.team)

    async def _enter(self, request: web.Request, link: LinkDetail, secret: str) -> web.Response:
        """Issue a team's first token, sign its browser in, and show the token, once."""
        issued = await self.console.ask(request, sign_up_links.token, OneLink(secret=secret))
        signed = await self.sign_in.enter(request, issued.token)
        answer = self._answer("sign_up_token.html", link=link, issued=issued)
        signed(answer)
        return answer

    async def _texts(self, request: web.Request) -> ChallengeTexts:
        query = OneChallenge(challenge=request.match_info["challenge"])
        return await self.console.ask(request, challenge_pages.get, query)

    async def _link(self, request: web.Request) -> LinkDetail:
        query = OneLink(secret=request.match_info["secret"][:100])
        return await self.console.ask(request, sign_up_links.look, query)

    def _asked(self, request: web.Request, texts: ChallengeTexts) -> OperationForm:
        person = caller_of(request).person
        code = ("code",) if texts.sign_up is SignUpMode.CODE else ()
        return _form(NewSignUp, (OF_PERSON if person and person.email else ASKED) + code, texts)

    def _confirmed(self, link: LinkDetail) -> OperationForm:
        if link.kind is LinkKind.CONFIRM:
            return OperationForm(request=Confirmation, names=CORRECTED, wording=WORDING)
        return _form(Confirmation, CORRECTED, link)

    async def _ask(
        self, request: web.Request, texts: ChallengeTexts, form: Form, status: int = 200
    ) -> web.Response:
        terms = await caller_of(request).aside(render, texts.terms, "terms")
        closed = texts.sign_up is SignUpMode.CLOSED
        return self._answer(
            "sign_up.html", status=status, c=texts, form=form, terms=terms, closed=closed
        )

    async def _look(
        self, request: web.Request, link: LinkDetail, form: Form, status: int = 200
    ) -> web.Response:
        context = {"link": link, "form": form, "path": request.path}
        terms = await caller_of(request).aside(render, link.terms, "terms")
        return self._answer("sign_up_link.html", status=status, terms=terms, **context)

    def _answer(self, template: str, status: int = 200, **context: Any) -> web.Response:
        answer = self.console.answer(template, status=status, **context)
        answer.headers[hdrs.CACHE_CONTROL] = "no-store"
        return answer
