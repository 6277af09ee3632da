"""Pages of servers in a phase, and their badges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from aiohttp import hdrs, web
from markupsafe import Markup

from metaserver.base.records import ServerName
from metaserver.base.states import Role, ServerState
from metaserver.base.viewer import Viewer
from metaserver.boards.windows import Window
from metaserver.operations.phase_view import ServerReading
from metaserver.web.access.headers import OPEN_TO
from metaserver.web.access.visitor import VISITOR, caller_of, viewer_of
from metaserver.web.public.boards import or_400, page
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
        server = _server(site, request.match_info["server"], viewer)
        name, state = site.source.badge(server, viewer)
        headers = {
            hdrs.CACHE_CONTROL: "no-cache",
            OPEN_TO: "cross-origin",
        }
        return web.Response(text=badge(name, state), content_type="image/svg+xml", headers=headers)

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
        server = _server(site, name, viewer)
        reading = await site.source.server(server, window, viewer)
        has_console = VISITOR in request and caller_of(request).may_act_as(Role.TEAM)
        linked = has_console and reading.attempts is not None
        path = f"/team/servers/{quote(server, safe='')}/attempts" if linked else ""
        return ServerView(reading=reading, base=site.base, console=path)

    async def _seen(self, site: Site, view: ServerView, viewer: Viewer) -> ServerView:
        """Return a view as of now."""
        server = _server(site, view.reading.status.name, viewer)
        reading = await site.source.server(server, view.reading.window, viewer)
        return replace(view, reading=reading)


def _server(site: Site, name_shown: str, viewer: Viewer) -> ServerName:
    server = site.source.names.server(name_shown, viewer)
    if server is None:
        raise web.HTTPNotFound(text=f"No server called {name_shown} takes part in this phase.")
    return server


def _window(text: str) -> Window:
    if text and text not in set(Window):
        raise ValueError(f"There is no window {text}: use one of {', '.join(Window)}.")
    return Window(text or Window.DAY)


GREEN, RED, AMBER, GREY, BLUE = "#11693a", "#b3211b", "#7a4a00", "#545d6b", "#2a5bd0"
LETTER = 6.8  # px, of the width of text

# The shapes of the pills in style.css, in a box of 8 by 8.
SHAPES: Mapping[ServerState, tuple[str, Markup]] = {
    ServerState.UP: (GREEN, Markup('<circle cx="4" cy="4" r="4"/>')),
    ServerState.SLOW: (AMBER, Markup('<path d="M4 0l4 8H0z"/>')),
    ServerState.DOWN: (RED, Markup('<path d="M0 0h8v8H0z"/>')),
    ServerState.PAUSED: (GREY, Markup('<path d="M0 0h3v8H0zM5 0h3v8H5z"/>')),
    ServerState.SUSPENDED: (GREY, Markup('<path d="M4 0l4 4-4 4-4-4z"/>')),
    ServerState.WAITING: (GREY, Markup('<path d="M4 0a4 4 0 1 0 .01 0zm0 2a2 2 0 1 1-.01 0z"/>')),
    ServerState.FINISHED: (BLUE, Markup('<path d="M0 4l1.5-1.5L3 4l3.5-3.5L8 2 3 7z"/>')),
}


def badge(name: str, state: ServerState) -> str:
    """Return the picture, SVG without style sheet or script."""
    colour, shape = SHAPES[state]
    left_width, right = 14 + LETTER * len(name), 28 + LETTER * len(state)
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="20" role="img"'
        ' aria-label="{name}: {state}"><title>{name}: {state}</title>'
        '<rect width="{width:.0f}" height="20" rx="4" fill="#2a3039"/>'
        '<path d="M{left:.0f} 0h{flat:.0f}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-{flat:.0f}z"'
        ' fill="{colour}"/>'
        '<g transform="translate({shape_at:.0f} 6)" fill="#fff">{shape}</g>'
        '<g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff">'
        '<text x="7" y="14" textLength="{name_width:.0f}">{name}</text>'
        '<text x="{state_at:.0f}" y="14" textLength="{state_width:.0f}">{state}</text></g></svg>'
    ).format(
        width=left_width + right,
        left=left_width,
        flat=right - 4,
        colour=colour,
        shape=shape,
        shape_at=left_width + 7,
        state_at=left_width + 21,
        name=name,
        state=state.value,
        name_width=LETTER * len(name),
        state_width=LETTER * len(state),
    )
