"""Sign-ups as organisers see them: approve, decline, hand out a link, invite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.phases import NEXT_LINK, SignUpState
from metaserver.operations import challenge_pages, sign_ups
from metaserver.operations.fields import OneChallenge
from metaserver.operations.sign_ups import Approval, Invitations, OneSignUp, SignUpLink
from metaserver.web.ui.console import ConsolePages, posted
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


class SignUpDesk(ConsolePages):
    """The handlers for sign-ups."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/challenges/{challenge}/sign-ups"
        return [
            web.get(path, self._show),
            web.post(f"{path}/invite", self.invite),
            web.post(f"{path}/links", self.links),
            web.post(f"{path}/{{id}}/{{act:{'|'.join(WORDS)}}}", self.act),
        ]

    async def invite(self, request: web.Request) -> web.Response:
        """Invite people by their addresses."""
        submitted = await posted(request)
        emails = tuple(str(submitted.get("emails", "")).split())
        values = {"challenge": request.match_info["challenge"], "emails": emails}
        result = await tried(self.console.submit(request, sign_ups.invite, values))
        if isinstance(result, RefusedError):
            return await self._show(request, INVITED.form(submitted, result))
        raise web.HTTPSeeOther(_path(request))

    async def links(self, request: web.Request) -> web.Response:
        """Show a new link for each sign-up that needs one, once."""
        query = OneChallenge(challenge=request.match_info["challenge"])
        done = await tried(self.console.ask(request, sign_ups.links, query))
        if isinstance(done, RefusedError):
            return await self._show(request, refused=done)
        return await self._show(request, many=done)

    async def act(self, request: web.Request) -> web.Response:
        """Approve or decline a sign-up, or show its link, once."""
        id_, submitted = number(request.match_info["id"]), await posted(request)
        ask, sign_up = partial(self.console.ask, request), OneSignUp(id=id_)
        outcome: Any
        match request.match_info["act"]:
            case "link":
                outcome = await tried(ask(sign_ups.link, sign_up))
                if not isinstance(outcome, RefusedError):
                    return await self._show(request, new_link=outcome)
            case "approve":
                team = str(submitted.get("team", "")).strip() or None
                outcome = await tried(ask(sign_ups.approve, Approval(id=id_, team=team)))
            case _:
                outcome = await tried(ask(sign_ups.decline, sign_up))
        if isinstance(outcome, RefusedError):
            return await self._show(request, refused=outcome)
        raise web.HTTPSeeOther(_path(request))

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        new_link: SignUpLink | None = None,
        many: Sequence[SignUpLink] = (),
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with a challenge's sign-ups."""
        form = form or INVITED.form()
        mails = self.console.hub.notices.sign_ups.able
        query = OneChallenge(challenge=request.match_info["challenge"])
        return self.console.answer(
            "organise_sign_ups.html",
            status=refused.refusal if refused else form.status,
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
