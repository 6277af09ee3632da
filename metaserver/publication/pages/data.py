"""A phase's data package: released to teams, viewed, withdrawn; its public page and the zip."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import PhaseState, Role
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase
from metaserver.operations.jobs import JobDetail
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.table import ask
from metaserver.publication.operations import data_packages
from metaserver.publication.operations.data_packages import DataRelease, KeptData, data_of
from metaserver.publication.pages.results import PackagePages
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.jobs import job_path
from metaserver.web.organise.overview import phase_path
from metaserver.web.public.boards import page
from metaserver.web.public.sites import site_of
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Wording
from metaserver.web.ui.templates import Templates

WORDING = {
    "without_gold": Wording(label="Without the gold", help="Only the articles."),
    "gold": Wording(label="With the gold", help="Only once the phase is frozen."),
    "test_articles": Wording(
        label="Teams may have the test articles beforehand",
        help="Needed if its articles are those of a test phase that is not over: teams can then"
        " prepare answers, and the test of their servers on unseen articles is lost.",
    ),
    "xml": Wording(
        label="With the original XML",
        help="The XML that the articles came in as. Look first that nothing in them gives gold"
        " away, such as annotations or curated interactions.",
    ),
    "public": Wording(
        label="For everybody", help="Otherwise only signed-in teams can download it."
    ),
    "license": Wording(label="Licence", help="Its address, from https:// on, if there is one."),
    "terms": Wording(
        label="Rules", kind="long", help="What teams may do with it; part of its README."
    ),
}


@dataclass(frozen=True, kw_only=True)
class DataPages(PackagePages):
    """The handlers for data packages."""

    kind = "data"
    job_kind = data_packages.KIND

    def _more(self, path: str) -> list[web.RouteDef]:
        return [
            web.get(f"{path}/withdraw", self.ask_withdraw),
            web.post(f"{path}/withdraw", self.withdraw),
        ]

    def _kept(self) -> AbstractAsyncContextManager[None]:
        return KeptData(self.console.hub)

    def _form(self, phase: PhaseDetail) -> OperationForm:
        """Return a phase's form: gold is asked about if it is not as usual."""
        gold = "without_gold" if phase.kind is PhaseState.TRAINING else "gold"
        names = (gold, "xml", "test_articles", "public", "license", "terms")
        return OperationForm(request=DataRelease, names=names, wording=WORDING)

    async def _shown(self, request: web.Request, phase: PhaseDetail) -> Mapping[str, Any]:
        query = OnePhase(phase=phase.phase)
        return {"package": await self.console.ask(request, data_packages.get, query)}

    def _make(self, request: web.Request, values: Mapping[str, Any]) -> Awaitable[JobDetail]:
        return self.console.submit(request, data_packages.release, values)

    def _after(self, job: JobDetail) -> str:
        return job_path(job)

    async def ask_withdraw(
        self, request: web.Request, refused: RefusedError | None = None
    ) -> web.Response:
        """Ask whether a package is to be withdrawn."""
        phase = await self._phase(request)
        return self.console.answer(
            "organise_withdraw.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            form=OperationForm(request=OnePhase, names=()).form(refused=refused),
        )

    async def withdraw(self, request: web.Request) -> web.Response:
        """Withdraw a package, and lead back to its page."""
        query = OnePhase(phase=request.match_info["phase"])
        result = await tried(self.console.ask(request, data_packages.withdraw, query))
        if isinstance(result, RefusedError):
            return await self.ask_withdraw(request, result)
        raise web.HTTPSeeOther(f"{phase_path(query.phase)}/data")


@dataclass(frozen=True, kw_only=True)
class PublicDataPages:
    """The handlers, and what they draw with."""

    hub: HubContext
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for a phase's data."""
        return [web.get("/data", self.show), web.get("/data/package", self.fetch)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with what a phase's data package is; it is not found before its release."""
        site, caller = site_of(request), caller_of(request)
        package = await ask(self.hub, caller, data_packages.get, OnePhase(phase=site.phase))
        if not package.released:
            message = f"the data of {self.hub.phase(site.phase).label} are not released yet"
            raise RefusedError(Refusal.UNKNOWN, message)
        readable = package.public or caller.may_act_as(Role.TEAM)
        return page(
            self.templates.page("data.html", d=package, summary=site.summary(), readable=readable)
        )

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Answer with the package; parts can be requested (Range)."""
        phase = site_of(request).phase
        package = data_of(self.hub, caller_of(request), phase)
        return await stored_zip(request, package, f"data-{phase}.zip", cacheable=True)
