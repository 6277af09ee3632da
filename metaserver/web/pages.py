"""The addresses of the site and what each answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.lifecycle import ServerState
from metaserver.web.boards import BoardPages, or_400, page
from metaserver.web.monitor import Filter, Totals, error_id
from metaserver.web.source import Source
from metaserver.web.stream import Broadcaster, Parts
from metaserver.web.templates import Templates
from metaserver.web.words import element_id


@dataclass(frozen=True, kw_only=True)
class Pages:
    """The handlers, and what they draw from."""

    source: Source
    templates: Templates
    broadcaster: Broadcaster

    @cached_property
    def _boards(self) -> BoardPages:
        return BoardPages(
            source=self.source, templates=self.templates, broadcaster=self.broadcaster
        )

    def routes(self) -> list[web.RouteDef]:
        """Return the site's routes."""
        return [
            web.get("/", self.home),
            web.get("/monitor", self.monitor),
            *self._boards.routes(),
            web.get("/events", self.events, allow_head=False),
            web.get("/healthz", self.health),
        ]

    async def home(self, _: web.Request) -> web.StreamResponse:
        """Send the reader to the monitor."""
        raise web.HTTPFound("/monitor")

    async def health(self, _: web.Request) -> web.Response:
        """Tell that the hub answers."""
        return web.json_response({"status": "ok"}, headers={"Cache-Control": "no-store"})

    async def monitor(self, request: web.Request) -> web.Response:
        """Answer with the monitor; the query filters it: state, find, outcome."""
        wanted = or_400(lambda: Filter.parse(request.query))
        shown = self.source.monitor()
        totals = Totals.of(shown)
        return page(self.templates.page("monitor.html", m=shown, totals=totals, wanted=wanted))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of the page that the query names."""
        name = request.query.get("page", "")
        if name == "monitor":
            return await self.broadcaster.serve(request, name, self._monitor_parts)
        if name.startswith("t/"):
            return await self._boards.events(request, name.removeprefix("t/"))
        raise web.HTTPNotFound(text="No page of that name has an event stream.")

    def _monitor_parts(self) -> Parts:
        shown = self.source.monitor()
        totals = Totals.of(shown)
        part = self.templates.part
        html = {
            name: part("monitor_parts.html", name.replace("-", "_"), shown, totals)
            for name in MONITOR_PARTS
        }
        html |= {
            f"count-{state}": part("monitor_parts.html", "state_count", totals, state)
            for state in ServerState
        }
        servers = {element_id("s", server.name): server for server in shown.servers}
        for key, server in servers.items():
            html[key] = part("monitor_parts.html", "server_row", server)
        errors = {error_id(error): error for error in shown.errors}
        for key, error in errors.items():
            html[key] = part("monitor_parts.html", "error_line", error)
        return Parts(html=html, lists={"servers": list(servers), "errors": list(errors)})


MONITOR_PARTS = ("phase", "servers-up", "throughput", "response-time", "queue", "error-total",
                 "histogram", "outcomes")  # fmt: skip
