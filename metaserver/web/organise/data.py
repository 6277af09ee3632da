"""The data package of a phase: released to teams, looked at, withdrawn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.model.errors import RefusedError
from metaserver.model.states import PhaseState
from metaserver.operations import data_packages, phases
from metaserver.operations.data_packages import DataRelease, kept_data
from metaserver.operations.fields import OnePhase
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.jobs import job_path
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Wording

WORDING = {
    "without_gold": Wording(label="Without the gold", help="The articles alone."),
    "gold": Wording(label="With the gold", help="Only once the phase is frozen."),
    "test_articles": Wording(
        label="Teams shall have the test articles beforehand",
        help="Needed where its articles are those of a test phase that is not over: teams can then"
        " prepare answers, and the test of their servers on unseen articles is lost.",
    ),
    "public": Wording(label="For everybody", help="Else for signed-in teams alone."),
    "license": Wording(label="Licence", help="Its URL; empty: not said."),
    "terms": Wording(
        label="Rules", kind="long", help="What teams may do with it; part of its README."
    ),
}


@dataclass(frozen=True, kw_only=True)
class DataPages:
    """The handlers of data packages."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one = "/organise/phases/{phase}/data"
        return [
            web.get(one, self.show),
            web.post(one, self.release),
            web.get(f"{one}/withdraw", self.ask_withdraw),
            web.post(f"{one}/withdraw", self.withdraw),
        ]

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep packages for as long as an application serves."""
        async with kept_data(self.console.hub):
            yield

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the state of a phase's package, and the form that releases one."""
        return await self._show(request)

    async def _show(
        self,
        request: web.Request,
        sent: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        asked = OnePhase(phase=request.match_info["phase"])
        phase = await self.console.ask(request, phases.get, asked)
        return self.console.answer(
            "organise_data.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            package=await self.console.ask(request, data_packages.get, asked),
            form=_form(phase.kind).form(sent, refused),
        )

    async def release(self, request: web.Request) -> web.Response:
        """Begin to make and release a package, and lead to its job."""
        sent = await posted(request)
        asked = OnePhase(phase=request.match_info["phase"])
        phase = await self.console.ask(request, phases.get, asked)
        values = {**_form(phase.kind).values(sent), "phase": phase.phase}
        done = await tried(self.console.submit(request, data_packages.release, values))
        if isinstance(done, RefusedError):
            return await self._show(request, sent, done)
        raise web.HTTPSeeOther(job_path(done))

    async def ask_withdraw(self, request: web.Request) -> web.Response:
        """Ask whether a package is to be withdrawn."""
        return await self._ask_withdraw(request)

    async def _ask_withdraw(
        self, request: web.Request, refused: RefusedError | None = None
    ) -> web.Response:
        asked = OnePhase(phase=request.match_info["phase"])
        phase = await self.console.ask(request, phases.get, asked)
        return self.console.answer(
            "organise_withdraw.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            form=OperationForm(request=OnePhase, names=()).form(refused=refused),
        )

    async def withdraw(self, request: web.Request) -> web.Response:
        """Withdraw a package, and lead back to its page."""
        asked = OnePhase(phase=request.match_info["phase"])
        done = await tried(self.console.ask(request, data_packages.withdraw, asked))
        if isinstance(done, RefusedError):
            return await self._ask_withdraw(request, done)
        raise web.HTTPSeeOther(f"{phase_path(asked.phase)}/data")


def _form(kind: PhaseState) -> OperationForm:
    """Return the form of a phase of a kind: gold is asked about where it is not as usual."""
    gold = "without_gold" if kind is PhaseState.TRAINING else "gold"
    names = (gold, "test_articles", "public", "license", "terms")
    return OperationForm(request=DataRelease, names=names, wording=WORDING)
