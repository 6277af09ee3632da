"""The addresses of the site and what each answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from metaserver.lifecycle import ServerState
from metaserver.records import TaskName
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.leaderboard import Leaderboard, Sort, columns
from metaserver.web.monitor import Filter, Totals, error_id
from metaserver.web.source import Source
from metaserver.web.stream import Broadcaster, Parts
from metaserver.web.templates import Templates
from metaserver.web.words import element_id

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pages:
    """The handlers, and what they draw from."""

    source: Source
    templates: Templates
    broadcaster: Broadcaster

    def routes(self) -> list[web.RouteDef]:
        """Return the site's routes."""
        return [
            web.get("/", self.home),
            web.get("/monitor", self.monitor),
            web.get("/t/{task}.csv", self.board_csv),
            web.get("/t/{task}.json", self.board_json),
            web.get("/t/{task}", self.board),
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
        wanted = _or_400(lambda: Filter.parse(request.query))
        shown = self.source.monitor()
        return self._page("monitor.html", m=shown, totals=Totals.of(shown), wanted=wanted)

    async def board(self, request: web.Request) -> web.Response:
        """Answer with a task's leaderboard; the query orders it: sort."""
        shown = self._leaderboard(request.match_info["task"], request)
        return self._page("leaderboard.html", b=shown, counts=self._run_counts())

    async def board_csv(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as CSV."""
        shown = self._leaderboard(request.match_info["task"], request)
        name = f"leaderboard-{shown.task.name}.csv"
        return web.Response(
            text=shown.to_csv(),
            content_type="text/csv",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def board_json(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as JSON."""
        return web.json_response(self._leaderboard(request.match_info["task"], request).to_dict())

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of the page that the query names."""
        page = request.query.get("page", "")
        if page == "monitor":
            return await self.broadcaster.serve(request, page, self._monitor_parts)
        if page.startswith("t/"):
            first = self._leaderboard(page.removeprefix("t/"), request)
            return await self.broadcaster.serve(
                request, f"{page} {first.sort}", lambda: self._board_parts(first.task, first.sort)
            )
        raise web.HTTPNotFound(text="No page of that name has an event stream.")

    def _page(self, name: str, **context: object) -> web.Response:
        response = web.Response(
            text=self.templates.page(name, **context),
            content_type="text/html",
            headers={"Cache-Control": "no-cache"},
        )
        response.enable_compression()
        return response

    def _task(self, name: str) -> TaskPlugin:
        for task in self.source.tasks():
            if task.name == name:
                return task
        raise web.HTTPNotFound(text=f"This challenge has no task called {name}.")

    def _leaderboard(self, name: str, request: web.Request) -> Leaderboard:
        task = self._task(name)
        sort = _or_400(lambda: Sort.parse(request.query.get("sort", ""), columns(task)))
        return Leaderboard(board=self.source.board(task.name), task=task, sort=sort)

    def _run_counts(self) -> dict[TaskName, int]:
        return {task.name: len(self.source.board(task.name).rows) for task in self.source.tasks()}

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

    def _board_parts(self, task: TaskPlugin, sort: Sort) -> Parts:
        shown = Leaderboard(board=self.source.board(task.name), task=task, sort=sort)
        part = self.templates.part
        html = {name: part("leaderboard_parts.html", name, shown) for name in BOARD_PARTS}
        for name, count in self._run_counts().items():
            html[f"count-{name}"] = part("leaderboard_parts.html", "run_count", name, count)
        rows = {element_id("r", row.run): row for row in shown.rows()}
        for key, row in rows.items():
            html[key] = part("leaderboard_parts.html", "run_row", shown, row)
        return Parts(html=html, lists={"runs": list(rows)})


MONITOR_PARTS = ("phase", "servers-up", "throughput", "response-time", "queue", "error-total",
                 "histogram", "outcomes")  # fmt: skip
BOARD_PARTS = ("signature", "scatter", "curves")


def _or_400(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
