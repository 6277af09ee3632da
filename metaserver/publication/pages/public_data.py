"""A phase's released data: what they are, and the zip itself."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase
from metaserver.operations.table import ask
from metaserver.publication.operations import data_packages
from metaserver.publication.operations.data_packages import data_of
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.boards import page
from metaserver.web.public.sites import site_of
from metaserver.web.ui.templates import Templates


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
            message = f"the data of phase {site.phase} are not released yet"
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
