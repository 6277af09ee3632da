"""The pages that every phase has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from aiohttp import web

from metaserver.base.states import ServerState
from metaserver.base.viewer import Viewer
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.web.access.event_streams import while_held
from metaserver.web.access.visitor import viewer_of
from metaserver.web.public.boards import BoardPages, or_400, page
from metaserver.web.public.home import ShortAddresses
from metaserver.web.public.monitor import (
    MonitorChoice,
    Totals,
    brief_slots,
    error_id,
    server_id,
    slots,
)
from metaserver.web.public.sites import PhaseSites, Site, site_of, sited
from metaserver.web.ui.live import LiveParts, LiveRow, Subscription
from metaserver.web.ui.paging import Page
from metaserver.web.ui.templates import Templates

IN_PHASE = "/c/{challenge}/{phase}"

Stream = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


def mount(
    app: web.Application,
    sites: PhaseSites,
    templates: Templates,
    *,
    more: Sequence[web.RouteDef] = (),
    streams: Mapping[str, Stream] = MappingProxyType({}),
) -> None:
    """Put the pages of phases onto an application that has its other middlewares.

    Each names its phase: `/c/CHALLENGE/PHASE/monitor`. `more` are further phase pages, `streams`
    answer with their event streams, by how their names begin.
    """
    pages = PublicPages(templates=templates, streams=streams)
    app.middlewares.append(sited(sites, IN_PHASE))
    for route in [*pages.routes(), *more]:
        path = IN_PHASE + route.path
        app.add_routes([web.RouteDef(route.method, path, route.handler, route.kwargs)])
    app.add_routes(pages.frozen_routes())
    app.add_routes(ShortAddresses(sites=sites, templates=templates).routes())


@dataclass(frozen=True, kw_only=True)
class PublicPages:
    """The handlers, and what they draw with."""

    templates: Templates
    streams: Mapping[str, Stream]

    @cached_property
    def _boards(self) -> BoardPages:
        return BoardPages(templates=self.templates)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that every phase has."""
        return [
            web.get("", self.phase),
            web.get("/monitor", self.monitor),
            *self._boards.routes(),
            web.get("/events", self.events, allow_head=False),
        ]

    def frozen_routes(self) -> list[web.RouteDef]:
        """Return the routes of permanent links, which do not stand below a phase."""
        return self._boards.frozen_routes()

    async def phase(self, request: web.Request) -> web.StreamResponse:
        """Send the viewer to a phase's monitor."""
        raise web.HTTPFound(f"{site_of(request).base}/monitor")

    async def monitor(self, request: web.Request) -> web.Response:
        """Answer with the monitor; the query filters it: state, find, outcome."""
        chosen = or_400(lambda: MonitorChoice.parse(request.query))
        site = site_of(request)
        monitor = site.monitor(viewer_of(request))
        rows, part = self._table(site, monitor, chosen)
        text = self.templates.page(
            "monitor.html",
            m=monitor,
            totals=Totals.of(monitor),
            chosen=chosen,
            rows=rows,
            part=part,
        )
        return page(text)

    def _table(
        self, site: Site, monitor: Monitor, chosen: MonitorChoice
    ) -> tuple[Sequence[str], Page]:
        """Return the rows of all servers: whole on the chosen page, hidden if not chosen."""
        servers = chosen.ordered(monitor.servers)
        matching = [server for server in servers if chosen.shows(server)]
        part = Page(first=chosen.rows, total=len(matching))
        whole, there = (
            {server.name for server in group} for group in (part.of(matching), matching)
        )
        rows = []
        for server in servers:
            row = self._row(site, server)
            html = row.html if server.name in whole else row.brief_html
            rows.append(html if server.name in there else html.replace("<tr", "<tr hidden", 1))
        return rows, part

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of the page that the query names."""
        return await while_held(request, self._events(request))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        name, site, viewer = request.query.get("page", ""), site_of(request), viewer_of(request)
        if name == "monitor":
            return await site.broadcaster.serve(
                request,
                f"{name} {viewer}",
                lambda: self._parts(site, viewer),
                or_400(lambda: Subscription.parse(request.query)),
            )
        streams = {"board/": self._boards.events} | dict(self.streams)
        for begin, stream in streams.items():
            if name.startswith(begin):
                return await stream(request, name.removeprefix(begin))
        raise web.HTTPNotFound(text="No page of that name has an event stream.")

    def _parts(self, site: Site, viewer: Viewer) -> LiveParts:
        monitor = site.monitor(viewer)
        totals = Totals.of(monitor)
        part = self.templates.part
        html = {
            name: part("monitor_parts.html", name.replace("-", "_"), monitor, totals)
            for name in MONITOR_PARTS
        }
        html["outcomes"] = part("monitor_parts.html", "outcomes", monitor, totals, site.base)
        html["phase-summary"] = part("phase_parts.html", "summary", site.summary())
        html |= {
            f"count-{state}": part("monitor_parts.html", "state_count", totals, state)
            for state in ServerState
        }
        rows = {server_id(server.name): self._row(site, server) for server in monitor.servers}
        errors = {error_id(error): error for error in monitor.errors}
        html |= {key: self._line(site, key, error) for key, error in errors.items()}
        return LiveParts(
            html=html, rows=rows, lists={"servers": list(rows), "errors": list(errors)}
        )

    def _row(self, site: Site, server: ServerStatus) -> LiveRow:
        """Return a server's row; it is made again if the server has changed."""
        key = (server.name, bool(server.address))  # as its team sees it, and as others do
        part, brief = self.templates.part, brief_slots(server)

        def draw_brief() -> str:
            return site.memo.get(
                ("brief", *key),
                (brief, server.tasks),
                lambda: part("monitor_parts.html", "server_brief", server, site.base),
            )

        def make() -> LiveRow:
            return LiveRow(
                brief=brief,
                fill=lambda: slots(server),
                draw=lambda: part("monitor_parts.html", "server_row", server, site.base),
                draw_brief=draw_brief,
            )

        return site.memo.get(("server", *key), server, make)

    def _line(self, site: Site, key: str, error: ErrorEntry) -> str:
        return site.memo.get(
            (key, bool(error.message)),
            error,
            lambda: self.templates.part("monitor_parts.html", "error_line", error),
        )


MONITOR_PARTS = ("phase", "servers-up", "throughput", "response-time", "queue", "error-total",
                 "histogram", "course")  # fmt: skip
