"""A phase's results package: requested, watched, fetched."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from metaserver.base.states import PhaseState
from metaserver.operations.fields import OnePhase
from metaserver.operations.jobs import JobDetail
from metaserver.operations.phases import PhaseDetail
from metaserver.publication.operations import results
from metaserver.publication.operations.results import (
    KeptPackages,
    NewPackage,
    PackageDetail,
    package_of,
)
from metaserver.publication.pages.packages import PackagePages
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.form_pages import OperationForm
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
class ResultsPages(PackagePages):
    """The handlers for results packages."""

    kind = "results"
    job_kind = results.KIND

    def _more(self, one: str) -> list[web.RouteDef]:
        return [
            web.get(f"{one}/package", self.fetch),
            web.get(f"{one}/events", self.events, allow_head=False),
        ]

    def _kept(self) -> AbstractAsyncContextManager[None]:
        return KeptPackages(self.console.hub)

    def _form(self, phase: PhaseDetail) -> OperationForm:
        return FORM

    async def _shown(self, request: web.Request, phase: PhaseDetail) -> Mapping[str, Any]:
        return {
            "over": phase.state in (PhaseState.FROZEN, PhaseState.CLOSED),
            "package": await self._package(request, phase.phase),
            "now": time.time(),
        }

    def _make(self, request: web.Request, values: Mapping[str, Any]) -> Awaitable[JobDetail]:
        return self.console.submit(request, results.make, values)

    def _after(self, job: JobDetail) -> str:
        return self.path(job)

    async def _package(self, request: web.Request, phase: str) -> PackageDetail:
        return await self.console.ask(request, results.get, OnePhase(phase=phase))

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Answer with the package."""
        phase = request.match_info["phase"]
        package = await package_of(self.console.hub, caller_of(request), phase)
        if package is None:
            raise web.HTTPNotFound(text="There is no package: make one first.")
        return await stored_zip(request, package, f"results-{phase}.zip")

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of the page."""
        phase = request.match_info["phase"]
        key = f"organise results {phase}"
        return await self.console.follow(request, key, lambda: self._parts(request, phase))

    async def _parts(self, request: web.Request, phase: str) -> LiveParts:
        package = await self._package(request, phase)
        part = self.console.templates.part(PARTS, "package", package, time.time())
        return LiveParts(html={"package": part})
