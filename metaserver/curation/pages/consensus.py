"""Consensus models: what they are worth, which is in use, and the training of another."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.curation.operations import consensus_models
from metaserver.curation.operations.consensus_models import LEARNED, NewModel
from metaserver.operations.table import Nothing
from metaserver.web.access.refusals import in_words
from metaserver.web.organise.jobs import soon
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Form, Wording

PATH = "/organise/consensus"
MADE = OperationForm(
    request=NewModel,
    names=("task", "method"),
    wording={
        "task": Wording(
            help="Of all closed phases with gold of it.",
            choices=[(task, task) for task in LEARNED],
        ),
        "method": Wording(
            choices=[
                ("auto", "stacked, or a fusion where there is too little gold"),
                ("stacked", "stacked: the panel's features and each server's"),
                ("maxent", "maximum entropy, as in the overview of BioCreative II.5"),
            ]
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class ConsensusPages:
    """The handlers of consensus models."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = rf"{PATH}/{{id:\d+}}"
        return [
            web.get(PATH, self.show),
            web.post(PATH, self.train),
            web.post(f"{path}/use", self.use),
            web.post(f"{path}/delete", self.delete),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the models, and the form that trains one."""
        return await self._show(request, None)

    async def _show(
        self, request: web.Request, form: Form | None, refused: RefusedError | None = None
    ) -> web.Response:
        models = await self.console.ask(request, consensus_models.models, Nothing())
        task = next((offer.task for offer in models.offers), LEARNED[0])
        return self.console.answer(
            "organise_consensus.html",
            status=refused.refusal if refused else 200,
            known=models,
            form=form or MADE.form({"task": task}),
            refused="" if refused is None or form else in_words(refused),
        )

    async def train(self, request: web.Request) -> web.Response:
        """Begin to train a model; lead to its job, or back once it is made."""
        submitted = await posted(request)
        training = self.console.submit(request, consensus_models.train_, MADE.values(submitted))
        outcome = await tried(training)
        if isinstance(outcome, RefusedError):
            return await self._show(request, MADE.form(submitted, outcome), outcome)
        raise web.HTTPSeeOther(await soon(self.console, request, outcome))

    async def use(self, request: web.Request) -> web.Response:
        """Use a model for curators' requests, or no longer."""
        submitted = await posted(request)
        values = {"model": request.match_info["id"], "active": "active" in submitted}
        outcome = await tried(self.console.submit(request, consensus_models.use, values))
        if isinstance(outcome, RefusedError):
            return await self._show(request, None, outcome)
        raise web.HTTPSeeOther(PATH)

    async def delete(self, request: web.Request) -> web.Response:
        """Delete a model that is not in use."""
        values = {"model": request.match_info["id"]}
        outcome = await tried(self.console.submit(request, consensus_models.delete_model, values))
        if isinstance(outcome, RefusedError):
            return await self._show(request, None, outcome)
        raise web.HTTPSeeOther(PATH)
