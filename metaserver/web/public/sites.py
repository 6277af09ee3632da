"""Sites of phases, and the one that a request is for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metaserver.model.records import TaskName
from metaserver.model.states import PhaseState
from metaserver.model.viewer import Viewer
from metaserver.monitoring.snapshots import Monitor
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.public.source import BoardSource
from metaserver.web.ui.live import Broadcaster
from metaserver.web.ui.memo import Memo


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSummary:
    """A phase in short, for its pages and for lists of phases. Moments are Unix seconds.

    `timezone` is that of its challenge's dates. `dates` are those that have passed and
    those by which the clock does something, each with its word ("opens"); `next` is what the clock
    does next.
    """

    name: str
    title: str
    challenge: str
    state: PhaseState
    timezone: str
    dates: Sequence[tuple[str, float]]
    next: tuple[str, float] | None
    tasks: Sequence[TaskName]

    @property
    def base(self) -> str:
        """The beginning of the addresses of the phase's pages."""
        return base_of(self.name)


def base_of(phase: str) -> str:
    """Return the beginning of the addresses of a phase's pages."""
    return f"/p/{quote(phase, safe='')}"


@dataclass(frozen=True, kw_only=True)
class Site:
    """One phase as its pages show it.

    `summary` gives how the phase stands now, `phases` all there are.
    """

    phase: str
    source: BoardSource
    broadcaster: Broadcaster
    summary: Callable[[], PhaseSummary]
    phases: Callable[[], Sequence[PhaseSummary]]
    memo: Memo = field(default_factory=Memo)

    @property
    def base(self) -> str:
        """The beginning of the addresses of its pages."""
        return base_of(self.phase)

    @property
    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks that have a leaderboard."""
        return self.source.tasks()

    def monitor(self, viewer: Viewer) -> Monitor:
        """Return the monitor as of now, as far as the viewer may see it."""
        return self.source.monitor(viewer)

    def stream(self, page: str) -> str:
        """Return the address of a page's event stream, to which its query may be added."""
        return f"/events?page={quote(page, safe='/')}&phase={quote(self.phase, safe='')}"


class Sites(Protocol):
    """The sites of all phases."""

    def named(self, phase: str) -> Site | None:
        """Return the site of a phase, or None; with an empty name the one that is shown first."""


SITE: web.RequestKey[Site] = web.RequestKey("SITE", Site)
SITES: web.RequestKey[Sites] = web.RequestKey("SITES", Sites)
_current: ContextVar[Site | None] = ContextVar("site", default=None)


class NoPhaseError(Exception):
    """There is no phase yet that a page could show."""


def site() -> Site | None:
    """Return the site of the page under way; None while there is no phase.

    Every page's header shows it, so that it comes by the request's context, not by arguments.
    """
    return _current.get()


def site_of(request: web.Request) -> Site:
    """Return the site that a request is for; `NoPhaseError` while there is none."""
    if SITE not in request:
        raise NoPhaseError
    return request[SITE]


def sited(
    sites: Sites,
    no_phase: Callable[[web.Request], Awaitable[web.StreamResponse]],
    pages: Collection[str],
) -> Middleware:
    """Return the middleware that finds the phase which a request's address names.

    `pages` are the routes of phases' pages. Their address names the phase in its path, in its query
    (`?phase=`) or not at all: then the one that is shown first is meant. `no_phase` answers for a
    page of a phase while there is none.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        _current.set(sites.named(""))  # for errors too
        resource = request.match_info.route.resource
        if resource is not None and resource.canonical in pages:
            request[SITES] = sites
            _show(request, _found(sites, _names(request)))
        try:
            return await handler(request)
        except NoPhaseError:
            return await no_phase(request)

    return middleware


def show_phase_of(request: web.Request, phase: str) -> None:
    """Let a page show the phase of something that was found by its own key.

    Raises `HTTPNotFound` where the address names another phase.
    """
    if _names(request) - {phase}:
        raise web.HTTPNotFound(text=f"It is of phase {phase}, which is not the one that is named.")
    _show(request, request[SITES].named(phase))


def _show(request: web.Request, found: Site | None) -> None:
    if found is not None:
        request[SITE] = found
        _current.set(found)


def _names(request: web.Request) -> set[str]:
    """Return the phases that an address names; an empty name is one as well."""
    in_path = request.match_info.get("phase")
    return {*request.query.getall("phase", ()), *(() if in_path is None else (in_path,))}


def _found(sites: Sites, names: set[str]) -> Site | None:
    """Return the site of the phase that is named: never that of another one."""
    if not names:
        return sites.named("")
    if len(names) > 1:
        raise web.HTTPNotFound(text=f"The address names several phases: {_listed(names)}.")
    [name] = names
    found = sites.named(name) if name else None
    if found is None:
        raise web.HTTPNotFound(
            text=f"There is no phase called {name}." if name else "The address names no phase."
        )
    return found


def _listed(names: Collection[str]) -> str:
    return ", ".join(name or '""' for name in sorted(names))
