"""Consensus models: what they are worth, which is in use, and the training of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from aiohttp import web

from metaserver.curation.operations import consensus_models
from metaserver.curation.operations.consensus_models import LEARNED
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import Nothing
from metaserver.web.organise.jobs import soon
from metaserver.web.ui.console import AskedOperation, ConsoleContext
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form, Wording

T = TypeVar("T")

PATH = "/organise/consensus"
WORDING = {
    "task": Wording(
        help="Of all closed phases with gold of it.",
        choices=[(task, task) for task in LEARNED],
    ),
    "method": Wording(
        choices=[
            ("auto", "stacked or a fusion, whichever is better in cross-validation"),
            ("stacked", "stacked: the panel's features and each server's"),
            ("maxent", "maximum entropy, as in the overview of BioCreative II.5"),
        ]
    ),
}


@dataclass(frozen=True, kw_only=True)
class ConsensusPages:
    """The handlers of consensus models."""

    console: ConsoleContext

    def _page(self, path: str, operation: AskedOperation[Any, T], **declared: Any) -> FormPage[T]:
        return FormPage(console=self.console, path=path, operation=operation, **declared)

    @cached_property
    def _train(self) -> FormPage[JobDetail]:
        return self._page(
            PATH,
            consensus_models.train_,
            fields=("task", "method"),
            show=self._show,
            then=lambda request, job: soon(self.console, request, job),
            wording=WORDING,
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path, button = rf"{PATH}/{{model:\d+}}", {"show": self._refused, "then": PATH}
        return [
            web.get(PATH, self._show),
            self._train.route(),
            self._page(f"{path}/use", consensus_models.use, fields=("active",), **button).route(),
            self._page(f"{path}/delete", consensus_models.delete_model, **button).route(),
        ]

    async def _show(
        self, request: web.Request, form: Form | None = None, refused: Form | None = None
    ) -> web.Response:
        """Answer with the models, and the form that trains one."""
        models = await self.console.ask(request, consensus_models.models, Nothing())
        task = next((offer.task for offer in models.offers), LEARNED[0])
        form = form or self._train.form({"task": task})
        return self.console.answer(
            "organise_consensus.html",
            status=refused.status if refused else form.status,
            known=models,
            form=form,
            refused=refused.error if refused else "",
        )

    async def _refused(self, request: web.Request, refused: Form) -> web.Response:
        return await self._show(request, refused=refused)
