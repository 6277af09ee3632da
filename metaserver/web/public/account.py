"""A person's account: memberships to act by, the name, all that is kept, and invitations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec
from aiohttp import hdrs, web

from metaserver.base.errors import RefusedError
from metaserver.operations import people
from metaserver.operations.people import Account, Capacity, OneInvitation
from metaserver.operations.table import Nothing
from metaserver.web.access.auth import check_same_site
from metaserver.web.access.downloads import attachment
from metaserver.web.access.headers import HOME
from metaserver.web.access.person_signin import PersonSignIn, label_of
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, number, tried
from metaserver.web.ui.forms import Form


@dataclass(frozen=True, kw_only=True)
class AccountPages(ConsolePages):
    """The handlers of a person's account."""

    entrance: PersonSignIn

    @cached_property
    def _name(self) -> FormPage[None]:
        return FormPage(
            console=self.console,
            path="/account/name",
            operation=people.rename,
            fields=("name",),
            show=self._show,
            then="/account",
            name="about",
        )

    @cached_property
    def _delete(self) -> FormPage[None]:
        return FormPage(
            console=self.console,
            path="/account/delete",
            operation=people.delete,
            fields=("confirm",),
            show=self._show,
            then=HOME,
            name="deletion",
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/account", self._show),
            web.get("/account/data.json", self.export),
            web.post("/account/act", self.act),
            self._name.route(),
            self._delete.route(),
            web.get("/invitations/{secret}", self.look),
            web.post("/invitations/{secret}", self.accept),
        ]

    async def _show(self, request: web.Request, form: Form | None = None) -> web.Response:
        """Answer with the account, and the form that was sent."""
        account = await self.console.ask(request, people.me, Nothing())
        forms = {"about": self._name.form({"name": account.name}), "deletion": self._delete.form()}
        if form is not None:
            forms[form.name] = form
        status = 200 if form is None else form.status
        providers = [
            (number, label_of(provider.settings))
            for number, provider in enumerate(self.entrance.people.providers)
            if provider.settings.issuer not in account.issuers
        ]
        return self.console.answer(
            "account.html", status=status, account=account, providers=providers, **forms
        )

    async def export(self, request: web.Request) -> web.Response:
        """Answer with all that is kept of the person, as a file."""
        account: Account = await self.console.ask(request, people.me, Nothing())
        content = msgspec.json.format(msgspec.json.encode(account))
        return attachment(content, "account.json", "application/json")

    async def act(self, request: web.Request) -> web.Response:
        """Begin a session in which the person acts by another membership."""
        person = caller_of(request).require_person()
        chosen = number(str((await posted(request)).get("membership", "")))
        return await self.entrance.enter(
            request, person, "membership", membership=chosen, after=HOME
        )

    async def look(self, request: web.Request) -> web.Response:
        """Answer with what an invitation gives: only its button uses it up."""
        invitation = await self.console.ask(request, people.look, _secret(request))
        person = caller_of(request).person
        answer = self.console.answer(
            "invitation.html", invitation=invitation, person=person, path=request.path
        )
        answer.headers[hdrs.CACHE_CONTROL] = "no-store"
        return answer

    async def accept(self, request: web.Request) -> web.Response:
        """Accept an invitation, and act by it from now on."""
        check_same_site(request)
        person = caller_of(request).require_person()
        joined: Capacity | RefusedError = await tried(
            self.console.ask(request, people.accept, _secret(request))
        )
        if isinstance(joined, RefusedError):
            raise joined
        return await self.entrance.enter(
            request, person, "invitation", membership=joined.id, after=HOME
        )


def _secret(request: web.Request) -> OneInvitation:
    return OneInvitation(secret=request.match_info["secret"][:100])
