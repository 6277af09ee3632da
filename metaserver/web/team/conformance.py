"""The test of a server: started here, watched step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from metaserver.conformance.runner import Conditions
from metaserver.conformance.steps import Conformance, ConformanceStep, StepState, Terms
from metaserver.model.errors import RefusedError
from metaserver.model.records import ServerName
from metaserver.model.states import Role
from metaserver.operations.conformance import Tested, begin_test, likely_phases, tested_for
from metaserver.store.trials import NO_PHASE
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import caller_of
from metaserver.web.team import view
from metaserver.web.team.scope import one_card, scope_of
from metaserver.web.team.view import TESTED
from metaserver.web.ui.console import ConsoleContext, mended, phase_named, posted
from metaserver.web.ui.live import LiveParts

SHAPES = {
    StepState.PASSED: "up",
    StepState.WARNING: "slow",
    StepState.FAILED: "down",
    StepState.SKIPPED: "paused",
}
"""The pill of a step's state: its shape and its colour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestStatus:
    """How a server's test for a phase stands: `last` is the report of the last whole run for it.

    `phase` is empty where there is none. `under_way` is for which phase the server is being tested
    now, None where it is not; `steps` are those so far if that is this phase.
    """

    server: str
    phase: str
    steps: Sequence[ConformanceStep]
    under_way: str | None
    last: Conformance | None
    tested: Tested
    terms: Terms

    @property
    def here(self) -> bool:
        """Whether the server is being tested for this phase."""
        return self.under_way == self.phase

    @property
    def word(self) -> str:
        """The state in a word."""
        return "testing" if self.here else TESTED[self.tested.state][1]


@dataclass(frozen=True, kw_only=True)
class TrialPages:
    """The handlers of the test."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/servers/{server}/test", self.show),
            web.post("/team/servers/{server}/test", self.begin),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the steps of the run under way, or of the last one, for a phase."""
        return await self._show(request, phase_of(self.console, request))

    async def _show(
        self, request: web.Request, phase: str | None, refused: str = "", status: int = 200
    ) -> web.Response:
        name = request.match_info["server"]
        card = await one_card(self.console, request, name)
        return self.console.answer(
            "team_test.html",
            status=status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            trial=await _standing(self.console, request, name, phase),
            shapes=SHAPES,
            view=view,
            refused=refused,
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a run, or join the one under way; then show its steps."""
        caller = caller_of(request)
        caller.need(Role.TEAM)
        sent = await posted(request)
        phase = str(sent["phase"]) if sent.get("phase") else phase_of(self.console, request)
        try:
            await begin_test(self.console.hub, caller, request.match_info["server"], phase)
        except RefusedError as error:
            refused = mended(error)
            return await self._show(request, phase, in_words(refused), refused.refusal)
        query = f"?{urlencode({'phase': phase})}" if phase else ""
        raise web.HTTPSeeOther(f"{request.path}{query}")


def phase_of(console: ConsoleContext, request: web.Request) -> str | None:
    """Return the phase that a test's page is for: the one that is named, else the likeliest.

    None where there is none to test for.
    """
    named = phase_named(console, request)
    if named is not None:
        return named
    found = likely_phases(console.hub)
    return found[0].name if found else None


async def _standing(
    console: ConsoleContext, request: web.Request, name: str, phase: str | None
) -> TestStatus:
    caller, hub = caller_of(request), console.hub
    caller.need(Role.TEAM)
    registered = await hub.server(caller, name)
    running = None if phase is None else hub.phase(phase)
    trial = hub.conformance.under_way(ServerName(name))
    last = await hub.conformance.report(registered, running.phase.id if running else None)
    here = trial is not None and trial.terms.phase == (phase or NO_PHASE)
    known = last.steps if last else ()
    return TestStatus(
        server=name,
        phase=phase or NO_PHASE,
        steps=tuple(trial.steps) if trial and here else known,
        under_way=None if trial is None else trial.terms.phase,
        last=last,
        tested=tested_for(hub, registered, running),
        terms=Conditions.of(registered.server, running, hub.settings).terms,
    )


async def trial_parts(console: ConsoleContext, request: web.Request, name: str) -> LiveParts:
    """Return the live parts of a test's page."""
    trial = await _standing(console, request, name, phase_of(console, request))
    part = console.templates.part
    steps = {
        f"step-{number}": part("team_parts.html", "step", number, step, SHAPES)
        for number, step in enumerate(trial.steps)
    }
    return LiveParts(
        html=steps | {"verdict": part("team_parts.html", "verdict", trial)},
        lists={"steps": list(steps)},
    )
