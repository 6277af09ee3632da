"""The results package of a phase: asked for, watched, fetched."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.model.errors import RefusedError
from metaserver.model.states import PhaseState
from metaserver.operations import phases, results
from metaserver.operations.fields import OnePhase
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.results import NewPackage, PackageDetail, kept_packages, package_of
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Wording
from metaserver.web.ui.live import LiveParts

PARTS = "organise_results_parts.html"
FORM = OperationForm(
    request=NewPackage,
    names=("gold", "license"),
    wording={
        "gold": Wording(
            label="With the gold",
            help="And with the tables that reveal it, such as which articles of ACT are relevant.",
        ),
        "license": Wording(
            label="Licence", help="Its URL, for the metadata of a deposit; empty: not said."
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class ResultsPages:
    """The handlers of results packages."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one = "/organise/phases/{phase}/results"
        return [
            web.get(one, self.show),
            web.post(one, self.begin),
            web.get(f"{one}/package", self.fetch),
        ]

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep packages for as long as an application serves."""
        async with kept_packages(self.console.hub):
            yield

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the state of a phase's package."""
        return await self._show(request)

    async def _show(
        self,
        request: web.Request,
        sent: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        asked = OnePhase(phase=request.match_info["phase"])
        phase: PhaseDetail = await self.console.ask(request, phases.get, asked)
        return self.console.answer(
            "organise_results.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            over=phase.state in (PhaseState.FROZEN, PhaseState.CLOSED),
            package=await self._package(request, phase.phase),
            form=FORM.form(sent, refused),
            now=time.time(),
        )

    async def _package(self, request: web.Request, phase: str) -> PackageDetail:
        return await self.console.ask(request, results.get, OnePhase(phase=phase))

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a package."""
        sent = await posted(request)
        asked = {**FORM.values(sent), "phase": request.match_info["phase"]}
        done = await tried(self.console.submit(request, results.make, asked))
        if isinstance(done, RefusedError):
            return await self._show(request, sent, done)
        raise web.HTTPSeeOther(f"{phase_path(done.subject)}/results")

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Answer with the package."""
        phase = request.match_info["phase"]
        package = package_of(self.console.hub, caller_of(request), phase)
        if package is None:
            raise web.HTTPNotFound(text="There is no package: make one first.")
        return await stored_zip(request, package, f"results-{phase}.zip")

    async def parts(self, request: web.Request, phase: str) -> LiveParts:
        """Return the live part of the page."""
        package = await self._package(request, phase)
        part = self.console.templates.part(PARTS, "package", package, time.time())
        return LiveParts(html={"package": part})
