"""The people of a team, and those with a role on the hub: invited, made owners, removed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import challenges, memberships
from metaserver.operations.memberships import InvitationDetail, MembershipQuery
from metaserver.operations.table import Nothing
from metaserver.web.access.visitor import caller_of, only_challenge
from metaserver.web.team.view import Scope, scope_of
from metaserver.web.ui.console import ConsoleContext, ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, tried
from metaserver.web.ui.forms import Form, Wording

ROLES = Wording(
    choices=[("organiser", "everything"), ("curator", "ask servers about articles")],
    help="Curators are of the whole hub, organisers of that or of one challenge.",
)
OF_CHALLENGE = [("organiser", "everything of the challenge")]
"""The roles that the organiser of one challenge gives."""


async def offered(console: ConsoleContext, request: web.Request, form: Form) -> Form:
    """Return the form of a role with what the caller may give: of the hub, or of a challenge."""
    listed = await console.ask(request, challenges.list_challenges, Nothing())
    choices = [
        (challenge.challenge, f"challenge {challenge.title or challenge.challenge} alone")
        for challenge in listed
    ]
    if own := only_challenge():
        choices = [choice for choice in choices if choice[0] == own]
        return form.offering("challenge", choices).offering("role", OF_CHALLENGE)
    return form.offering("challenge", [("", "the whole hub"), *choices])


@dataclass(frozen=True, kw_only=True)
class MemberPages(ConsolePages):
    """The handlers of the members of teams, or with `of_hub` of the hub's people."""

    of_hub: bool = False

    @property
    def _path(self) -> str:
        return "/organise/people" if self.of_hub else "/team/members"

    @cached_property
    def _invite(self) -> FormPage[InvitationDetail]:
        return FormPage(
            console=self.console,
            path=self._path,
            operation=memberships.invite,
            fields=("email", "role", "challenge") if self.of_hub else ("email", "owner"),
            show=self._show,
            then=lambda request, invited: self._show(request, invited=invited),
            wording={"role": ROLES},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = self._path
        return [
            web.get(path, self._show),
            self._invite.route(),
            web.post(path + r"/{id:\d+}/{act:owner|member|end}", self.act),
            web.post(path + r"/invitations/{id:\d+}/withdraw", self.withdraw),
        ]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        invited: InvitationDetail | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with the members, the open invitations and the form of the next."""
        scope = await self._scope(request)
        query = MembershipQuery(team=None if scope is None else scope.team.team)
        form = form or self._invite.form({"role": "organiser"} if self.of_hub else None)
        if self.of_hub:
            form = await offered(self.console, request, form)
        caller = caller_of(request)
        return self.console.answer(
            "organise_people.html" if self.of_hub else "team_members.html",
            status=refused.refusal if refused else form.status,
            scope=scope,
            members=await self.console.ask(request, memberships.list_, query),
            invitations=await self.console.ask(request, memberships.invitations, query),
            path=self._path,
            me=None if caller.person is None else caller.person.id,
            manages=caller.organiser or caller.owner or caller.challenge is not None,
            form=form,
            invited=invited,
            refused=str(refused or ""),
        )

    async def act(self, request: web.Request) -> web.Response:
        """Make a member owner, or no longer, or end the membership."""
        await posted(request)
        id_, act = request.match_info["id"], request.match_info["act"]
        if act == "end":
            change = self.console.submit(request, memberships.end, {"id": id_})
        else:
            values = {"id": id_, "owner": act == "owner"}
            change = self.console.submit(request, memberships.change, values)
        result = await tried(change, ("id",))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        raise web.HTTPSeeOther(await self._link(request))

    async def withdraw(self, request: web.Request) -> web.Response:
        """Take an invitation back."""
        values = {"id": request.match_info["id"]}
        result = await tried(self.console.submit(request, memberships.withdraw, values), ("id",))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        raise web.HTTPSeeOther(await self._link(request))

    async def _scope(self, request: web.Request) -> Scope | None:
        """Return whose members they are: a team's, or None for the hub's."""
        return None if self.of_hub else await scope_of(self.console, request)

    async def _link(self, request: web.Request) -> str:
        scope = await self._scope(request)
        return self._path if scope is None else scope.link(self._path)
