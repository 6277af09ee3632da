"""A challenge: made, changed, and deleted, as a phase is, while it has no answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import challenges, deletion, phases
from metaserver.operations.challenges import ChallengeDetail, NewChallenge
from metaserver.operations.fields import OnePhase
from metaserver.operations.table import Nothing
from metaserver.web.organise.overview import NEW_CHALLENGE, challenge_named, phase_path
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, tried
from metaserver.web.ui.forms import Form

MADE = OperationForm(request=NewChallenge, names=("challenge", "title", "timezone"))


class ChallengePages(ConsolePages):
    """The handlers for challenges."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a challenge that there is."""
        return FormPage(
            console=self.console,
            path="/organise/challenges/{challenge}",
            operation=challenges.set_challenge,
            fields=("title", "timezone"),
            show=self._edit,
            then="/organise",
            values=self._values,
        ).routes()

    def new_routes(self) -> list[web.RouteDef]:
        """Return the routes of a new challenge, and of deletion."""
        phase = FormPage(
            console=self.console,
            path="/organise/phases/{phase}/delete",
            operation=deletion.delete_phase,
            show=self._ask_phase,
            then="/organise",
        )
        challenge = FormPage(
            console=self.console,
            path="/organise/challenges/{challenge}/delete",
            operation=deletion.delete_challenge,
            show=self._ask_challenge,
            then="/organise",
        )
        new = [web.get(NEW_CHALLENGE, self.new), web.post(NEW_CHALLENGE, self.make)]
        return [*new, *phase.routes(), *challenge.routes()]

    def _answer(self, form: Form, challenge: ChallengeDetail | None = None) -> web.Response:
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
        return self._answer(form, await self._known(request))

    async def _values(self, request: web.Request) -> Mapping[str, Any]:
        return msgspec.structs.asdict(await self._known(request))

    async def _known(self, request: web.Request) -> ChallengeDetail:
        return await challenge_named(self.console, request, request.match_info["challenge"])

    async def _ask_phase(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a phase is to be deleted."""
        query = OnePhase(phase=request.match_info["phase"])
        phase = await self.console.ask(request, phases.get, query)
        title = phase.title or phase.phase
        return self._ask(phase_path(phase.phase), title, [], form)

    async def _ask_challenge(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a challenge is to be deleted, with the phases that it has."""
        challenge = await self._known(request)
        name = challenge.challenge
        its = [
            phase.title or phase.phase
            for phase in await self.console.ask(request, phases.list_, Nothing())
            if phase.challenge == name
        ]
        path = f"/organise/challenges/{quote(name, safe='')}"
        return self._ask(path, challenge.title or name, its, form)

    def _ask(self, path: str, title: str, its: list[str], form: Form) -> web.Response:
        return self.console.answer(
            "organise_delete.html",
            status=form.status,
            path=path,
            title=title,
            its_phases=its,
            form=form,
        )
