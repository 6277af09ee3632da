"""The base for package pages: what there is, and a form that begins another package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.operations import phases
from metaserver.operations.fields import OnePhase
from metaserver.operations.jobs import JobDetail
from metaserver.operations.phases import PhaseDetail
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, tried


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

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a phase's package state, and the form."""
        return await self._show(request)

    async def _show(
        self,
        request: web.Request,
        form_values: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
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
            return await self._show(request, form_values, result)
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
