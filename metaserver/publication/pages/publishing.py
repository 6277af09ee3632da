"""Publishing a phase's results: what they show, an announcement, the package, a single button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.operations import boards, phases, publishing
from metaserver.operations.boards import OneFrozen
from metaserver.operations.fields import OnePhase
from metaserver.operations.publishing import NewPublication, PublicationPlan
from metaserver.publication.operations import results
from metaserver.publication.operations.results import NewPackage
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Form, FormField, Wording

ANNOUNCEMENT = OperationForm(
    request=NewPublication,
    names=("title", "text"),
    wording={
        "title": Wording(
            label="Title",
            help="On the challenge’s page and in notices. Without a title, none is made.",
        ),
        "text": Wording(label="Text", kind="long", help="Markdown, written from the results."),
    },
)
PACKAGE = OperationForm(
    request=NewPackage,
    names=("license", "authors"),
    wording={
        "license": Wording(label="Licence", help="Its address, from https:// on, if there is one."),
        "authors": Wording(label="Authors", help="One person per line."),
    },
)
MAKE_PACKAGE = FormField(
    name="package",
    label="Make the results package for everybody as well",
    kind="check",
    help="Without the gold; with the runs, and with the evidence of servers, which may quote the"
    " articles. A job makes it, and then the page of results has it.",
    bounds={},
)


@dataclass(frozen=True, kw_only=True)
class PublishingPages:
    """The handlers."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one = "/organise/phases/{phase}/publish"
        return [web.get(one, self.show), web.post(one, self.publish)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with what a publication shows, what is missing, and the button."""
        plan = await self._plan(request)
        return await self._show(request, plan, {"title": plan.title, "text": plan.text})

    async def _plan(self, request: web.Request) -> PublicationPlan:
        asked = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, publishing.plan, asked)

    async def _show(
        self,
        request: web.Request,
        plan: PublicationPlan,
        values: Mapping[str, Any] | MultiMapping[Any],
        refused: RefusedError | None = None,
    ) -> web.Response:
        said, packed = ANNOUNCEMENT.form(values, refused), PACKAGE.form(values, refused)
        ticked = not isinstance(values, MultiMapping) or MAKE_PACKAGE.name in values
        box = replace(MAKE_PACKAGE, given=("true",) if ticked else ())
        at_package = bool(refused and refused.field in PACKAGE.names)
        error = packed.error if not at_package and said.error else ""
        return self.console.answer(
            "organise_publish.html",
            status=refused.refusal if refused else 200,
            phase=await self.console.ask(request, phases.get, OnePhase(phase=plan.phase)),
            plan=plan,
            boards=[
                await self.console.ask(request, boards.get_frozen, OneFrozen(board=key))
                for key in plan.boards
            ],
            form=Form(fields=[*said.fields, box, *packed.fields], error=error),
        )

    async def publish(self, request: web.Request) -> web.Response:
        """Publish the results, and lead to their page."""
        sent, plan = await posted(request), await self._plan(request)
        if MAKE_PACKAGE.name in sent and not plan.refused:
            asked = {**PACKAGE.values(sent), "phase": plan.phase, "public": True}
            made = await tried(self.console.submit(request, results.make, asked))
            if isinstance(made, RefusedError):
                return await self._show(request, plan, sent, made)
        values = {**ANNOUNCEMENT.values(sent), "phase": plan.phase}
        done = await tried(self.console.submit(request, publishing.publish, values))
        if isinstance(done, RefusedError):
            return await self._show(request, plan, sent, done)
        raise web.HTTPSeeOther(f"/results/{done.challenge}")
