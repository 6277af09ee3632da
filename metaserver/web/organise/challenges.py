"""A challenge: made, and changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import challenges
from metaserver.operations.challenges import ChallengeDetail, NewChallenge
from metaserver.operations.table import Nothing
from metaserver.web.organise.overview import NEW_CHALLENGE
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, tried
from metaserver.web.ui.forms import Form

MADE = OperationForm(request=NewChallenge, names=("challenge", "title", "timezone"))


@dataclass(frozen=True, kw_only=True)
class ChallengePages:
    """The handlers for challenges."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(NEW_CHALLENGE, self.new),
            web.post(NEW_CHALLENGE, self.make),
            *FormPage(
                console=self.console,
                path="/organise/challenges/{challenge}",
                operation=challenges.set_challenge,
                fields=("title", "timezone"),
                show=self._edit,
                then="/organise",
                values=self._values,
            ).routes(),
        ]

    def _answer(self, form: Form, challenge: str = "") -> web.Response:
        return self.console.answer(
            "organise_challenge.html", status=form.status, form=form, challenge=challenge
        )

    async def new(self, request: web.Request) -> web.Response:
        """Answer with the form of a new challenge."""
        return self._answer(MADE.form())

    async def make(self, request: web.Request) -> web.Response:
        """Make a challenge, and show the overview, which has the next step."""
        submitted = await posted(request)
        values = MADE.values(submitted)
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        result: ChallengeDetail | RefusedError
        name = values.get("challenge")
        if name in [detail.challenge for detail in listed]:  # the operation would change that one
            message = f"there is a challenge {name!r} already"
            result = RefusedError(Refusal.STATE, message, field="challenge")
        else:
            result = await tried(self.console.submit(request, challenges.set_challenge, values))
        if isinstance(result, RefusedError):
            return self._answer(MADE.form(submitted, result))
        raise web.HTTPSeeOther("/organise")

    async def _edit(self, request: web.Request, form: Form) -> web.Response:
        return self._answer(form, (await self._known(request)).challenge)

    async def _values(self, request: web.Request) -> Mapping[str, Any]:
        return msgspec.structs.asdict(await self._known(request))

    async def _known(self, request: web.Request) -> ChallengeDetail:
        for detail in await self.console.ask(request, challenges.list_challenges, Nothing()):
            if detail.challenge == request.match_info["challenge"]:
                return detail
        raise web.HTTPNotFound(text="There is no challenge of that name.")
