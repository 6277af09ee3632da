"""The site of a single run: put together here, served by whoever calls `make_app`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from metaserver.web.access.headers import add_headers, error_pages
from metaserver.web.public.health import alive
from metaserver.web.public.pages import mount
from metaserver.web.public.sites import Site
from metaserver.web.public.source import BoardSource
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.live import Broadcaster
from metaserver.web.ui.templates import Templates

__all__ = ["BROADCASTER", "SOURCE", "BoardSource", "make_app"]

SOURCE: web.AppKey[BoardSource] = web.AppKey("SOURCE", BoardSource)
BROADCASTER = web.AppKey("BROADCASTER", Broadcaster)


class OneSite:
    """The only site there is."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def named(self, phase: str) -> Site | None:
        """The site, which has no name."""
        return None if phase else self._site


def make_app(
    source: BoardSource, *, interval: float = 1.0, heartbeat: float = 15.0
) -> web.Application:
    """Return the site that shows `source`.

    A watched page gets at most one frame each `interval` and some sign of life each `heartbeat`
    (both in seconds).
    """
    assets = Assets()
    templates = Templates(assets)
    app = web.Application(middlewares=[error_pages(templates)])
    app[SOURCE] = source
    app[BROADCASTER] = Broadcaster(source, interval=interval, heartbeat=heartbeat)
    mount(app, OneSite(Site(source=source, broadcaster=app[BROADCASTER])), templates)
    app.router.add_get("/", _home)
    app.router.add_get("/healthz", alive)
    app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(_end_streams)
    app.cleanup_ctx.append(_broadcast)
    return app


async def _home(_: web.Request) -> web.StreamResponse:
    """Send the reader to the monitor."""
    raise web.HTTPFound("/monitor")


async def _broadcast(app: web.Application) -> AsyncIterator[None]:
    task = asyncio.create_task(app[BROADCASTER].run(), name="broadcast")
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _end_streams(app: web.Application) -> None:
    await app[BROADCASTER].close()
