"""A site of one phase whose boards are given: the pages without a hub behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from metaserver.model.states import PhaseState
from metaserver.web.access.encodings import compressed
from metaserver.web.access.headers import add_headers, error_pages
from metaserver.web.public.pages import mount
from metaserver.web.public.sites import PhaseSummary, Site
from metaserver.web.public.source import BoardSource
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.live import Broadcaster
from metaserver.web.ui.templates import Templates

PHASE = "test"


class GivenSite:
    """The site of one phase, which is also shown where no phase is named."""

    def __init__(self, source: BoardSource, broadcaster: Broadcaster) -> None:
        self._site = Site(
            phase=PHASE,
            source=source,
            broadcaster=broadcaster,
            summary=self._summary,
            phases=lambda: [self._summary()],
        )

    def named(self, phase: str) -> Site | None:
        return self._site if phase in ("", PHASE) else None

    def _summary(self) -> PhaseSummary:
        return PhaseSummary(
            name=PHASE,
            title="Test phase",
            challenge="bc",
            state=PhaseState.TEST,
            timezone="UTC",
            dates=(),
            next=None,
            tasks=[task.name for task in self._site.tasks],
        )


def make_app(
    source: BoardSource, *, interval: float = 1.0, heartbeat: float = 15.0
) -> web.Application:
    """Return the pages of a source."""
    assets = Assets()
    templates = Templates(assets)
    broadcaster = Broadcaster(source, interval=interval, heartbeat=heartbeat)
    app = web.Application(middlewares=[compressed, error_pages(templates)])
    mount(app, GivenSite(source, broadcaster), templates)
    app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
    app.on_response_prepare.append(add_headers)

    async def broadcast(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(broadcaster.run(), name="broadcast")
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def end_streams(_: web.Application) -> None:
        await broadcaster.close()

    app.on_shutdown.append(end_streams)
    app.cleanup_ctx.append(broadcast)
    return app
