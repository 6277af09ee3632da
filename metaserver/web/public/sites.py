"""Phases' sites, and which a request is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metaserver.base.boards import FrozenBoard
from metaserver.base.records import TaskName
from metaserver.base.states import PhaseState
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.snapshots import Monitor
from metaserver.operations.phase_view import PhaseView
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.access.visitor import VIEWER
from metaserver.web.ui.live import Broadcaster

T = TypeVar("T")
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
    state: PhaseState
    timezone: str
    dates: Sequence[tuple[str, float]]
    next: tuple[str, float] | None
    planned: Mapping[str, float] = field(default_factory=dict)
    tasks: Sequence[TaskName]
    articles: int
    servers: int
    uploads_only: bool
    data: bool = False
    embargoed: bool = False  # for organisers alone, as its challenge is

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

    def monitor(self, viewer: Viewer) -> Monitor:
        """Return the monitor as of now, as far as the viewer may see it."""
        return self.source.monitor(viewer)

    def stream(self, page: str) -> str:
        """Return the address of a page's event stream, to which its query may be added."""
        return f"{self.base}/events?page={quote(page, safe='/')}"


class Sites(Protocol):
    """The sites of all phases."""

    def named(self, phase: str) -> Site | None:
        """Return a phase's site by its name in the hub; None if there is no such phase."""

    def at(self, challenge: str, phase: str) -> Site | None:
        """Return a phase's site by its name in its challenge, as addresses have it."""

    def summaries(self) -> Sequence[PhaseSummary]:
        """Return the summaries of all phases, oldest first, including those under embargo."""

    async def frozen(self, key: str, viewer: Viewer) -> FrozenBoard | None:
        """Return the frozen board of a permanent link; None: there is none for this viewer."""


SITE: web.RequestKey[Site] = web.RequestKey("SITE", Site)
SITES: web.RequestKey[Sites] = web.RequestKey("SITES", Sites)
_current: ContextVar[Site | None] = ContextVar("site", default=None)


def may_know(phase: PhaseSummary, viewer: Viewer) -> bool:
    """Return whether a viewer may already know about a phase."""
    return viewer.organiser or not phase.embargoed


def site() -> Site | None:
    """Return the current page's site; None for a page without a phase.

    Every page's header shows it, so it comes from the request's context, not from arguments.
    """
    return _current.get()


def site_of(request: web.Request) -> Site:
    """Return the site of the phase that a request's address names."""
    return request[SITE]


def sited(sites: Sites, prefix: str) -> Middleware:
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
            viewer = request.get(VIEWER, ANYBODY)
            show(request, _found(sites, match["challenge"], match["phase"], viewer))
        return await handler(request)

    return middleware


def show(request: web.Request, site: Site) -> None:
    """Let the page of a request show a phase."""
    request[SITE] = site
    _current.set(site)


def _found(sites: Sites, challenge: str, phase: str, viewer: Viewer) -> Site:
    site = sites.at(challenge, phase)
    if site is None or not may_know(site.summary(), viewer):
        raise web.HTTPNotFound(text=f"There is no phase {phase} of a challenge {challenge}.")
    return site
