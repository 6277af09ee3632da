"""Pages of servers in a phase, and their badges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from aiohttp import hdrs, web

from metaserver.base.records import ServerName
from metaserver.base.viewer import Viewer
from metaserver.boards.windows import Window
from metaserver.operations.phase_view import PhaseView, ServerReading
from metaserver.web.access.headers import OPEN_TO
from metaserver.web.access.visitor import VISITOR
from metaserver.web.public import badges
from metaserver.web.public.boards import or_400, page, viewer_of
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.sites import Site, site_of
from metaserver.web.ui.live import LiveParts
from metaserver.web.ui.templates import Templates

PARTS = ("server_head", "server_totals", "trend", "measures", "events", "server_errors", "attempts")


@dataclass(frozen=True, kw_only=True)
class ServerView:
    """A server in a phase as its page shows it; `base` begins the addresses of the phase's pages.

    `console` is the path to all its attempts in the team's console, or empty if the viewer may not
    see them.
    """

    reading: ServerReading
    base: str
    console: str

    @property
    def address(self) -> str:
        """Its page's path."""
        return f"{self.base}/servers/{quote(self.reading.status.name, safe='')}"


@dataclass(frozen=True, kw_only=True)
class PublicServerPages:
    """The handlers, and what they draw with."""

    sites: PhaseSites
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a phase's servers."""
        return [
            web.get("/servers/{server}", self.server),
            web.get("/servers/{server}/badge.svg", self.badge),
        ]

    async def server(self, request: web.Request) -> web.Response:
        """Answer with a server's page; the query chooses the window: 1h, 24h, 7d, 30d."""
        view = await self._view(request, request.match_info["server"])
        return page(self.templates.page("server.html", v=view, windows=list(Window)))

    async def badge(self, request: web.Request) -> web.Response:
        """Answer with a picture of a server's state, which any page may show."""
        site, viewer = site_of(request), viewer_of(request)
        phase, server = self._server(site, request.match_info["server"], viewer)
        name, state = phase.badge(server, viewer)
        headers = {
            hdrs.CACHE_CONTROL: "no-cache",
            OPEN_TO: "cross-origin",
        }
        return web.Response(
            text=badges.badge(name, state), content_type="image/svg+xml", headers=headers
        )

    async def events(self, request: web.Request, name: str) -> web.StreamResponse:
        """Answer with the event stream of the page of the server `name`."""
        site, viewer = site_of(request), viewer_of(request)
        view = await self._view(request, name)

        async def parts() -> LiveParts:
            return self._parts(site, await self._seen(site, view, viewer))

        key = f"servers/{name} {view.reading.window} {viewer}"
        return await site.broadcaster.follow(request, key, parts)

    def _parts(self, site: Site, view: ServerView) -> LiveParts:
        part = self.templates.part
        html = {name: part("server_parts.html", name, view) for name in PARTS}
        html["phase-summary"] = part("phase_parts.html", "summary", site.summary())
        return LiveParts(html=html)

    async def _view(self, request: web.Request, name: str) -> ServerView:
        window = or_400(lambda: _window(request.query.get("window", "")))
        site, viewer = site_of(request), viewer_of(request)
        phase, server = self._server(site, name, viewer)
        reading = await phase.server(server, window, viewer)
        linked = VISITOR in request and reading.attempts is not None
        path = f"/team/servers/{quote(server, safe='')}/attempts" if linked else ""
        return ServerView(reading=reading, base=site.base, console=path)

    async def _seen(self, site: Site, view: ServerView, viewer: Viewer) -> ServerView:
        """Return a view as of now."""
        phase, server = self._server(site, view.reading.status.name, viewer)
        reading = await phase.server(server, view.reading.window, viewer)
        return replace(view, reading=reading)

    def _server(self, site: Site, name_shown: str, viewer: Viewer) -> tuple[PhaseView, ServerName]:
        phase = self.sites.view(site.phase)
        server = phase.find_server(name_shown, viewer) if phase else None
        if phase is None or server is None:
            raise web.HTTPNotFound(text=f"No server called {name_shown} takes part in this phase.")
        return phase, server


def _window(text: str) -> Window:
    if text and text not in set(Window):
        raise ValueError(f"There is no window {text}: use one of {', '.join(Window)}.")
    return Window(text or Window.DAY)
