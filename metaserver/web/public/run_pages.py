"""Pages of a run, of a team in a phase, and of two runs compared."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.boards import HEADINGS, BoardRow, Column, column_named
from metaserver.base.errors import RefusedError
from metaserver.base.records import TaskName
from metaserver.operations import run_cards
from metaserver.operations.context import HubContext
from metaserver.operations.run_cards import TwoRuns
from metaserver.operations.runs import OneRun
from metaserver.operations.table import ask
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import caller_of, viewer_of
from metaserver.web.public.boards import page
from metaserver.web.public.sites import site_of
from metaserver.web.ui.templates import Templates

SHOWN = 200
"""Articles of a comparison that its page shows; operations return all."""


@dataclass(frozen=True, kw_only=True)
class RunPages:
    """The handlers, and what they draw with."""

    hub: HubContext
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a phase's runs and teams."""
        return [
            web.get("/runs/{run}", self.run),
            web.get("/teams/{team}", self.team),
            web.get("/board/{task}/compare", self.compare),
        ]

    async def run(self, request: web.Request) -> web.Response:
        """Answer with a run: its place and scores by task, its method, where it lost."""
        site, query = site_of(request), request.match_info
        asked = OneRun(phase=site.phase, run=query["run"])
        card = await ask(self.hub, caller_of(request), run_cards.show, asked)
        team = viewer_of(request).team
        text = self.templates.page(
            "run.html",
            r=card,
            base=site.base,
            headings=HEADINGS,
            rounded=site.source.is_rounded(viewer_of(request)),
            mine=bool(team) and card.team == team,
        )
        return page(text)

    async def team(self, request: web.Request) -> web.Response:
        """Answer with a team's runs on the boards of a phase, and its servers."""
        site, viewer = site_of(request), viewer_of(request)
        name = request.match_info["team"]
        boards: list[tuple[TaskName, Column, list[BoardRow], int]] = []
        for task in site.tasks:
            board = site.source.board(task.name, viewer=viewer)
            own = [row for row in board.rows if row.team == name]
            if own:
                measure = column_named(board.columns(task.columns), board.order[0])
                placed = sum(row.place is not None for row in board.rows)
                boards.append((task.name, measure, own, placed))
        servers = site.source.servers_of(name, viewer)
        if not boards and not servers:
            raise web.HTTPNotFound(text=f"No team called {name} takes part in this phase.")
        title = next((row.title for _, _, rows, _ in boards for row in rows if row.title), "")
        text = self.templates.page(
            "phase_team.html",
            team=name,
            title=title,
            boards=boards,
            servers=servers,
            base=site.base,
            own=viewer.team == name,
        )
        return page(text)

    async def compare(self, request: web.Request) -> web.Response:
        """Answer with two runs of a task beside each other: `?first=` and `?second=`.

        `?run=` is a run that was ticked on the board.
        """
        site, query = site_of(request), request.query
        task = request.match_info["task"]
        ticked = [*query.getall("run", ()), "", ""]
        first, second = query.get("first", ticked[0]), query.get("second", ticked[1])
        asked = TwoRuns(phase=site.phase, task=task, first=first[:200], second=second[:200])
        pair, refused = None, ""
        try:
            if first and second:
                pair = await ask(self.hub, caller_of(request), run_cards.compare, asked)
        except RefusedError as error:
            if error.field not in ("first", "second"):
                raise
            refused = in_words(error)
        exists = task in {plugin.name for plugin in site.tasks}
        rows = site.source.board(TaskName(task), viewer=viewer_of(request)).rows if exists else ()
        text = self.templates.page(
            "compare.html",
            c=pair,
            task=task,
            asked=asked,
            refused=refused,
            runs=[row.run for row in rows],
            base=site.base,
            shown=SHOWN,
        )
        answer = page(text)
        answer.set_status(404 if refused else 200)
        return answer
