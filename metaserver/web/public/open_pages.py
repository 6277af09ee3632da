"""The pages of a service that anybody may read, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from metaserver.operations.context import HubContext
from metaserver.web.public.health import HealthPages
from metaserver.web.public.home import Home
from metaserver.web.public.pages import mount
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.server_pages import PublicServerPages
from metaserver.web.ui.templates import Templates


def mount_open_pages(app: web.Application, hub: HubContext, templates: Templates) -> PhaseSites:
    """Put the first page, the phases' pages and the hub's health onto a service's application.

    Call it when the application has its gate: the pages are made for who is signed in.
    """
    sites = PhaseSites(hub)
    servers = PublicServerPages(hub=hub, templates=templates)
    streams = {"servers/": servers.events}
    mount(app, sites, templates, more=servers.routes(), streams=streams)
    home = Home(hub=hub, sites=sites, templates=templates)
    app.router.add_get("/", home.home)
    app.add_routes(HealthPages(hub=hub).routes())
    app.on_shutdown.append(sites.end_streams)

    async def keep_up(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(sites.run(), name="phases' pages")
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await sites.close()

    app.cleanup_ctx.append(keep_up)
    return sites
