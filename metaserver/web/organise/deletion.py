"""Deletion of phases and challenges without answers, after a question."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import challenges, deletion, phases
from metaserver.operations.fields import OneChallenge, OnePhase
from metaserver.operations.phases import PhaseChange
from metaserver.operations.table import Nothing
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext

PHASE, CHALLENGE = "/organise/phases/{phase}/delete", "/organise/challenges/{challenge}/delete"


@dataclass(frozen=True, kw_only=True)
class DeletionPages:
    """The handlers of deletion."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(PHASE, self.ask_phase),
            web.post(PHASE, self.phase),
            web.get(CHALLENGE, self.ask_challenge),
            web.post(CHALLENGE, self.challenge),
        ]

    async def ask_phase(self, request: web.Request) -> web.Response:
        """Ask whether a phase is to be deleted."""
        return await self._ask_phase(request)

    async def _ask_phase(
        self, request: web.Request, refused: RefusedError | None = None
    ) -> web.Response:
        asked = OnePhase(phase=request.match_info["phase"])
        known = await self.console.ask(request, phases.get, asked)
        title = known.title or known.phase
        return self._answer(f"phase {known.phase}", phase_path(known.phase), title, [], refused)

    async def phase(self, request: web.Request) -> web.Response:
        """Delete a phase, and lead to the overview."""
        asked = OnePhase(phase=request.match_info["phase"])
        done = await tried(self.console.ask(request, deletion.delete_phase, asked))
        if isinstance(done, RefusedError):
            return await self._ask_phase(request, done)
        raise web.HTTPSeeOther("/organise")

    async def ask_challenge(self, request: web.Request) -> web.Response:
        """Ask whether a challenge is to be deleted, with the phases that it has."""
        return await self._ask_challenge(request)

    async def _ask_challenge(
        self, request: web.Request, refused: RefusedError | None = None
    ) -> web.Response:
        name = request.match_info["challenge"]
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        known = next((one for one in listed if one.challenge == name), None)
        if known is None:
            raise web.HTTPNotFound(text="There is no challenge of that name.")
        its = [
            one.phase
            for one in await self.console.ask(request, phases.list_, Nothing())
            if one.challenge == name
        ]
        path = f"/organise/challenges/{quote(name, safe='')}"
        return self._answer(f"challenge {name}", path, known.title or name, its, refused)

    async def challenge(self, request: web.Request) -> web.Response:
        """Delete a challenge and its phases, and lead to the overview."""
        asked = OneChallenge(challenge=request.match_info["challenge"])
        done = await tried(self.console.ask(request, deletion.delete_challenge, asked))
        if isinstance(done, RefusedError):
            return await self._ask_challenge(request, done)
        raise web.HTTPSeeOther("/organise")

    def _answer(
        self, what: str, path: str, title: str, its: list[str], refused: RefusedError | None
    ) -> web.Response:
        return self.console.answer(
            "organise_delete.html",
            status=refused.refusal if refused else 200,
            what=what,
            path=path,
            title=title,
            its_phases=its,
            form=OperationForm(request=PhaseChange, names=()).form(refused=refused),
        )
