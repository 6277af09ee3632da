"""The page of a challenge's results, and that of the methods behind a phase's runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from metaserver.base.boards import (
    HEADINGS,
    Answers,
    FrozenBoard,
    MethodDescription,
    counted_answers,
)
from metaserver.boards.snapshots import Monitor
from metaserver.operations import challenge_pages, publishing
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OneChallenge
from metaserver.operations.kept import copy_of, published_name
from metaserver.operations.publishing import PhaseResults, TaskResults
from metaserver.operations.table import ask
from metaserver.web.access.auth import address_for
from metaserver.web.access.downloads import in_turn, zip_response
from metaserver.web.access.visitor import caller_of, viewer_of
from metaserver.web.public.boards import page
from metaserver.web.public.choices import Choice
from metaserver.web.public.leaderboard import Leaderboard, sortable
from metaserver.web.public.sites import PhaseSites, PhaseSummary, site_of
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class ShownTask:
    """The final board of a task as it is shown."""

    results: TaskResults
    board: FrozenBoard
    charts: Leaderboard


@dataclass(frozen=True, kw_only=True)
class ShownPhase:
    """A phase's results as they are shown; each method is of a run, with its team."""

    results: PhaseResults
    summary: PhaseSummary
    tasks: Sequence[ShownTask]
    methods: Sequence[tuple[str, str, MethodDescription]]
    monitor: Monitor

    @property
    def described(self) -> Sequence[tuple[str, str, MethodDescription]]:
        """The methods with the titles of their teams."""
        rows = [row for task in self.tasks for row in task.charts.board.rows]
        titles = {row.team: row.title for row in rows if row.title}
        return [(run, titles.get(team) or team, method) for run, team, method in self.methods]

    @property
    def answers(self) -> Sequence[Answers]:
        """The questionnaire, counted over the methods."""
        return counted_answers((team, method) for _, team, method in self.methods)


@dataclass(frozen=True, kw_only=True)
class ResultsPage:
    """The handler, and what it draws with."""

    hub: HubContext
    sites: PhaseSites
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return its routes, which stay when phases come and go."""
        return [
            web.get("/results/{challenge}", self.show),
            web.get("/results/{challenge}/{phase}/package", self.fetch),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the results of a challenge that everybody may see."""
        caller, name = caller_of(request), request.match_info["challenge"]
        query = OneChallenge(challenge=name)
        texts = await ask(self.hub, caller, challenge_pages.get, query)
        published = await ask(self.hub, caller, publishing.results, query)
        shown_results = [
            shown_result
            for results in published
            if (shown_result := await self._shown(request, results))
        ]
        text = self.templates.page(
            "results.html",
            c=texts,
            shown=shown_results,
            headings=HEADINGS,
            home=address_for(request),
            path=f"/results/{name}",
        )
        return page(text)

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Answer with the package that everybody may have of a phase's results."""
        query = OneChallenge(challenge=request.match_info["challenge"])
        published = await ask(self.hub, caller_of(request), publishing.results, query)
        site = self.sites.at(query.challenge, request.match_info["phase"])
        offered = {results.phase for results in published if results.package}
        if site is None or site.phase not in offered:
            raise web.HTTPNotFound(text="There is no package of these results.")

        async def make() -> web.StreamResponse:
            name = published_name(self.hub.phase(site.phase))
            if (path := await copy_of(self.hub, name)) is None:
                raise web.HTTPNotFound(
                    text="The package is just being replaced. Please try again in a moment."
                )
            return zip_response(path, f"results-{site.phase}.zip", cacheable=True)

        return await in_turn(request, make)

    async def _shown(self, request: web.Request, results: PhaseResults) -> ShownPhase | None:
        site = self.sites.named(results.phase)
        if site is None:
            return None  # deleted meanwhile
        viewer = viewer_of(request)
        tasks = []
        for task in results.tasks:
            if (board := await self.sites.frozen(task.board, caller_of(request))) is None:
                continue
            views = list(board.views)
            charts = Leaderboard(
                board=board.board(views[0]),
                task=board,
                choice=Choice.parse({}, views, sortable(board), board.policies),
                views=views,
                frozen=board,
                key=task.board,
                phase=board.phase,
                base=site.base,
            )
            tasks.append(ShownTask(results=task, board=board, charts=charts))
        return ShownPhase(
            results=results,
            summary=site.summary(),
            tasks=tasks,
            methods=[
                (run.run, run.team, run.method)
                for run in await site.source.methods(viewer)
                if run.method is not None
            ],
            monitor=site.monitor(viewer),
        )


@dataclass(frozen=True, kw_only=True)
class MethodsPage:
    """The handler, and what it draws with."""

    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the route of a phase's methods."""
        return [web.get("/methods", self.methods)]

    async def methods(self, request: web.Request) -> web.Response:
        """Answer with the methods of the runs, as far as the viewer may see them."""
        site, viewer = site_of(request), viewer_of(request)
        methods_seen = await site.source.methods(viewer)
        text = self.templates.page(
            "methods.html",
            described=[
                (method.run, method.team, method.method) for method in methods_seen if method.method
            ],
            missing=[method.run for method in methods_seen if not method.method],
            organiser=viewer.organiser,
            headings=HEADINGS,
        )
        return page(text)
