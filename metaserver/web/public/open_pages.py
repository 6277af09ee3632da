"""The pages that need no sign-in: part of a service's application, or their own application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from aiohttp import web
from aiohttp.typedefs import Handler

from metaserver.base.viewer import Viewer
from metaserver.operations.context import HubContext
from metaserver.web.access.encodings import compressed
from metaserver.web.access.headers import add_headers, error_pages, without_slash
from metaserver.web.manual.pages import ManualPages
from metaserver.web.public.challenge_page import ChallengeDoor
from metaserver.web.public.health import HealthPages
from metaserver.web.public.home import Home
from metaserver.web.public.methods import MethodsPage
from metaserver.web.public.pages import mount
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.results import ResultsPage
from metaserver.web.public.server_pages import PublicServerPages
from metaserver.web.public.source import VIEWER
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.console import Slice
from metaserver.web.ui.templates import Templates

OWNER = Viewer(organiser=True)
"""Whoever reads a run's pages: they are on its organiser's own machine."""


def make_pages_app(hub: HubContext, slices: Sequence[Slice] = ()) -> web.Application:
    """Return these pages alone, without sign-in: anybody who reaches them sees everything."""
    assets = Assets.of(*(one.package for one in slices))
    templates = Templates.of(assets)
    app = web.Application(
        middlewares=[compressed, error_pages(templates), without_slash, _read_by_owner]
    )
    mount_open_pages(app, hub, templates, assets, slices)
    return app


@web.middleware
async def _read_by_owner(request: web.Request, handler: Handler) -> web.StreamResponse:
    request[VIEWER] = OWNER
    return await handler(request)


def mount_open_pages(
    app: web.Application,
    hub: HubContext,
    templates: Templates,
    assets: Assets,
    slices: Sequence[Slice],
) -> None:
    """Put the first page, the phases' pages and the hub's health onto an application.

    Its other middlewares are there already: pages are made for who reads them.
    """
    sites = PhaseSites(hub)
    servers = PublicServerPages(sites=sites, templates=templates)
    more = [
        *servers.routes(),
        *MethodsPage(sites=sites, templates=templates).routes(),
        *(route for one in slices for route in one.in_phase(hub, templates)),
    ]
    mount(app, sites, templates, more=more, streams={"servers/": servers.events})
    app.router.add_get("/", Home(hub=hub, sites=sites, templates=templates).home)
    app.add_routes(ChallengeDoor(hub=hub, sites=sites, templates=templates).routes())
    app.add_routes(ResultsPage(hub=hub, sites=sites, templates=templates).routes())
    app.add_routes(HealthPages(hub=hub).routes())
    app.add_routes(ManualPages(templates).routes())
    app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(sites.end_streams)

    async def keep_up(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(sites.run(), name="phases' pages")
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await sites.close()

    app.cleanup_ctx.append(keep_up)
