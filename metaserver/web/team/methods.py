"""Descriptions of a team's methods: its runs in each phase, and the form of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from metaserver.base.boards import HEADINGS, MethodDescription
from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import methods
from metaserver.operations.fields import OnePhase
from metaserver.operations.methods import MethodDetail, RunMethod
from metaserver.operations.phases import PhaseDetail
from metaserver.web.team.scope import newest_phases, scope_of
from metaserver.web.ui.console import ConsoleContext, mended, posted
from metaserver.web.ui.forms import Form, Wording, values_of

FIELDS = tuple(HEADINGS)
WORDING = {
    "summary": Wording(
        label=HEADINGS["summary"],
        kind="long",
        help="What it does, in a few sentences, as a paper would say it. Plain text.",
    ),
    "resources": Wording(
        label=HEADINGS["resources"],
        kind="long",
        help="Lexical resources, databases, tools and language models, with their versions.",
    ),
    "corpora": Wording(
        label=HEADINGS["corpora"], kind="long", help="What it was trained or tuned on."
    ),
    "contact": Wording(
        label=HEADINGS["contact"],
        help="A person or an address. It is published with the results: leave it empty otherwise.",
    ),
    "link": Wording(
        label=HEADINGS["link"], kind="url", help="A publication or the code: https://..."
    ),
}


@dataclass(frozen=True, kw_only=True)
class MethodPages:
    """The handlers of a team's methods."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/methods", self.list),
            web.get("/team/methods/{phase}/{run}", self.form),
            web.post("/team/methods/{phase}/{run}", self.describe),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the team's runs of each phase, and which of them are described."""
        scope = await scope_of(self.console, request)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        known = [
            (phase, [one for one in runs if one.team == scope.team.team])
            for phase, runs in await self._runs(request)
        ]
        shown = [(phase, runs) for phase, runs in known if runs]
        return self.console.answer("team_methods.html", scope=scope, known=shown)

    async def _runs(
        self, request: web.Request
    ) -> Sequence[tuple[PhaseDetail, Sequence[MethodDetail]]]:
        """Return all phases with the runs whose methods may be seen, the newest phase first."""
        return [
            (phase, await self.console.ask(request, methods.list_, OnePhase(phase=phase.phase)))
            for phase in await newest_phases(self.console, request)
        ]

    async def form(self, request: web.Request) -> web.Response:
        """Answer with the form of a run; what its server was said to do before is in it."""
        one, taken = await self._one(request), ""
        method = one.method
        if method is None and one.may_change and not one.offline:
            method, taken = await self._earlier(request, one)
        values = msgspec.structs.asdict(method or MethodDescription())
        form = Form.of(RunMethod, FIELDS, values=values, wording=WORDING)
        return await self._form(request, one, form, taken)

    async def _one(self, request: web.Request) -> MethodDetail:
        """Return the run that an address names; `RefusedError` where it is not the team's."""
        one = await self.console.submit(request, methods.get, {**request.match_info})
        scope = await scope_of(self.console, request, one.team or None)
        if scope is None:
            raise RefusedError(Refusal.UNKNOWN, "the run is of no team", field="run")
        return one

    async def _earlier(
        self, request: web.Request, one: MethodDetail
    ) -> tuple[MethodDescription | None, str]:
        """Return the newest description of the same server, and the phase that it is of."""
        for phase, runs in await self._runs(request):
            for other in runs:
                same = (other.run, other.team, other.offline) == (one.run, one.team, False)
                if same and other.method is not None:
                    return other.method, phase.phase
        return None, ""

    async def _form(
        self,
        request: web.Request,
        one: MethodDetail,
        form: Form,
        taken: str = "",
        status: int = 200,
    ) -> web.Response:
        return self.console.answer(
            "team_method.html",
            status=status,
            scope=await scope_of(self.console, request, one.team or None),
            one=one,
            form=form,
            taken=taken,
            headings=HEADINGS,
        )

    async def describe(self, request: web.Request) -> web.Response:
        """Keep what the form says; then show the team's runs."""
        sent = await posted(request)
        try:
            detail = await self.console.submit(
                request, methods.describe, {**_values(sent), **request.match_info}
            )
        except RefusedError as error:
            refused = mended(error)
            form = Form.of(RunMethod, FIELDS, values=sent, wording=WORDING, refused=refused)
            one = await self._one(request)
            return await self._form(request, one, form, status=refused.refusal)
        scope = await scope_of(self.console, request, detail.team or None)
        assert scope is not None
        raise web.HTTPSeeOther(scope.link("/team/methods"))


def _values(sent: Any) -> dict[str, Any]:
    """Return a form's texts; browsers send two characters for each end of a line."""
    values = values_of(RunMethod, FIELDS, sent)
    return {name: text.replace("\r\n", "\n") for name, text in values.items()}
