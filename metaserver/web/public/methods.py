"""The page of the methods behind a phase's runs."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.boards import HEADINGS
from metaserver.web.public.boards import page, viewer_of
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.sites import site_of
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class MethodsPage:
    """The handler, and what it draws with."""

    sites: PhaseSites
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the route of a phase's methods."""
        return [web.get("/methods", self.methods)]

    async def methods(self, request: web.Request) -> web.Response:
        """Answer with the methods of the runs, as far as the viewer may see them."""
        site, viewer = site_of(request), viewer_of(request)
        view = self.sites.view(site.phase)
        known = await view.methods(viewer) if view else []
        text = self.templates.page(
            "methods.html",
            described=[(one.run, one.team, one.method) for one in known if one.method],
            missing=[one.run for one in known if not one.method],
            organiser=viewer.organiser,
            headings=HEADINGS,
        )
        return page(text)
