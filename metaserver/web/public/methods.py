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
        methods_seen = await view.methods(viewer) if view else []
        text = self.templates.page(
            "methods.html",
            described=[
                (method.run, method.team, method.method) for method in methods_seen if method.method
            ],
            missing=[method.run for method in methods_seen if not method.method],
            organiser=viewer.organiser,
            headings=HEADINGS,
        )
        return page(text)
