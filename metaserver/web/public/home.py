"""The first page, and the short addresses, which name no phase: `/monitor`, `/board/INT`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from metaserver.base.states import OPEN_STATES
from metaserver.operations import publishing
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import list_challenges
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OneChallenge
from metaserver.operations.publishing import PhaseResults
from metaserver.operations.table import Nothing, ask
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.boards import page
from metaserver.web.public.sites import PUBLISHED, PhaseSites, PhaseSummary, may_know
from metaserver.web.ui.markdown import render
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class Home:
    """The handler, and what it draws with."""

    hub: HubContext
    sites: PhaseSites
    templates: Templates

    async def home(self, request: web.Request) -> web.Response:
        """Answer with the challenges and their phases."""
        caller = caller_of(request)
        challenges = await ask(self.hub, caller, list_challenges, Nothing())
        summaries = [phase for phase in self.sites.summaries() if may_know(phase, caller)]
        return page(
            self.templates.page(
                "home.html",
                challenges=challenges,
                leads={
                    challenge.challenge: render(challenge.about).striptags()
                    for challenge in challenges
                },
                summaries=summaries,
                latest=await self._latest(caller, summaries),
                now=self.hub.clock(),
            )
        )

    async def _latest(
        self, caller: Caller, summaries: Sequence[PhaseSummary]
    ) -> PhaseResults | None:
        """Return the results that were published last: the page shows their first places."""
        out = [phase for phase in summaries if phase.published]
        if not out:
            return None
        newest = max(out, key=lambda phase: dict(phase.dates)[PUBLISHED])
        challenge = OneChallenge(challenge=newest.challenge)
        listed = await ask(self.hub, caller, publishing.results, challenge)
        return next((results for results in listed if results.phase == newest.name), None)


KINDS: Mapping[str, str] = {
    "monitor": "monitor",
    "board": "board",
    "t": "board",  # as boards were addressed up to release 0.2
    "servers": "servers",
}
"""The first words of short addresses, and of the phase pages to which they lead."""


@dataclass(frozen=True, kw_only=True)
class ShortAddresses:
    """The handler, and what it draws with."""

    sites: PhaseSites
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the route of all short addresses."""
        return [web.get(f"/{{kind:{'|'.join(KINDS)}}}{{rest:(?:/.*)?}}", self.find)]

    async def find(self, request: web.Request) -> web.Response:
        """Send the viewer to the page in the only open phase, else show the phase choice."""
        path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
        kind, slash, rest = path.removeprefix("/").partition("/")
        tail = f"/{KINDS[kind]}{slash}{rest}" + (f"?{query}" if query else "")
        caller = caller_of(request)
        summaries = [summary for summary in self.sites.summaries() if may_know(summary, caller)]
        meant = _meant(summaries)
        if meant is not None:
            raise web.HTTPFound(meant.base + tail)
        template = "which_phase.html" if summaries else "no_phase.html"
        answer = page(self.templates.page(template, choice=summaries, tail=tail))
        answer.set_status(300 if summaries else 404)
        return answer


def _meant(summaries: Sequence[PhaseSummary]) -> PhaseSummary | None:
    """Return the only open phase, or the only phase; None if there is a choice."""
    candidates = [phase for phase in summaries if phase.state in OPEN_STATES] or summaries
    return candidates[0] if len(candidates) == 1 else None
