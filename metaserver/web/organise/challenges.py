"""A challenge: made, and changed."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import challenges
from metaserver.operations.challenges import ChallengeDetail, NewChallenge
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.table import Nothing
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import NEW_CHALLENGE
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Form, Wording

WORDING = {
    "challenge": Wording(
        label="Name", help=f"Its name in addresses and files, for good: {NAME_HELP}."
    ),
    "title": Wording(help="What people call it: “BioCreative 2026”."),
    "timezone": Wording(
        label="Time zone",
        help="The zone of its dates, such as Europe/Madrid or UTC. Dates that are set already"
        " stay the same moments.",
    ),
}
MADE = OperationForm(
    request=NewChallenge, names=("challenge", "title", "timezone"), wording=WORDING
)
CHANGED = OperationForm(request=NewChallenge, names=("title", "timezone"), wording=WORDING)


@dataclass(frozen=True, kw_only=True)
class ChallengePages:
    """The handlers of challenges."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(NEW_CHALLENGE, self.new),
            web.post(NEW_CHALLENGE, self.make),
            web.get("/organise/challenges/{challenge}", self.edit),
            web.post("/organise/challenges/{challenge}", self.change),
        ]

    def _answer(self, form: Form, challenge: str = "", status: int = 200) -> web.Response:
        return self.console.answer(
            "organise_challenge.html", status=status, form=form, challenge=challenge
        )

    async def new(self, request: web.Request) -> web.Response:
        """Answer with the form of a new challenge."""
        return self._answer(MADE.form())

    async def make(self, request: web.Request) -> web.Response:
        """Make a challenge, and show the overview, which has the next step."""
        sent = await posted(request)
        values = MADE.values(sent)
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        done: ChallengeDetail | RefusedError
        name = values.get("challenge")
        if name in [one.challenge for one in listed]:  # the operation would change that one
            message = f"there is a challenge {name!r} already"
            done = RefusedError(Refusal.STATE, message, field="challenge")
        else:
            done = await tried(self.console.submit(request, challenges.set_challenge, values))
        if isinstance(done, RefusedError):
            return self._answer(MADE.form(sent, done), status=done.refusal)
        raise web.HTTPSeeOther("/organise")

    async def edit(self, request: web.Request) -> web.Response:
        """Answer with the form that changes a challenge."""
        known = await self._known(request)
        values = {"title": known.title, "timezone": known.timezone}
        return self._answer(CHANGED.form(values), known.challenge)

    async def change(self, request: web.Request) -> web.Response:
        """Change a challenge."""
        known, sent = await self._known(request), await posted(request)
        values = {**CHANGED.values(sent), "challenge": known.challenge}
        done = await tried(self.console.submit(request, challenges.set_challenge, values))
        if isinstance(done, RefusedError):
            return self._answer(CHANGED.form(sent, done), known.challenge, done.refusal)
        raise web.HTTPSeeOther("/organise")

    async def _known(self, request: web.Request) -> ChallengeDetail:
        for one in await self.console.ask(request, challenges.list_challenges, Nothing()):
            if one.challenge == request.match_info["challenge"]:
                return one
        raise web.HTTPNotFound(text="There is no challenge of that name.")
