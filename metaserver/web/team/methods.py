"""Descriptions of a team's methods: its runs in each phase, and a run's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from aiohttp import web

from metaserver.base.boards import HEADINGS, QUESTIONS, MethodDescription
from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import methods
from metaserver.operations.fields import OnePhase
from metaserver.operations.methods import MethodDetail
from metaserver.operations.phases import PhaseDetail
from metaserver.web.team.view import named_scope, newest_phases, scope_of
from metaserver.web.ui.console import ConsolePages
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form, Wording

FIELDS = tuple(HEADINGS)
WORDING = {
    **{
        question: Wording(
            label=HEADINGS[question], choices=[(answer, answer) for answer in answers]
        )
        for question, answers in QUESTIONS.items()
    },
    "summary": Wording(
        label=HEADINGS["summary"],
        kind="long",
        help="What the method does, in a few sentences, as in a paper. Plain text.",
    ),
    "resources": Wording(
        label=HEADINGS["resources"],
        kind="long",
        help="Lexical resources, databases, tools and language models, with their versions.",
    ),
    "corpora": Wording(
        label=HEADINGS["corpora"],
        kind="long",
        help="Corpora that the method was trained or tuned on.",
    ),
    "contact": Wording(
        label=HEADINGS["contact"],
        help="A person or an address. It is published with the results; leave it empty if you do"
        " not want that.",
    ),
    "link": Wording(
        label=HEADINGS["link"], kind="url", help="A publication or the code: https://..."
    ),
}


class MethodPages(ConsolePages):
    """The handlers of a team's methods."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/team/methods", self.list),
            *FormPage(
                console=self.console,
                path="/team/methods/{phase}/{run}",
                operation=methods.describe,
                fields=FIELDS,
                show=self._form,
                then=self._changed,
                values=self._described,
                wording=WORDING,
            ).routes(),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the team's runs in each phase, and which are described."""
        scope = await scope_of(self.console, request)
        by_phase = [
            (phase, [run for run in runs if run.team == scope.team.team])
            for phase, runs in await self._runs(request)
        ]
        with_runs = [(phase, runs) for phase, runs in by_phase if runs]
        return self.console.answer("team_methods.html", scope=scope, known=with_runs)

    async def _runs(
        self, request: web.Request
    ) -> Sequence[tuple[PhaseDetail, Sequence[MethodDetail]]]:
        """Return all phases with the runs whose methods may be seen, the newest phase first."""
        return [
            (phase, await self.console.ask(request, methods.list_, OnePhase(phase=phase.phase)))
            for phase in await newest_phases(self.console, request)
        ]

    async def _described(self, request: web.Request) -> Mapping[str, Any]:
        """Return a run's description; if it has none, what its server was said to do before."""
        run = await self._one(request)
        method = run.method or (await self._earlier(request, run))[0]
        return msgspec.structs.asdict(method or MethodDescription())

    async def _one(self, request: web.Request) -> MethodDetail:
        """Return the addressed run; `RefusedError` if it is not the team's."""
        run = await self.console.submit(request, methods.get, {**request.match_info})
        if await named_scope(self.console, request, run.team or None) is None:
            raise RefusedError(Refusal.UNKNOWN, "the run is of no team", field="run")
        return run

    async def _earlier(
        self, request: web.Request, run: MethodDetail
    ) -> tuple[MethodDescription | None, str]:
        """Return the same server's newest description, and its phase.

        None for a run that has a description, or that the caller may not describe.
        """
        if run.method is not None or not run.may_change or run.offline:
            return None, ""
        for phase, runs in await self._runs(request):
            for other_run in runs:
                same = (other_run.run, other_run.team, other_run.offline) == (
                    run.run,
                    run.team,
                    False,
                )
                if same and other_run.method is not None:
                    return other_run.method, phase.title or phase.phase
        return None, ""

    async def _form(self, request: web.Request, form: Form) -> web.Response:
        run = await self._one(request)
        copied = "" if form.status != 200 else (await self._earlier(request, run))[1]
        return self.console.answer(
            "team_method.html",
            status=form.status,
            scope=await scope_of(self.console, request, run.team or None),
            one=run,
            phase=self.console.hub.phase_label(run.phase),
            form=form,
            taken=copied,
            headings=HEADINGS,
        )

    async def _changed(self, request: web.Request, detail: MethodDetail) -> str:
        scope = await scope_of(self.console, request, detail.team or None)
        return scope.link("/team/methods")
