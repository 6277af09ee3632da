"""The page of a server in a phase, and its badge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from aiohttp import hdrs, web

from metaserver.model.lanes import StoredAttempt
from metaserver.model.records import ServerName, TeamName
from metaserver.model.viewer import Viewer
from metaserver.monitoring.snapshots import ErrorEntry, ServerStatus
from metaserver.monitoring.windows import ServerWindow, Window
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase
from metaserver.store import states
from metaserver.store.states import StateChange
from metaserver.web.access.headers import OPEN_TO
from metaserver.web.public import badges
from metaserver.web.public.boards import or_400, page, reader_of
from metaserver.web.public.redaction import TOLD
from metaserver.web.public.sites import Site, site_of
from metaserver.web.ui.live import LiveParts
from metaserver.web.ui.templates import Templates

EVENTS = 50  # newest changes of state that are shown
ATTEMPTS = 20  # newest attempts that the server's team is shown; all are in its console
PARTS = ("server_head", "server_totals", "measures", "events", "server_errors", "attempts")


@dataclass(frozen=True, kw_only=True)
class ServerView:
    """A server in a phase as one reader sees it; `attempts` is None for who may not see them."""

    phase: str
    base: str
    status: ServerStatus
    team: TeamName | None
    window: Window
    measures: ServerWindow
    time_limit: float
    events: Sequence[StateChange]  # newest first
    errors: Sequence[ErrorEntry]
    attempts: Sequence[StoredAttempt] | None

    @property
    def address(self) -> str:
        """The path of its page."""
        return f"{self.base}/servers/{quote(self.status.name, safe='')}"

    @property
    def console(self) -> str:
        """The path of its attempts in the team's console."""
        return f"/team/servers/{quote(self.status.name, safe='')}/attempts"


@dataclass(frozen=True, kw_only=True)
class PublicServerPages:
    """The handlers, and what they draw with."""

    hub: HubContext
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a phase's servers."""
        return [
            web.get("/servers/{server}", self.server),
            web.get("/servers/{server}/badge.svg", self.badge),
        ]

    async def server(self, request: web.Request) -> web.Response:
        """Answer with a server's page; the query chooses the window: 1h, 24h, 7d, 30d."""
        view = await self._view(request, ServerName(request.match_info["server"]))
        return page(self.templates.page("server.html", v=view, windows=list(Window)))

    async def badge(self, request: web.Request) -> web.Response:
        """Answer with a picture of a server's state, which any page may show."""
        site, name = site_of(request), ServerName(request.match_info["server"])
        status = _running(site, name).boards.watch.status(name)
        headers = {
            hdrs.CACHE_CONTROL: "no-cache",
            OPEN_TO: "cross-origin",
        }
        return web.Response(
            text=badges.badge(name, status.state), content_type="image/svg+xml", headers=headers
        )

    async def events(self, request: web.Request, name: str) -> web.StreamResponse:
        """Answer with the event stream of the page of the server `name`."""
        site, reader = site_of(request), reader_of(request)
        view = await self._view(request, ServerName(name))

        async def parts() -> LiveParts:
            return self._parts(site, await self._seen(site, view.status.name, reader, view.window))

        key = f"servers/{name} {view.window} {reader}"
        return await site.broadcaster.follow(request, key, parts)

    def _parts(self, site: Site, view: ServerView) -> LiveParts:
        part = self.templates.part
        html = {name: part("server_parts.html", name, view) for name in PARTS}
        if head := site.head():
            html["phase-head"] = part("phase_parts.html", "head", head)
        return LiveParts(html=html)

    async def _view(self, request: web.Request, name: ServerName) -> ServerView:
        window = or_400(lambda: _window(request.query.get("window", "")))
        return await self._seen(site_of(request), name, reader_of(request), window)

    async def _seen(
        self, site: Site, name: ServerName, reader: Viewer, window: Window
    ) -> ServerView:
        running = _running(site, name)
        registered = running.servers[name]
        own = reader.organiser or (bool(reader.team) and registered.team == reader.team)
        shown = site.monitor(reader)
        async with self.hub.store.reading() as connection:
            changes = await states.list_changes(connection, running.key(registered), limit=EVENTS)
        return ServerView(
            phase=running.name,
            base=site.base,
            status=next(status for status in shown.servers if status.name == name),
            team=registered.team,
            window=window,
            measures=running.windows.window(name, window),
            time_limit=shown.time_limit,
            events=[_event(change, own=own) for change in reversed(changes)],
            errors=[error for error in shown.errors if error.server == name],
            attempts=await self._attempts(running, name) if own else None,
        )

    async def _attempts(self, running: RunningPhase, name: ServerName) -> Sequence[StoredAttempt]:
        return await self.hub.store.newest_attempts(
            running.key(running.servers[name]), name, running.corpus, limit=ATTEMPTS
        )


def _running(site: Site, name: ServerName) -> RunningPhase:
    if site.running is None or name not in site.running.servers:
        raise web.HTTPNotFound(text=f"No server called {name} takes part in this phase.")
    return site.running


def _event(change: StateChange, *, own: bool) -> StateChange:
    return change if own or change.state in TOLD else replace(change, note="")


def _window(text: str) -> Window:
    if text and text not in set(Window):
        raise ValueError(f"There is no window {text}: use one of {', '.join(Window)}.")
    return Window(text or Window.DAY)
