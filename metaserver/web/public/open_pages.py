"""The pages that need no sign-in, mounted; and the hub's health: alive, ready, its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.config import MetricsReaders
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.monitoring import is_ready, metrics_for
from metaserver.web.access.addresses import read_address
from metaserver.web.access.encodings import compressed
from metaserver.web.access.headers import add_headers, error_pages, without_slash
from metaserver.web.access.roles import is_for_strangers
from metaserver.web.access.visitor import CALLER, VISITOR, caller_of
from metaserver.web.manual.pages import ManualPages
from metaserver.web.public.challenge_page import ChallengeDoor
from metaserver.web.public.home import Home
from metaserver.web.public.pages import mount
from metaserver.web.public.results import MethodsPage, ResultsPage
from metaserver.web.public.run_pages import RunPages
from metaserver.web.public.server_pages import PublicServerPages
from metaserver.web.public.sites import PhaseSites
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.console import Slice
from metaserver.web.ui.templates import Templates

NO_STORE = {"Cache-Control": "no-store"}
FORWARDED = ("Forwarded", "X-Forwarded-For", "Via")


async def alive(_: web.Request) -> web.Response:
    """Answer: the hub does."""
    return web.json_response({"status": "ok"}, headers=NO_STORE)


def readiness(*, ready: bool) -> web.Response:
    """Return the answer whether a process can do its work; status 503 if not."""
    status = {"status": "ready" if ready else "blocked"}
    return web.json_response(status, status=200 if ready else 503, headers=NO_STORE)


def health_app(is_ready: Callable[[], bool]) -> web.Application:
    """Return the application of a process without pages: health alone, open to everybody."""

    async def ready(_: web.Request) -> web.Response:
        return readiness(ready=is_ready())

    app = web.Application()
    app.add_routes([web.get("/healthz", alive), web.get("/readyz", ready)])
    return app


@dataclass(frozen=True, kw_only=True)
class HealthPages:
    """The handlers."""

    hub: HubContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/healthz", alive),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.metrics),
        ]

    async def ready(self, _: web.Request) -> web.Response:
        """Answer whether the hub can do its work; status 503 while answers cannot be stored."""
        return readiness(ready=is_ready(self.hub))

    async def metrics(self, request: web.Request) -> web.Response:
        """Answer with the metrics, to callers who may read them (`web.metrics`).

        A team's token gives its servers' metrics, a reader's those that name no server. The pages
        of a run know no tokens.
        """
        if not self._may_read(request):
            raise _refused(by_token=VISITOR in request)
        body, kind = await metrics_for(self.hub, caller_of(request))
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: kind} | NO_STORE)

    def _may_read(self, request: web.Request) -> bool:
        readers, current = self.hub.settings.web.metrics, request.get(VISITOR)
        has_token = current is not None and current.caller.role is not None
        if has_token or readers is MetricsReaders.PUBLIC:
            return True
        if readers is MetricsReaders.HOLDERS or any(name in request.headers for name in FORWARDED):
            return False  # a proxy on this machine asks for others
        address = read_address(request.remote if current is None else current.origin.address)
        return address is not None and address.is_loopback


def _refused(*, by_token: bool) -> RefusedError:
    if by_token:
        return RefusedError(Refusal.TOKEN, "an API token is needed to read the metrics from here")
    return RefusedError(
        Refusal.NOT_YOURS, "the setting web.metrics does not let the metrics be read from here"
    )


OWNER = Caller(role=Role.ORGANISER, name="owner")
"""Whoever reads a run's pages: they are on its organiser's own machine."""


def make_pages_app(hub: HubContext, slices: Sequence[Slice] = ()) -> web.Application:
    """Return these pages alone, without sign-in: anybody who reaches them sees everything."""
    assets = Assets.of(*(pages.package for pages in slices))
    templates = Templates.of(assets)
    app = web.Application(
        middlewares=[compressed, error_pages(templates), without_slash, _read_by_owner]
    )
    mount_open_pages(app, hub, templates, assets, slices)
    return app


@web.middleware
async def _read_by_owner(request: web.Request, handler: Handler) -> web.StreamResponse:
    if not is_for_strangers(request.match_info.handler):
        request[CALLER] = OWNER
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
    servers = PublicServerPages(templates=templates)
    more = [
        *servers.routes(),
        *MethodsPage(templates=templates).routes(),
        *RunPages(hub=hub, templates=templates).routes(),
        *(route for pages in slices for route in pages.in_phase(hub, templates)),
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
