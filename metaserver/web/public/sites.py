"""The sites of a hub's phases, which come and change while it runs; which a request is for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metaserver.base.boards import FrozenBoard
from metaserver.base.plans import DATES
from metaserver.base.records import TaskName
from metaserver.base.states import PhaseState
from metaserver.base.structs import convert
from metaserver.base.viewer import Viewer
from metaserver.boards.snapshots import Monitor
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.phase_view import PhaseView, frozen_board, list_views
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.access.visitor import CHALLENGE, caller_of
from metaserver.web.ui.live import Broadcaster

T = TypeVar("T")
LOOK_SECONDS = 1.0
INTERVAL = 0.4
"""Seconds between two frames of a live page."""
PUBLISHED = "results are published"
MOST_RENDERED = 20_000  # things kept; then all are dropped


class Memo:
    """Results of each key's newest inputs."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[object, Any]] = {}

    def get(self, key: object, inputs: object, make: Callable[[], T]) -> T:
        """Return the result that `make` had for equal inputs before, or has now."""
        cached = self._kept.get(key)
        if cached is None or cached[0] != inputs:
            if len(self._kept) >= MOST_RENDERED:  # of names and errors that are long gone, mostly
                self._kept.clear()
            cached = self._kept[key] = (inputs, make())
        cached_value: T = cached[1]
        return cached_value


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSummary:
    """A phase in short, for its pages and for lists of phases. Moments are Unix seconds.

    `name` is unique in the hub, `own_name` in its challenge: addresses have that.
    `timezone` is for its challenge's dates. `dates` are passed dates and those by which the clock
    does something, each with its word ("opens"); `next` is what the clock does next. `planned` has
    the plan's dates of what organisers did at another time.
    `uploads_only`: no server takes part. `data`: its data package is released.
    """

    name: str
    own_name: str
    title: str
    challenge: str
    challenge_title: str
    state: PhaseState
    timezone: str
    dates: Sequence[tuple[str, float]]
    next: tuple[str, float] | None
    planned: Mapping[str, float] = field(default_factory=dict)
    tasks: Sequence[TaskName]
    articles: int
    servers: int
    teams: int
    uploads_only: bool
    data: bool = False
    embargoed: bool = False  # for organisers alone, as its challenge is

    @property
    def published(self) -> bool:
        """True if its results are published."""
        return any(word == PUBLISHED for word, _ in self.dates)

    @property
    def base(self) -> str:
        """The beginning of the addresses of the phase's pages."""
        return base_of(self.challenge, self.own_name)


def base_of(challenge: str, phase: str) -> str:
    """How the addresses of a phase's pages begin."""
    return f"/c/{quote(challenge, safe='')}/{quote(phase, safe='')}"


def run_path(base: str, run: str) -> str:
    """Return the path of a run's page."""
    return f"{base}/runs/{quote(run, safe='')}"


def team_path(base: str, team: str) -> str:
    """Return the path of a team's page in a phase."""
    return f"{base}/teams/{quote(team, safe='')}"


@dataclass(frozen=True, kw_only=True)
class Site:
    """A phase as its pages show it.

    `phase` is its name in the hub, `base` the beginning of the addresses of its pages. `summary`
    gives its present state, `phases` all phases in its challenge.
    """

    challenge: str
    phase: str
    base: str
    source: PhaseView
    broadcaster: Broadcaster
    summary: Callable[[], PhaseSummary]
    phases: Callable[[], Sequence[PhaseSummary]]
    memo: Memo = field(default_factory=Memo)

    @property
    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks that have a leaderboard."""
        return self.source.tasks()

    @property
    def title(self) -> str:
        """The phase's title, or its name in its challenge if it has none."""
        summary = self.summary()
        return summary.title or summary.own_name

    def monitor(self, viewer: Viewer) -> Monitor:
        """Return the monitor as of now, as far as the viewer may see it."""
        return self.source.monitor(viewer)

    def stream(self, page: str) -> str:
        """Return the address of a page's event stream, to which its query may be added."""
        return f"{self.base}/events?page={quote(page, safe='/')}"


@dataclass(kw_only=True)
class _Live:
    """A phase that is shown; `seen` is its last known summary."""

    site: Site
    task: asyncio.Task[None]
    seen: PhaseSummary


class PhaseSites:
    """The sites of all phases; `run` keeps them up to date."""

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
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

    def summaries(self) -> Sequence[PhaseSummary]:
        """Return the summaries of all phases, oldest first."""
        return [self._summary(view) for view in list_views(self._hub)]

    def of_challenge(self, challenge: str) -> Sequence[PhaseSummary]:
        """Return the summaries of a challenge's phases, oldest first."""
        return [summary for summary in self.summaries() if summary.challenge == challenge]

    async def frozen(self, key: str, caller: Caller) -> FrozenBoard | None:
        """Return the frozen board of a permanent link; None: there is none for this caller."""
        return await frozen_board(self._hub, key, caller)

    def _summary(self, view: PhaseView) -> PhaseSummary:
        return summary_of(view, self._hub.clock())

    def _shown(self, view: PhaseView) -> _Live:
        if view not in self._live:
            broadcaster = Broadcaster(view, interval=INTERVAL)
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
                if summary != live.seen or await view.look_for_frozen():
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


SITE: web.RequestKey[Site] = web.RequestKey("SITE", Site)
SITES: web.RequestKey[PhaseSites] = web.RequestKey("SITES", PhaseSites)
_current: ContextVar[Site | None] = ContextVar("site", default=None)


def may_know(phase: PhaseSummary, caller: Caller) -> bool:
    """Return whether a caller may already know about a phase."""
    return not phase.embargoed or caller.organises(phase.challenge)


def site() -> Site | None:
    """Return the current page's site; None for a page without a phase.

    Every page's header shows it, so it comes from the request's context, not from arguments.
    """
    return _current.get()


def site_of(request: web.Request) -> Site:
    """Return the site of the phase that a request's address names."""
    return request[SITE]


def sited(sites: PhaseSites, prefix: str) -> Middleware:
    """Return the middleware that finds the phase which a request's address names.

    The routes of phases' pages begin with `prefix`.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        _current.set(None)
        request[SITES] = sites
        resource = request.match_info.route.resource
        if resource is not None and resource.canonical.startswith(prefix):
            match = request.match_info
            site = _found(sites, match["challenge"], match["phase"], caller_of(request))
            show(request, site)
        return await handler(request)

    return middleware


def show(request: web.Request, site: Site) -> None:
    """Let the page of a request show a phase."""
    request[SITE], request[CHALLENGE] = site, site.challenge
    _current.set(site)


def _found(sites: PhaseSites, challenge: str, phase: str, caller: Caller) -> Site:
    site = sites.at(challenge, phase)
    if site is None or not may_know(site.summary(), caller):
        raise web.HTTPNotFound(text=f"There is no phase {phase} of a challenge {challenge}.")
    return site
