"""Sites of a hub's phases, which come and change while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from metaserver.base.boards import FrozenBoard
from metaserver.base.plans import DATES
from metaserver.base.structs import convert
from metaserver.base.viewer import Viewer
from metaserver.operations.context import HubContext
from metaserver.operations.phase_view import PhaseView, frozen_board, list_views
from metaserver.web.public.sites import PhaseSummary, Site, base_of
from metaserver.web.ui.live import Broadcaster

LOOK_SECONDS = 1.0
PUBLISHED = "results are published"


@dataclass(kw_only=True)
class _Live:
    """A phase that is shown; `seen` is its last known summary."""

    site: Site
    view: PhaseView
    task: asyncio.Task[None]
    seen: PhaseSummary


class PhaseSites:
    """The sites of all phases; `run` keeps them up to date."""

    def __init__(self, hub: HubContext, *, interval: float = 1.0, heartbeat: float = 15.0) -> None:
        self._hub = hub
        self._interval = interval
        self._heartbeat = heartbeat
        self._live: dict[PhaseView, _Live] = {}

    def named(self, phase: str) -> Site | None:
        """Return a phase's site; None if there is no such phase."""
        view = PhaseView.find(self._hub, phase)
        return None if view is None else self._shown(view).site

    def at(self, challenge: str, phase: str) -> Site | None:
        """Return a phase's site by its name in its challenge, as addresses have it."""
        for view in list_views(self._hub):
            if (view.challenge, view.own_name) == (challenge, phase):
                return self._shown(view).site
        return None

    def view(self, phase: str) -> PhaseView | None:
        """Return the view that a phase's site is drawn from; None if there is no such phase."""
        view = PhaseView.find(self._hub, phase)
        return None if view is None else self._shown(view).view

    def summaries(self) -> Sequence[PhaseSummary]:
        """Return the summaries of all phases, oldest first."""
        return [self._summary(view) for view in list_views(self._hub)]

    def of_challenge(self, challenge: str) -> Sequence[PhaseSummary]:
        """Return the summaries of a challenge's phases, oldest first."""
        return [summary for summary in self.summaries() if summary.challenge == challenge]

    async def frozen(self, key: str, viewer: Viewer) -> FrozenBoard | None:
        """Return the frozen board of a permanent link; None: there is none for this viewer."""
        return await frozen_board(self._hub, key, viewer)

    def _summary(self, view: PhaseView) -> PhaseSummary:
        return summary_of(view, self._hub.clock())

    def _shown(self, view: PhaseView) -> _Live:
        if view not in self._live:
            broadcaster = Broadcaster(view, interval=self._interval, heartbeat=self._heartbeat)
            site = Site(
                challenge=view.challenge,
                phase=view.name,
                base=base_of(view.challenge, view.own_name),
                source=view,
                broadcaster=broadcaster,
                summary=lambda: self._summary(view),
                phases=lambda: self.of_challenge(view.challenge),
            )
            self._live[view] = _Live(
                site=site,
                view=view,
                task=asyncio.create_task(broadcaster.run(), name=f"broadcast {view.name}"),
                seen=self._summary(view),
            )
        return self._live[view]

    async def run(self) -> None:
        """Renew the pages of phases that have changed, end those for deleted phases."""
        while True:
            for view, live in list(self._live.items()):
                if not view.current:
                    del self._live[view]
                    await _end(live)
                    continue
                summary = self._summary(view)
                if summary != live.seen or await live.view.look_for_frozen():
                    live.seen = summary
                    view.touch()
            await asyncio.sleep(LOOK_SECONDS)

    async def end_streams(self, _: web.Application) -> None:
        """End every stream: a shutdown does not wait for viewers."""
        for live in self._live.values():
            await live.site.broadcaster.close()

    async def close(self) -> None:
        """End all there is."""
        for live in self._live.values():
            await _end(live)
        self._live.clear()


async def _end(live: _Live) -> None:
    await live.site.broadcaster.close()
    live.task.cancel()
    with suppress(asyncio.CancelledError):
        await live.task


def summary_of(view: PhaseView, now: float) -> PhaseSummary:
    """Return a phase in short, as of a moment (Unix seconds)."""
    phase = view.detail()
    coming, idle = phase.coming, phase.idle_dates(now)
    dated = {word: at.timestamp() for word in DATES if (at := getattr(phase, word))}
    done = {word: at for word in DATES if (at := getattr(phase.moments, word)) is not None}
    planned = {word: at for word, at in dated.items() if word in done}
    dated = {word: at for word, at in dated.items() if word not in idle} | done
    if phase.moments.published is not None:
        dated[PUBLISHED] = phase.moments.published
    return convert(
        phase,
        PhaseSummary,
        name=phase.phase,
        dates=list(dated.items()),
        planned=planned,
        next=(coming[0].date, coming[0].at.timestamp()) if coming else None,
        tasks=[task.name for task in view.tasks()],
        embargoed=view.embargoed,
    )
