"""Sets: a curator's articles, the agreement, rulings on disagreements, and gold from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.operations import curation_sets, set_agreement, set_gold, set_seats
from metaserver.curation.operations.curation_sets import OneSet
from metaserver.curation.operations.set_agreement import SetAgreement, SetDisagreements, TaskOfSet
from metaserver.curation.operations.set_gold import NewGoldOfSet
from metaserver.curation.operations.set_seats import ArticleOfSet
from metaserver.curation.pages.desk import desk_path
from metaserver.operations.jobs import JobDetail
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.jobs import soon
from metaserver.web.ui.console import AskedOperation, ConsoleContext, posted, redisplayed
from metaserver.web.ui.form_pages import tried

SHOWN = 50
"""Disagreements on a page."""
CHOICES = (
    ("1", "1", "As the first"),
    ("2", "2", "As the second"),
    ("both", "b", "Both"),
    ("neither", "0", "Neither"),
)
"""Rulings: value, key and label."""
MEASURES: Mapping[str, str] = {
    "f_score": "F",
    "macro_f": "F, mean of articles",
    "masi": "MASI",
    "accuracy": "equal classes",
    "cohen_kappa": "Cohen's κ",
    "methods_f_score": "F with methods",
    "fleiss_kappa": "Fleiss' κ",
    "krippendorff_alpha": "Krippendorff's α",
    "decisions_alpha": "α of decisions",
}
"""Measures of agreement as the page names them."""


@dataclass(frozen=True, kw_only=True)
class SetPages:
    """The set handlers."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes; what makes gold is for organisers by its operations."""
        path = "/curate/sets/{set:[A-Za-z0-9._-]{1,64}}"
        return [
            web.get(path, self.show),
            web.post(f"{path}/open", self.open),
            web.get(f"{path}/adjudicate", self.adjudicate),
            web.post(f"{path}/rule", self.rule),
            web.post(f"{path}/preview", self.preview),
            web.post(f"{path}/publish", self.publish),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the viewer's articles; to those who may see it, the agreement."""
        return await self._show(request)

    async def _show(
        self, request: web.Request, refused: str = "", status: int = 200
    ) -> web.Response:
        name = request.match_info["set"]
        detail = await self.console.ask(request, curation_sets.get, OneSet(set=name))
        agreements = {task: await self._agreement(request, name, task) for task in detail.tasks}
        return self.console.answer(
            "curate_set.html",
            status=status,
            detail=detail,
            path=set_path(name),
            agreements={
                task: agreement for task, agreement in agreements.items() if agreement is not None
            },
            measures=MEASURES,
            organiser=caller_of(request).organiser,
            refused=refused,
        )

    async def _agreement(
        self, request: web.Request, name: str, task: str
    ) -> SetAgreement | str | None:
        """Return the agreement on a task, or why there is none; None for who may not see it."""
        try:
            query = TaskOfSet(set=name, task=task)
            return await self.console.ask(request, set_agreement.get_agreement, query)
        except RefusedError as error:
            if error.refusal is Refusal.STATE:
                return in_words(error)
            if error.refusal is not Refusal.NOT_YOURS:
                raise
            return None

    async def open(self, request: web.Request) -> web.Response:
        """Lead to the viewer's curation of an article."""
        name, submitted = request.match_info["set"], await posted(request)
        query = ArticleOfSet(set=name, article=str(submitted.get("article", "")))
        try:
            detail = await self.console.ask(request, set_seats.open_, query)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._show(request, in_words(refused), refused.refusal)
        raise web.HTTPSeeOther(desk_path(detail.curation))

    # -- adjudication ----------------------------------------------------------------------------

    async def adjudicate(self, request: web.Request) -> web.Response:
        """Answer with the disagreements on a task, side by side."""
        return await self._adjudicate(request)

    async def _adjudicate(
        self, request: web.Request, refused: str = "", status: int = 200
    ) -> web.Response:
        name = request.match_info["set"]
        detail = await self.console.ask(request, curation_sets.get, OneSet(set=name))
        task = request.query.get("task", detail.tasks[0])
        ruled = "ruled" in request.query
        query = {"set": name, "task": task, "ruled": ruled, "limit": SHOWN}
        disagreements: SetDisagreements = await self.console.submit(
            request,
            set_agreement.get_disagreements,
            {**query, "since": request.query.get("since", "0")},
        )
        return self.console.answer(
            "curate_adjudicate.html",
            status=status,
            detail=detail,
            path=set_path(name),
            task=task,
            ruled=ruled,
            found=disagreements,
            choices=CHOICES,
            refused=refused,
        )

    async def rule(self, request: web.Request) -> web.Response:
        """Rule on a disagreement, and lead back to the others."""
        name, submitted = request.match_info["set"], await posted(request)
        values: dict[str, Any] = {
            key: str(submitted.get(key, "")) for key in ("task", "article", "choice")
        }
        values |= {
            "set": name,
            "item": tuple(filter(None, str(submitted.get("item", "")).split(","))),
        }
        try:
            await self.console.submit(request, set_agreement.rule, values)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._show(request, in_words(refused), refused.refusal)
        back = {"task": values["task"]} | ({"ruled": "1"} if submitted.get("ruled") else {})
        raise web.HTTPSeeOther(f"{set_path(name)}/adjudicate?{urlencode(back)}")

    # -- gold ------------------------------------------------------------------------------------

    async def preview(self, request: web.Request) -> web.Response:
        """Begin to look at what the gold of a set would change, and lead there."""
        return await self._begin(request, set_gold.preview)

    async def publish(self, request: web.Request) -> web.Response:
        """Begin to set a set's gold, and lead to its version."""
        return await self._begin(request, set_gold.publish)

    async def _begin(
        self, request: web.Request, operation: AskedOperation[NewGoldOfSet, JobDetail]
    ) -> web.Response:
        submitted = await posted(request)
        new_gold = NewGoldOfSet(
            set=request.match_info["set"],
            task=str(submitted.get("task", "")),
            partial="partial" in submitted,
        )
        outcome = await tried(self.console.ask(request, operation, new_gold))
        if isinstance(outcome, RefusedError):
            return await self._show(request, in_words(outcome), outcome.refusal)
        raise web.HTTPSeeOther(await soon(self.console, request, outcome))


def set_path(name: str) -> str:
    """Return the address of a set's page."""
    return f"/curate/sets/{quote(name, safe='')}"
