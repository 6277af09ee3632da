"""Tests of a server: begun here, watched step by step."""

from __future__ import annotations

from urllib.parse import urlencode

from aiohttp import web

from metaserver.base.conformance import StepState
from metaserver.base.errors import RefusedError
from metaserver.operations import conformance
from metaserver.operations.conformance import ServerTest, TestStatus
from metaserver.web.access.refusals import in_words
from metaserver.web.public.groups import grouped_steps
from metaserver.web.team import view
from metaserver.web.team.view import TESTED, one_card, scope_of
from metaserver.web.ui.console import ConsoleContext, ConsolePages, phase_named, posted, redisplayed
from metaserver.web.ui.live import LiveParts

SHAPES = {
    StepState.PASSED: "up",
    StepState.WARNING: "slow",
    StepState.FAILED: "down",
    StepState.SKIPPED: "paused",
}
"""The pill of a step's state: its shape and its colour."""


class TestPages(ConsolePages):
    """The test's handlers."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/servers/{server}/test", self.show),
            web.post("/team/servers/{server}/test", self.begin),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a phase's test steps: the current run's, or the last run's."""
        return await self._show(request, phase_named(self.console, request))

    async def _show(
        self, request: web.Request, phase: str | None, refused: str = "", status: int = 200
    ) -> web.Response:
        name = request.match_info["server"]
        card = await one_card(self.console, request, name)
        status_now = await status_of(self.console, request, name, phase)
        return self.console.answer(
            "team_test.html",
            status=status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            test=status_now,
            word=word_of(status_now),
            groups=grouped_steps(status_now.steps),
            shapes=SHAPES,
            view=view,
            refused=refused,
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a run, or join the current run; then show its steps."""
        name, submitted = request.match_info["server"], await posted(request)
        phase = (
            str(submitted["phase"])
            if submitted.get("phase")
            else phase_named(self.console, request)
        )
        if phase is None:
            phase = (await status_of(self.console, request, name, None)).phase or None
        try:
            request_sent = ServerTest(server=name, phase=phase)
            await self.console.ask(request, conformance.test, request_sent)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._show(request, phase, in_words(refused), refused.refusal)
        query = f"?{urlencode({'phase': phase})}" if phase else ""
        raise web.HTTPSeeOther(f"{request.path}{query}")


def word_of(status: TestStatus) -> str:
    """Return the state of a test in a word."""
    testing = status.under_way == status.phase
    return "testing" if testing else TESTED[status.tested.state][1]


async def status_of(
    console: ConsoleContext, request: web.Request, server: str, phase: str | None
) -> TestStatus:
    """Return the state of a server's test for a phase, by default the likeliest."""
    query = ServerTest(server=server, phase=phase)
    return await console.ask(request, conformance.get_status, query)


async def test_parts(console: ConsoleContext, request: web.Request, name: str) -> LiveParts:
    """Return the live parts of a test's page."""
    test = await status_of(console, request, name, phase_named(console, request))
    card = await one_card(console, request, name)
    part = console.templates.part
    steps = {
        f"step-{number}": part("team_parts.html", "step", number, step, SHAPES)
        for number, step in enumerate(test.steps)
    }
    summary = {
        "verdict": part("team_parts.html", "verdict", card, test, word_of(test)),
        "wrong": part("team_parts.html", "step_groups", grouped_steps(test.steps)),
    }
    if len(card.server.tests) > 1:
        summary["test-phases"] = part("team_parts.html", "test_phases", card, test, TESTED)
    return LiveParts(
        html=steps | summary,
        lists={"steps": list(steps)},
    )
