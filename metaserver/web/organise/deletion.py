"""Deletion of phases and challenges without answers, after a question."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web

from metaserver.operations import challenges, deletion, phases
from metaserver.operations.fields import OnePhase
from metaserver.operations.table import Nothing
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form

PHASE, CHALLENGE = "/organise/phases/{phase}/delete", "/organise/challenges/{challenge}/delete"


@dataclass(frozen=True, kw_only=True)
class DeletionPages:
    """The handlers for deletion."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        phase = FormPage(
            console=self.console,
            path=PHASE,
            operation=deletion.delete_phase,
            show=self._ask_phase,
            then="/organise",
        )
        challenge = FormPage(
            console=self.console,
            path=CHALLENGE,
            operation=deletion.delete_challenge,
            show=self._ask_challenge,
            then="/organise",
        )
        return [*phase.routes(), *challenge.routes()]

    async def _ask_phase(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a phase is to be deleted."""
        query = OnePhase(phase=request.match_info["phase"])
        phase = await self.console.ask(request, phases.get, query)
        title = phase.title or phase.phase
        return self._answer(f"phase {phase.phase}", phase_path(phase.phase), title, [], form)

    async def _ask_challenge(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a challenge is to be deleted, with the phases that it has."""
        name = request.match_info["challenge"]
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        challenge = next((challenge for challenge in listed if challenge.challenge == name), None)
        if challenge is None:
            raise web.HTTPNotFound(text="There is no challenge of that name.")
        its = [
            phase.phase
            for phase in await self.console.ask(request, phases.list_, Nothing())
            if phase.challenge == name
        ]
        path = f"/organise/challenges/{quote(name, safe='')}"
        return self._answer(f"challenge {name}", path, challenge.title or name, its, form)

    def _answer(self, what: str, path: str, title: str, its: list[str], form: Form) -> web.Response:
        return self.console.answer(
            "organise_delete.html",
            status=form.status,
            what=what,
            path=path,
            title=title,
            its_phases=its,
            form=form,
        )
