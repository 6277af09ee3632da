"""Sign-ups as organisers see them: approve, decline, hand out a link, invite."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.phases import NEXT_LINK, SignUpState
from metaserver.operations import challenge_pages, sign_ups
from metaserver.operations.fields import OneChallenge
from metaserver.operations.sign_ups import Approval, Invitations, OneSignUp, SignUpLink
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, number, tried
from metaserver.web.ui.forms import Form, Wording

INVITED = OperationForm(
    request=Invitations,
    names=("emails",),
    wording={"emails": Wording(label="E-mail addresses", kind="long", help="One per line.")},
)
STATES = {
    SignUpState.INVITED: ("waiting", "invited"),
    SignUpState.UNCONFIRMED: ("waiting", "not confirmed"),
    SignUpState.WAITING: ("slow", "waits for you"),
    SignUpState.APPROVED: ("up", "in, no token yet"),
    SignUpState.JOINED: ("up", "in"),
    SignUpState.DECLINED: ("paused", "declined"),
}
ACTS = {
    SignUpState.INVITED: ("link", "decline"),
    SignUpState.UNCONFIRMED: ("link", "decline"),
    SignUpState.WAITING: ("approve", "decline"),
    SignUpState.APPROVED: ("link",),
}
UNMAILED = ("approve", "link", "decline")
"""What can be done with an unconfirmed sign-up where the hub sends no mail."""
WORDS = {"approve": "Approve", "decline": "Decline", "link": "Hand out a link"}


@dataclass(frozen=True, kw_only=True)
class SignUpDesk:
    """The handlers for sign-ups."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/challenges/{challenge}/sign-ups"
        return [
            web.get(path, self.show),
            web.post(f"{path}/invite", self.invite),
            web.post(f"{path}/links", self.links),
            web.post(f"{path}/{{id}}/{{act:{'|'.join(WORDS)}}}", self.act),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a challenge's sign-ups."""
        return await self._show(request, INVITED.form())

    async def invite(self, request: web.Request) -> web.Response:
        """Invite people by their addresses."""
        submitted = await posted(request)
        emails = tuple(str(submitted.get("emails", "")).split())
        values = {"challenge": request.match_info["challenge"], "emails": emails}
        result = await tried(self.console.submit(request, sign_ups.invite, values))
        if isinstance(result, RefusedError):
            return await self._show(request, INVITED.form(submitted, result), status=result.refusal)
        raise web.HTTPSeeOther(_path(request))

    async def links(self, request: web.Request) -> web.Response:
        """Show a new link for each sign-up that needs one, once."""
        asked = OneChallenge(challenge=request.match_info["challenge"])
        done = await tried(self.console.ask(request, sign_ups.links, asked))
        if isinstance(done, RefusedError):
            return await self._show(request, INVITED.form(), refused=done, status=done.refusal)
        return await self._show(request, INVITED.form(), many=done)

    async def act(self, request: web.Request) -> web.Response:
        """Approve or decline a sign-up, or show its link, once."""
        number_of, submitted = number(request.match_info["id"]), await posted(request)
        sign_up = OneSignUp(id=number_of)
        new_link: SignUpLink | None = None
        outcome: Any
        match request.match_info["act"]:
            case "link":
                outcome = new_link = await self._tried(
                    self.console.ask(request, sign_ups.link, sign_up)
                )
            case "approve":
                team = str(submitted.get("team", "")).strip() or None
                approval = Approval(id=number_of, team=team)
                outcome = await self._tried(self.console.ask(request, sign_ups.approve, approval))
            case _:
                outcome = await self._tried(self.console.ask(request, sign_ups.decline, sign_up))
        if isinstance(outcome, RefusedError):
            return await self._show(
                request, INVITED.form(), refused=outcome, status=outcome.refusal
            )
        if new_link is not None:
            return await self._show(request, INVITED.form(), new_link=new_link)
        raise web.HTTPSeeOther(_path(request))

    async def _tried(self, awaitable: Awaitable[Any]) -> Any:
        return await tried(awaitable)

    async def _show(
        self,
        request: web.Request,
        form: Form,
        *,
        new_link: SignUpLink | None = None,
        many: Sequence[SignUpLink] = (),
        refused: RefusedError | None = None,
        status: int = 200,
    ) -> web.Response:
        mails = self.console.hub.notices.sign_ups.able
        query = OneChallenge(challenge=request.match_info["challenge"])
        return self.console.answer(
            "organise_sign_ups.html",
            status=status,
            c=await self.console.ask(request, challenge_pages.get, query),
            known=await self.console.ask(request, sign_ups.list_, query),
            states=STATES,
            acts=ACTS if mails else ACTS | {SignUpState.UNCONFIRMED: UNMAILED},
            many=many,
            words=WORDS,
            links=NEXT_LINK,
            mails=mails,
            path=_path(request),
            form=form,
            made=new_link,
            refused=refused,
        )


def _path(request: web.Request) -> str:
    name = quote(request.match_info["challenge"], safe="")
    return f"/organise/challenges/{name}/sign-ups"
