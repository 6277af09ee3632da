"""The pages of the boards: live ones, frozen ones, and how hard the articles are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from metaserver.services.snapshots import ANYBODY, BoardRow, Reader
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.articles import COLUMNS, Articles
from metaserver.web.choices import Choice
from metaserver.web.leaderboard import Leaderboard, columns
from metaserver.web.source import READER, Source
from metaserver.web.stream import Broadcaster, Parts
from metaserver.web.tables import to_csv, to_dict
from metaserver.web.templates import Templates
from metaserver.web.words import element_id

T = TypeVar("T")
BOARD_PARTS = ("scatter", "curves")


@dataclass(frozen=True, kw_only=True)
class Memo:
    """Keeps what was rendered until what it was rendered from changes."""

    _kept: dict[object, tuple[object, str]] = field(default_factory=dict)

    def get(self, key: object, inputs: object, render: Callable[[], str]) -> str:
        """Return what `render` made of equal inputs before, or makes now."""
        kept = self._kept.get(key)
        if kept is None or kept[0] != inputs:
            kept = self._kept[key] = (inputs, render())
        return kept[1]


@dataclass(frozen=True, kw_only=True)
class BoardPages:
    """The handlers, and what they draw from."""

    source: Source
    templates: Templates
    broadcaster: Broadcaster
    memo: Memo = field(default_factory=Memo)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the boards."""
        return [
            web.get("/t/{task}.csv", self.board_csv),
            web.get("/t/{task}.json", self.board_json),
            web.get("/t/{task}", self.board),
            web.get("/t/{task}/articles.csv", self.articles_csv),
            web.get("/t/{task}/articles", self.articles),
            web.get("/b/{key}.csv", self.frozen_csv),
            web.get("/b/{key}.json", self.frozen_json),
            web.get("/b/{key}", self.frozen),
        ]

    async def board(self, request: web.Request) -> web.Response:
        """Answer with a task's leaderboard; the query chooses: view, show, sort."""
        return self._board_page(self._leaderboard(request, request.match_info["task"]), request)

    async def board_csv(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as CSV."""
        shown = self._leaderboard(request, request.match_info["task"])
        return csv_file(to_csv(shown), f"leaderboard-{shown.task.name}-{shown.choice.view}.csv")

    async def board_json(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as JSON."""
        return web.json_response(to_dict(self._leaderboard(request, request.match_info["task"])))

    async def frozen(self, request: web.Request) -> web.Response:
        """Answer with a board as it was frozen; the query chooses: view, show, sort."""
        return self._board_page(await self._frozen(request), request)

    async def frozen_csv(self, request: web.Request) -> web.Response:
        """Answer with a frozen board's table as CSV."""
        shown = await self._frozen(request)
        return csv_file(to_csv(shown), f"leaderboard-{shown.task.name}-{shown.choice.view}.csv")

    async def frozen_json(self, request: web.Request) -> web.Response:
        """Answer with a frozen board's table as JSON."""
        return web.json_response(to_dict(await self._frozen(request)))

    async def articles(self, request: web.Request) -> web.Response:
        """Answer with how hard a task's articles are; the query chooses: view, sort."""
        shown = self._articles(request)
        counts = self.source.counts(reader_of(request))
        text = self.templates.page("articles.html", a=shown, counts=counts)
        return page(text)

    async def articles_csv(self, request: web.Request) -> web.Response:
        """Answer with the articles' table as CSV."""
        shown = self._articles(request)
        return csv_file(shown.to_csv(), f"articles-{shown.task.name}-{shown.choice.view}.csv")

    async def events(self, request: web.Request, name: str) -> web.StreamResponse:
        """Answer with the event stream of the leaderboard of the task `name`."""
        reader, first = reader_of(request), self._leaderboard(request, name)
        task, choice = self._task(name), first.choice
        return await self.broadcaster.serve(
            request, f"t/{name} {choice} {reader}", lambda: self._parts(task, choice, reader)
        )

    def _board_page(self, shown: Leaderboard, request: web.Request) -> web.Response:
        counts = self.source.counts(reader_of(request))
        rows = [self._row(shown, row) for row in shown.rows()]
        return page(self.templates.page("leaderboard.html", b=shown, counts=counts, rows=rows))

    def _task(self, name: str) -> TaskPlugin:
        for task in self.source.tasks():
            if task.name == name:
                return task
        raise web.HTTPNotFound(text=f"This challenge has no task called {name}.")

    def _leaderboard(self, request: web.Request, name: str) -> Leaderboard:
        task = self._task(name)
        views = self.source.views(task.name)
        choice = or_400(lambda: Choice.parse(request.query, views, columns(task)))
        return self._shown(task, choice, reader_of(request))

    def _shown(self, task: TaskPlugin, choice: Choice, reader: Reader) -> Leaderboard:
        return Leaderboard(
            board=self.source.board(task.name, choice.view, reader),
            task=task,
            choice=choice,
            views=self.source.views(task.name),
        )

    def _articles(self, request: web.Request) -> Articles:
        task = self._task(request.match_info["task"])
        views = self.source.views(task.name)
        choice = or_400(lambda: Choice.parse(request.query, views, COLUMNS))
        board = self.source.articles(task.name, choice.view, reader_of(request))
        return Articles(board=board, task=task, choice=choice, views=views)

    async def _frozen(self, request: web.Request) -> Leaderboard:
        key = request.match_info["key"]
        board = await self.source.frozen(key, reader_of(request))
        if board is None:
            raise web.HTTPNotFound(text="There is no frozen board under this link.")
        choice = or_400(lambda: Choice.parse(request.query, list(board.views), columns(board)))
        return Leaderboard(
            board=board.board(choice.view),
            task=board,
            choice=choice,
            views=list(board.views),
            frozen=board,
            key=key,
        )

    def _row(self, shown: Leaderboard, row: BoardRow) -> str:
        """Return a row of the table; it is drawn anew where it has changed."""

        def render() -> str:
            return self.templates.part("leaderboard_parts.html", "run_row", shown, row)

        return self.memo.get(
            ("row", shown.key, shown.task.name, shown.choice.view, row.run),
            (row, shown.best(row)),
            render,
        )

    def _parts(self, task: TaskPlugin, choice: Choice, reader: Reader) -> Parts:
        shown, part = self._shown(task, choice, reader), self.templates.part
        html = {
            name: part("leaderboard_parts.html", name, shown) for name in ("signature", "remark")
        }
        for name in BOARD_PARTS:
            html[name] = self._chart(name, shown)
        for task_name, count in self.source.counts(reader).items():
            html[f"count-{task_name}"] = part(
                "leaderboard_parts.html", "run_count", task_name, count
            )
        rows = {element_id("r", row.run): row for row in shown.rows()}
        html |= {key: self._row(shown, row) for key, row in rows.items()}
        return Parts(html=html, lists={"runs": list(rows)})

    def _chart(self, name: str, shown: Leaderboard) -> str:
        drawn: Mapping[str, Any] = {"scatter": shown.points, "curves": shown.curves}
        return self.memo.get(
            (name, shown.task.name, shown.choice.view, shown.choice.show),
            (drawn[name](), shown.series()),
            lambda: self.templates.part("leaderboard_parts.html", name, shown),
        )


def reader_of(request: web.Request) -> Reader:
    """Return who reads, as found by who signs readers in."""
    reader: Reader = request.get(READER, ANYBODY)
    return reader


def page(text: str) -> web.Response:
    """Return an answer with a whole page."""
    response = web.Response(
        text=text, content_type="text/html", headers={"Cache-Control": "no-cache"}
    )
    response.enable_compression()
    return response


def csv_file(text: str, name: str) -> web.Response:
    """Return an answer with a table to be saved under a name."""
    return web.Response(
        text=text,
        content_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def or_400(parse: Callable[[], T]) -> T:
    """Return what was parsed; what is wrong with a query is told to who asked."""
    try:
        return parse()
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
