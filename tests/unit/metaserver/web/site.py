"""A site of one phase whose boards are given: the pages without a hub behind them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from aiohttp import web

from metaserver.base.boards import FrozenBoard
from metaserver.base.states import PhaseState
from metaserver.operations.caller import Caller
from metaserver.web.access.encodings import compressed
from metaserver.web.access.headers import add_headers, error_pages
from metaserver.web.manual.pages import ManualPages
from metaserver.web.public.pages import mount
from metaserver.web.public.sites import PhaseSummary, Site, base_of
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.live import Broadcaster
from metaserver.web.ui.templates import Templates
from tests.unit.metaserver.web.challenge import Challenge

CHALLENGE, PHASE, TITLE = "bc", "test", "Test phase"


class GivenSite:
    """The site of the only phase of a challenge."""

    def __init__(self, source: Challenge, broadcaster: Broadcaster) -> None:
        self._source = source
        self._site = Site(
            challenge=CHALLENGE, phase=PHASE, base=base_of(CHALLENGE, PHASE), source=source,
            broadcaster=broadcaster, summary=self._summary, phases=self.summaries,
        )  # fmt: skip

    def named(self, phase: str) -> Site | None:
        return self._site if phase in (PHASE, TITLE) else None  # frozen boards name its title

    def at(self, challenge: str, phase: str) -> Site | None:
        return self._site if (challenge, phase) == (CHALLENGE, PHASE) else None

    def summaries(self) -> Sequence[PhaseSummary]:
        return [self._summary()]

    async def frozen(self, key: str, _caller: Caller) -> FrozenBoard | None:
        return self._source.frozen(key)

    def _summary(self) -> PhaseSummary:
        return PhaseSummary(
            name=PHASE,
            own_name=PHASE,
            title=TITLE,
            challenge=CHALLENGE,
            challenge_title="BioCreative II.5",
            state=PhaseState.TEST,
            timezone="UTC",
            dates=(),
            next=None,
            tasks=[task.name for task in self._site.tasks],
            articles=2,
            servers=2,
            teams=1,
            uploads_only=False,
        )


def make_app(source, *, interval=1.0, heartbeat=15.0):
    """Return the pages of a source."""
    assets = Assets.of()
    templates = Templates.of(assets)
    broadcaster = Broadcaster(source, interval=interval, heartbeat=heartbeat)
    app = web.Application(middlewares=[compressed, error_pages(templates)])
    mount(app, GivenSite(source, broadcaster), templates)
    app.add_routes(ManualPages(templates).routes())
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
