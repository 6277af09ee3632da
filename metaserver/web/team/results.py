"""My results: a team's runs with their scores, and news; the first page of its console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from aiohttp import web

from metaserver.base.states import OPEN_STATES, PhaseState, Visibility
from metaserver.operations import challenge_pages, challenges, team_results, teams
from metaserver.operations.challenge_pages import AnnouncementDetail
from metaserver.operations.fields import OneChallenge
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.table import Nothing
from metaserver.operations.team_results import ResultsOf, RunResult
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.challenge_page import ShownAnnouncement, announced
from metaserver.web.public.sites import base_of
from metaserver.web.team.view import Scope, named_scope, newest_phases
from metaserver.web.ui.console import ConsoleContext, ConsolePages
from metaserver.web.ui.live import LiveParts

NEWEST = 3


async def newest_news(console: ConsoleContext, request: web.Request) -> Sequence[ShownAnnouncement]:
    """Return the newest announcements that the viewer may see."""
    announcements: list[AnnouncementDetail] = []
    for challenge in await console.ask(request, challenges.list_challenges, Nothing()):
        query = OneChallenge(challenge=challenge.challenge)
        announcements += await console.ask(request, challenge_pages.list_announcements, query)
    newest = sorted(announcements, key=lambda announcement: announcement.at, reverse=True)[:NEWEST]
    return await caller_of(request).aside(announced, newest)


PART = "team_results_parts.html"


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseResults:
    """A phase with the team's runs of each task, for the team or for an organiser."""

    phase: PhaseDetail
    tasks: Sequence[tuple[str, Sequence[RunResult]]]
    organiser: bool

    @property
    def base(self) -> str:
        """The beginning of the addresses of the phase's pages."""
        return base_of(self.phase.challenge, self.phase.own_name)

    @property
    def open(self) -> bool:
        """True while its runs may change."""
        return self.phase.state in OPEN_STATES

    @property
    def own_only(self) -> bool:
        """True if places are among the team's own runs."""
        return self.phase.visibility is Visibility.OWN and not self.organiser

    @property
    def by_article(self) -> bool:
        """True if the article difficulty may be seen."""
        late = self.phase.kind is PhaseState.TRAINING or not self.open
        return self.organiser or (late and self.phase.visibility is Visibility.PUBLIC)

    @staticmethod
    def values(run: RunResult) -> Sequence[float]:
        """Return the scores along a run's curve."""
        return [score for _, score in run.curve]

    @property
    def news(self) -> str:
        """The text announced when it changes: the runs' places."""
        placed = [
            run_result
            for _, runs in self.tasks
            for run_result in runs
            if run_result.place is not None
        ]
        return " ".join(f"{run.run} in {run.task}: place {run.place}." for run in placed)


class ResultPages(ConsolePages):
    """The page's handler."""

    def routes(self) -> list[web.RouteDef]:
        """Return its route."""
        return [web.get("/team", self.show)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a team's results; to an organiser who has not said whose, with all teams."""
        scope = await named_scope(self.console, request)
        if scope is None:
            listed = await self.console.ask(request, teams.list_, Nothing())
            return self.console.answer("team_choice.html", teams=listed)
        return self.console.answer(
            "team_results.html",
            scope=scope,
            by_phase=await _results(self.console, request, scope),
            news=await newest_news(self.console, request),
            notice=_notice(request.query),
        )


def _notice(query: Mapping[str, str]) -> str:
    """Return what to say after an upload."""
    run = query.get("uploaded", "")
    return f"{run} has been uploaded and is listed below." if run else ""


async def _results(
    console: ConsoleContext, request: web.Request, scope: Scope
) -> Sequence[PhaseResults]:
    """Return a team's results, the phases that are open first, then the newest."""
    results = await console.ask(request, team_results.mine, ResultsOf(team=scope.team.team))
    by_name = {phase.phase: phase for phase in await newest_phases(console, request)}
    phase_results = [
        PhaseResults(
            phase=by_name[name],
            organiser=scope.organiser,
            tasks=[
                (task, list(group)) for task, group in groupby(of_phase, lambda result: result.task)
            ],
        )
        for name, of_phase in groupby(results, lambda result: result.phase)
        if name in by_name  # one under embargo is not
    ]
    return sorted(phase_results, key=lambda phase_results: not phase_results.open)


async def result_parts(console: ConsoleContext, request: web.Request, scope: Scope) -> LiveParts:
    """Return the live part of the page."""
    phases = await _results(console, request, scope)
    return LiveParts(html={"results": console.templates.part(PART, "results", phases, scope)})
