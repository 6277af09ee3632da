"""The pages of a service that anybody may read, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from metaserver.operations.service import Service
from metaserver.web.public.health import Health
from metaserver.web.public.home import Home
from metaserver.web.public.pages import mount
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.server_pages import ServerPages
from metaserver.web.ui.templates import Templates


def mount_open_pages(app: web.Application, service: Service, templates: Templates) -> PhaseSites:
    """Put the first page, the phases' pages and the hub's health onto a service's application.

    Call it when the application has its gate: the pages are made for who is signed in.
    """
    sites = PhaseSites(service)
    servers = ServerPages(service=service, templates=templates)
    streams = {"servers/": servers.events}
    mount(app, sites, templates, more=servers.routes(), streams=streams)
    home = Home(service=service, sites=sites, templates=templates)
    app.router.add_get("/", home.home)
    app.add_routes(Health(service=service).routes())
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
