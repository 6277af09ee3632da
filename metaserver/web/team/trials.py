"""The test of a server: started here, watched step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from metaserver.dispatch.trials import report
from metaserver.errors import RefusedError
from metaserver.lifecycle import Role
from metaserver.operations.servers import begin_test, noted_test
from metaserver.records import ServerName
from metaserver.services.conformance import Conformance, Step, StepState
from metaserver.web.desk import Desk, mended
from metaserver.web.refusals import in_words
from metaserver.web.stream import Parts
from metaserver.web.team.scope import one_card, scope_of
from metaserver.web.visitor import caller_of

SHAPES = {
    StepState.PASSED: "up",
    StepState.WARNING: "slow",
    StepState.FAILED: "down",
    StepState.SKIPPED: "paused",
}
"""The pill of a step's state: its shape and its colour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a server's test stands: `last` is the report of the last whole run."""

    server: str
    steps: Sequence[Step]
    under_way: bool
    last: Conformance | None

    @property
    def word(self) -> str:
        """The state in a word."""
        if self.under_way:
            return "testing"
        if self.last is None:
            return "not tested"
        return "passed" if self.last.passed else "failed"


@dataclass(frozen=True, kw_only=True)
class TrialPages:
    """The handlers of the test."""

    desk: Desk

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/servers/{server}/test", self.show),
            web.post("/team/servers/{server}/test", self.begin),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the steps of the run under way, or of the last one."""
        return await self._show(request)

    async def _show(
        self, request: web.Request, refused: str = "", status: int = 200
    ) -> web.Response:
        name = request.match_info["server"]
        card = await one_card(self.desk, request, name)
        return self.desk.answer(
            "team_test.html",
            status=status,
            scope=await scope_of(self.desk, request, card.server.team),
            card=card,
            trial=await _standing(self.desk, request, name),
            shapes=SHAPES,
            refused=refused,
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a run, or join the one under way; then show its steps."""
        service, caller = self.desk.service, caller_of(request)
        caller.need(Role.TEAM)
        name = request.match_info["server"]
        try:
            registered = await service.server_in_use(caller, name)
        except RefusedError as error:
            refused = mended(error)
            return await self._show(request, in_words(refused), refused.refusal)
        await noted_test(service, caller, name)
        begin_test(service, registered)
        raise web.HTTPSeeOther(request.path)


async def _standing(desk: Desk, request: web.Request, name: str) -> Standing:
    caller = caller_of(request)
    caller.need(Role.TEAM)
    registered = await desk.service.server(caller, name)
    steps, last = desk.service.trials.under_way(ServerName(name)), report(registered)
    known = last.steps if last else ()
    return Standing(
        server=name,
        steps=known if steps is None else steps,
        under_way=steps is not None,
        last=last,
    )


async def trial_parts(desk: Desk, request: web.Request, name: str) -> Parts:
    """Return the live parts of a test's page."""
    trial = await _standing(desk, request, name)
    part = desk.templates.part
    steps = {
        f"step-{number}": part("team_parts.html", "step", number, step, SHAPES)
        for number, step in enumerate(trial.steps)
    }
    return Parts(
        html=steps | {"verdict": part("team_parts.html", "verdict", trial)},
        lists={"steps": list(steps)},
    )
