"""A phase's results package: requested, watched, fetched; the base of pages for packages."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.base.states import OVER
from metaserver.operations import phases
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
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Wording
from metaserver.web.ui.live import LiveParts


@dataclass(frozen=True, kw_only=True)
class PackagePages(ABC):
    """The handlers of packages of one kind; `kind` ends their address and names their template.

    `job_kind` is that of the jobs that make them.
    """

    console: ConsoleContext
    kind: ClassVar[str]
    job_kind: ClassVar[str]

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = f"/organise/phases/{{phase}}/{self.kind}"
        return [web.get(path, self.show), web.post(path, self.begin), *self._more(path)]

    def path(self, job: JobDetail) -> str:
        """Return the path of the page of a phase whose package a job has made."""
        return f"{phase_path(job.subject)}/{self.kind}"

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep packages for as long as an application serves."""
        async with self._kept():
            yield

    async def show(
        self,
        request: web.Request,
        form_values: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with a phase's package state, and the form."""
        phase = await self._phase(request)
        return self.console.answer(
            f"organise_{self.kind}.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            form=self._form(phase).form(form_values, refused),
            **await self._shown(request, phase),
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin to make a package, and redirect to the page that shows its job."""
        form_values = await posted(request)
        phase = await self._phase(request)
        values = {**self._form(phase).values(form_values), "phase": phase.phase}
        result = await tried(self._make(request, values))
        if isinstance(result, RefusedError):
            return await self.show(request, form_values, result)
        raise web.HTTPSeeOther(self._after(result))

    async def _phase(self, request: web.Request) -> PhaseDetail:
        """Return the phase that an address names."""
        query = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, phases.get, query)

    @abstractmethod
    def _more(self, path: str) -> list[web.RouteDef]:
        """Return further routes, which begin with an address."""

    @abstractmethod
    def _kept(self) -> AbstractAsyncContextManager[None]:
        """Return the context within which packages are kept."""

    @abstractmethod
    def _form(self, phase: PhaseDetail) -> OperationForm:
        """Return a phase's form."""

    @abstractmethod
    async def _shown(self, request: web.Request, phase: PhaseDetail) -> Mapping[str, Any]:
        """Return what else the page shows."""

    @abstractmethod
    def _make(self, request: web.Request, values: Mapping[str, Any]) -> Awaitable[JobDetail]:
        """Begin a package."""

    @abstractmethod
    def _after(self, job: JobDetail) -> str:
        """Return the address that shows a job."""


PARTS = "organise_results_parts.html"
FORM = OperationForm(
    request=NewPackage,
    names=("gold", "public", "license", "authors"),
    wording={
        "gold": Wording(
            label="With the gold",
            help="And with the tables that reveal it, such as which articles of ACT are relevant.",
        ),
        "public": Wording(
            label="For everybody",
            help="On the page of results, while they are public: with the runs, and with the"
            " evidence of servers, which may quote the articles. Not with the gold.",
        ),
        "license": Wording(
            label="Licence",
            help="Its address, from https:// on, if there is one, for the metadata of a deposit.",
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
            "over": phase.state in OVER,
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
            raise web.HTTPNotFound(text="There is no package yet; make one first.")
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
