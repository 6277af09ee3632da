"""Board pages: live, frozen, and how hard the articles are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from aiohttp import web

from metaserver.base.boards import HEADINGS, BoardRow
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.access.auth import address_for
from metaserver.web.access.headers import FRAMED, OPEN_TO
from metaserver.web.access.roles import for_strangers
from metaserver.web.access.visitor import caller_of, viewer_of
from metaserver.web.public.articles import COLUMNS, Articles
from metaserver.web.public.choices import Choice
from metaserver.web.public.leaderboard import Leaderboard, sortable
from metaserver.web.public.sites import SITES, Site, show, site_of
from metaserver.web.ui.formatting import element_id
from metaserver.web.ui.live import LiveParts
from metaserver.web.ui.pictures import bars
from metaserver.web.ui.tables import to_csv, to_dict
from metaserver.web.ui.templates import Templates

T = TypeVar("T")
BOARD_PARTS = ("scatter", "curves", "usage")


@dataclass(frozen=True, kw_only=True)
class BoardPages:
    """The handlers, and what they draw from."""

    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a phase's boards."""
        return [
            web.get("/board/{task}.csv", self.board_csv),
            web.get("/board/{task}.json", self.board_json),
            web.get("/board/{task}", self.board),
            web.get("/board/{task}/embed", self.embedded),
            web.get("/board/{task}/picture.png", self.picture),
            web.get("/board/{task}/articles.csv", self.articles_csv),
            web.get("/board/{task}/articles", self.articles),
        ]

    def frozen_routes(self) -> list[web.RouteDef]:
        """Return the routes for frozen boards, of whatever phase."""
        return [
            web.get("/b/{key}.csv", self.frozen_csv),
            web.get("/b/{key}.json", self.frozen_json),
            web.get("/b/{key}/embed", self.frozen_embedded),
            web.get("/b/{key}/picture.png", self.frozen_picture),
            web.get("/b/{key}", self.frozen),
        ]

    async def board(self, request: web.Request) -> web.Response:
        """Answer with a task's leaderboard; the query chooses: view, show, sort."""
        return self._board_page(request, self._leaderboard(request, request.match_info["task"]))

    async def board_csv(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as CSV."""
        board = self._leaderboard(request, request.match_info["task"])
        return csv_file(to_csv(board), board.phase, f"leaderboard-{_chosen(board)}")

    async def board_json(self, request: web.Request) -> web.Response:
        """Answer with the leaderboard's table as JSON."""
        return web.json_response(to_dict(self._leaderboard(request, request.match_info["task"])))

    async def frozen(self, request: web.Request) -> web.Response:
        """Answer with a board as it was frozen; the query chooses: view, show, sort."""
        return self._board_page(request, await self._frozen(request))

    async def frozen_csv(self, request: web.Request) -> web.Response:
        """Answer with a frozen board's table as CSV."""
        board = await self._frozen(request)
        return csv_file(to_csv(board), board.phase, f"leaderboard-{_chosen(board)}")

    async def frozen_json(self, request: web.Request) -> web.Response:
        """Answer with a frozen board's table as JSON."""
        return web.json_response(to_dict(await self._frozen(request)))

    @for_strangers
    async def embedded(self, request: web.Request) -> web.Response:
        """Answer with a public leaderboard's table, which pages of other sites may frame."""
        return self._embedded_page(request, self._public(request))

    @for_strangers
    async def frozen_embedded(self, request: web.Request) -> web.Response:
        """Answer with the same of a frozen board."""
        return self._embedded_page(request, await self._frozen(request))

    @for_strangers
    async def picture(self, request: web.Request) -> web.Response:
        """Answer with a picture of a public leaderboard, for the preview of a link."""
        return _picture(site_of(request), self._public(request))

    @for_strangers
    async def frozen_picture(self, request: web.Request) -> web.Response:
        """Answer with the same of a frozen board."""
        board = await self._frozen(request)
        return _picture(site_of(request), board)

    async def articles(self, request: web.Request) -> web.Response:
        """Answer with how hard a task's articles are; the query chooses: view, sort."""
        articles = self._articles(request)
        counts = site_of(request).source.counts(viewer_of(request))
        text = self.templates.page("articles.html", a=articles, counts=counts)
        return page(text)

    async def articles_csv(self, request: web.Request) -> web.Response:
        """Answer with the articles' table as CSV."""
        articles = self._articles(request)
        phase = site_of(request).phase
        return csv_file(articles.to_csv(), phase, f"articles-{_chosen(articles)}")

    async def events(self, request: web.Request, name: str) -> web.StreamResponse:
        """Answer with the event stream of the leaderboard of the task `name`."""
        site, viewer = site_of(request), viewer_of(request)
        task, choice = _task(site, name), self._leaderboard(request, name).choice
        return await site.broadcaster.serve(
            request,
            f"board/{name} {choice} {viewer}",
            lambda: self._parts(site, task, choice, viewer),
        )

    def _board_page(self, request: web.Request, board: Leaderboard) -> web.Response:
        site = site_of(request)
        opened_again = board.frozen is not None and site.source.is_rounded(ANYBODY)
        text = self.templates.page(
            "leaderboard.html",
            b=board,
            counts=site.source.counts(viewer_of(request)),
            rows=self._rows(site, board),
            headings=HEADINGS,
            public=site.source.public and not opened_again,
            home=address_for(request),
        )
        return page(text)

    def _embedded_page(self, request: web.Request, board: Leaderboard) -> web.Response:
        rows = self._rows(site_of(request), board)
        response = page(self.templates.page("embedded.html", b=board, rows=rows, drawn=time.time()))
        response[FRAMED] = True
        return response

    def _rows(self, site: Site, board: Leaderboard) -> Sequence[str]:
        return [self._row(site, board, row) for row in board.shown_rows()]

    def _leaderboard(self, request: web.Request, name: str) -> Leaderboard:
        site = site_of(request)
        task = _task(site, name)
        views = site.source.views(task.name, viewer_of(request))
        policies = site.source.policies(task.name)
        choice = or_400(lambda: Choice.parse(request.query, views, sortable(task), policies))
        return _shown(site, task, choice, viewer_of(request))

    def _public(self, request: web.Request) -> Leaderboard:
        """Return the leaderboard that strangers see."""
        board = self._leaderboard(request, request.match_info["task"])
        if board.board.hidden:
            raise web.HTTPNotFound(text="The scores of this phase are not public.")
        return replace(board, compared=False)

    def _articles(self, request: web.Request) -> Articles:
        site = site_of(request)
        task = _task(site, request.match_info["task"])
        views = site.source.views(task.name, viewer_of(request))
        choice = or_400(lambda: Choice.parse(request.query, views, COLUMNS))
        board = site.source.articles(task.name, choice.view, viewer_of(request))
        return Articles(board=board, task=task, choice=choice, views=views, base=site.base)

    async def _frozen(self, request: web.Request) -> Leaderboard:
        key, sites = request.match_info["key"], request[SITES]
        board = await sites.frozen(key, caller_of(request))
        site = sites.named(board.phase) if board else None
        if board is None or site is None:
            raise web.HTTPNotFound(text="There is no frozen board under this link.")
        show(request, site)
        views = list(board.views)
        choice = or_400(lambda: Choice.parse(request.query, views, sortable(board), board.policies))
        return Leaderboard(
            board=board.board(choice.view, choice.articles),
            task=board,
            choice=choice,
            views=list(board.views),
            frozen=board,
            key=key,
            phase=board.phase,
            base=site.base,
            viewer=viewer_of(request),
        )

    def _row(self, site: Site, board: Leaderboard, row: BoardRow) -> str:
        """Return a row of the table; drawn again if it has changed."""

        def render() -> str:
            return self.templates.part("leaderboard_parts.html", "run_row", board, row)

        return site.memo.get(
            (
                "row",
                board.own(row),
                board.key,
                board.task.name,
                board.choice.unordered,
                board.board.articles,
                board.compared,
                row.run,
            ),
            (row, board.best(row), board.own(row), board.table, board.ticks, row.run in board.gone),
            render,
        )

    def _parts(self, site: Site, task: TaskPlugin, choice: Choice, viewer: Viewer) -> LiveParts:
        board, part = _shown(site, task, choice, viewer), self.templates.part
        html = {
            name: part("leaderboard_parts.html", name, board)
            for name in ("signature", "remark", "columns", "pinned")
        }
        html["phase-summary"] = part("phase_parts.html", "summary", site.summary())
        for name in BOARD_PARTS:
            html[name] = self._chart(site, name, board, viewer)
        for task_name, count in site.source.counts(viewer).items():
            html[f"count-{task_name}"] = part(
                "leaderboard_parts.html", "run_count", task_name, count
            )
        rows = {element_id("r", row.run): row for row in board.shown_rows()}
        html |= {key: self._row(site, board, row) for key, row in rows.items()}
        return LiveParts(html=html, lists={"runs": list(rows)})

    def _chart(self, site: Site, name: str, board: Leaderboard, viewer: Viewer) -> str:
        drawn: Mapping[str, Any] = {
            "scatter": board.points,
            "curves": board.curves,
            "usage": lambda: board.declared,
        }
        return site.memo.get(
            (
                name,
                board.task.name,
                board.choice.unordered,
                board.board.articles,
                viewer,
            ),
            (drawn[name](), board.series()),
            lambda: self.templates.part("leaderboard_parts.html", name, board),
        )


def _task(site: Site, name: str) -> TaskPlugin:
    for task in site.tasks:
        if task.name == name:
            return task
    raise web.HTTPNotFound(
        text=f"There is no leaderboard of {name} here: no such task, or no gold yet."
    )


def _shown(site: Site, task: TaskPlugin, choice: Choice, viewer: Viewer) -> Leaderboard:
    return Leaderboard(
        board=site.source.board(task.name, choice.view, viewer, choice.articles),
        task=task,
        choice=choice,
        views=site.source.views(task.name, viewer),
        phase=site.phase,
        base=site.base,
        viewer=viewer,
        compared=True,
    )


def _picture(site: Site, board: Leaderboard) -> web.Response:
    shares = tuple(board.shares)
    if not shares:
        raise web.HTTPNotFound(text="This board has no picture.")
    drawn = site.memo.get(("picture", board.path), shares, lambda: bars(shares))
    headers = {"Cache-Control": "no-cache", OPEN_TO: "cross-origin"}
    return web.Response(body=drawn, content_type="image/png", headers=headers)


def page(text: str) -> web.Response:
    """Return an answer with a whole page."""
    return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-cache"})


def _chosen(board: Leaderboard | Articles) -> str:
    return f"{board.task.name}-{board.choice.view}"


def csv_file(text: str, phase: str, name: str) -> web.Response:
    """Return an answer with a table to be saved under a name, which begins with its phase's."""
    return web.Response(
        text=text,
        content_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{phase}-{name}.csv"'},
    )


def or_400(parse: Callable[[], T]) -> T:
    """Return the parsed query; a wrong query is answered with status 400 and the reason."""
    try:
        return parse()
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
