"""Asking: the form, and a curator's articles with their states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web
from multidict import MultiDict, MultiMapping

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.operations import curation_sets, curations, requests
from metaserver.curation.operations.curation_view import CurationSummary
from metaserver.curation.operations.curations import CurationList
from metaserver.curation.operations.requests import (
    NewRequest,
    OneRequest,
    RequestList,
    RequestSummary,
)
from metaserver.curation.pages.desk import desk_path
from metaserver.curation.pages.sets import set_path
from metaserver.operations.table import Nothing
from metaserver.tasks.plugin import answered_tasks
from metaserver.web.access.bodies import upload
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, sent_file, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.live import LiveParts

FIELDS = (
    "text",
    "content",
    "article",
    "pmid",
    "pmcid",
    "doi",
    "title",
    "tasks",
    "servers",
    "deadline",
)
BLANKS = re.compile(r"[\s,;]+")
SHOWN, MOST_SEARCHED = 100, 200
"""The most articles that are listed, and characters of what is searched."""


def wording() -> dict[str, Wording]:
    """Return what the form says beyond what the operation does."""
    return {
        "text": Wording(label="Text", kind="long", help="Paste it: the title in the first line."),
        "content": Wording(
            label="or a file",
            kind="file",
            help="JATS or a publisher's XML, PubMed, BioC or plain text, also gzipped; one article."
            " A PDF is read where the hub has the extra for it: check its columns.",
        ),
        "article": Wording(
            label="or an identifier",
            help="A PMID, PMCID or DOI, of a closed phase or of the sources that the hub knows.",
        ),
        "pmid": Wording(label="PMID", help="Of a text or file, so that its exports have it."),
        "pmcid": Wording(label="PMCID"),
        "doi": Wording(label="DOI"),
        "title": Wording(help="For your list; without one it is that of the article."),
        "tasks": Wording(
            choices=[(str(name), str(name)) for name in answered_tasks()], help="None: all."
        ),
        "servers": Wording(kind="text", help="Their names, with blanks between them. None: all."),
        "deadline": Wording(
            label="Deadline, seconds",
            help="Answers that come later are used too, and marked late.",
        ),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedWork:
    """An article in the list: its request, its curation, or both.

    `state` is that of the request, empty if it is deleted; `curation` says how far the decisions
    are, `same_as` is the page of the same article, asked before.
    """

    path: str
    article: str
    title: str
    at: float
    state: str = ""
    curation: CurationSummary | None = None
    same_as: str = ""

    @property
    def submitted(self) -> bool:
        """True if its files can be taken away."""
        return self.curation is not None and self.curation.state is CurationStanding.SUBMITTED


@dataclass(frozen=True, kw_only=True)
class AskingPages:
    """The handlers of asking."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/curate", self.show),
            web.post("/curate", self.ask),
            web.get("/curate/events", self.events, allow_head=False),
            web.post("/curate/{request:[0-9a-f]{16}}/cancel", self.cancel),
            web.post("/curate/{request:[0-9a-f]{16}}/forget", self.forget),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the form and the requests so far."""
        return await self._show(request, _form().form())

    async def _show(self, request: web.Request, form: Form, status: int = 200) -> web.Response:
        sets = await self.console.ask(request, curation_sets.list_, Nothing())
        words = request.query.get("words", "").strip()[:MOST_SEARCHED]
        return self.console.answer(
            "curate.html",
            status=status,
            form=form,
            listed=await self._listed(request, words),
            words=words,
            sets=[(set_path(set_.set), set_) for set_ in sets],
            formats=FORMATS,
        )

    async def _listed(self, request: web.Request, words: str = "") -> Sequence[ListedWork]:
        asked = RequestList(words=words, limit=SHOWN)
        requested = await self.console.ask(request, requests.list_, asked)
        begun = CurationList(words=words, limit=SHOWN)
        opened = await self.console.ask(request, curations.list_, begun)
        return works(requested, opened)

    @upload
    async def ask(self, request: web.Request) -> web.Response:
        """Ask, and lead to the article's page; or show what is wrong."""
        submitted = await posted(request)
        outcome = await tried(
            self.console.submit(request, requests.ask, _values(submitted)), FIELDS
        )
        if isinstance(outcome, RefusedError):
            return await self._show(request, _refused(submitted, outcome), status=outcome.refusal)
        raise web.HTTPSeeOther(f"/curate/{outcome.request}")

    async def cancel(self, request: web.Request) -> web.Response:
        """Ask no more servers about an article; an ended request stays as it is."""
        query = OneRequest(request=request.match_info["request"])
        try:
            await self.console.ask(request, requests.cancel, query)
        except RefusedError as error:
            if error.refusal is not Refusal.STATE:
                raise
        raise web.HTTPSeeOther(f"/curate/{query.request}")

    async def forget(self, request: web.Request) -> web.Response:
        """Delete a request, with its text and its answers."""
        query = OneRequest(request=request.match_info["request"])
        await self.console.ask(request, requests.forget, query)
        raise web.HTTPSeeOther("/curate")

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of the list."""
        caller = caller_of(request)
        key = f"requests {caller.organiser or caller.token_id}"

        async def parts() -> LiveParts:
            listed = await self._listed(request)
            html = self.console.templates.part("curate_parts.html", "works", listed)
            return LiveParts(html={"works": html})

        return await self.console.follow(request, key, parts)


def works(
    requests_listed: Sequence[RequestSummary], curations_listed: Sequence[CurationSummary]
) -> Sequence[ListedWork]:
    """Return requests with their curations, and curations whose requests are gone, newest first."""
    by_request = {curation.request: curation for curation in curations_listed if curation.request}
    there = {request.request for request in requests_listed}
    listed = []
    for request in requests_listed:
        curation = by_request.pop(request.request, None)
        listed.append(
            ListedWork(
                path=desk_path(curation.curation) if curation else f"/curate/{request.request}",
                article=request.article,
                title=request.title,
                at=request.asked_at,
                state=request.state,
                curation=curation,
                same_as=f"/curate/{request.same_as}" if request.same_as in there else "",
            )
        )
    rest = [
        *by_request.values(),
        *(curation for curation in curations_listed if not curation.request),
    ]
    listed += [
        ListedWork(
            path=desk_path(curation.curation),
            article=curation.article,
            title=curation.title,
            at=curation.opened_at,
            curation=curation,
        )
        for curation in rest
    ]
    return sorted(listed, key=lambda work: -work.at)[:SHOWN]


def _form() -> OperationForm:
    return OperationForm(request=NewRequest, names=FIELDS, wording=wording(), name="ask")


def _refused(submitted: MultiMapping[Any], refused: RefusedError) -> Form:
    """Return the form with what was sent in it, the names of servers as they were written."""
    each = MultiDict((name, value) for name, value in submitted.items() if name != "servers")
    for name in _names(submitted):
        each.add("servers", name)
    form = _form().form(each, refused)
    written = (str(submitted.get("servers", "")),)
    fields = [
        replace(field, given=written) if field.name == "servers" else field for field in form.fields
    ]
    return replace(form, fields=fields)


def _names(submitted: MultiMapping[Any]) -> tuple[str, ...]:
    return tuple(name for name in BLANKS.split(str(submitted.get("servers", ""))) if name)


def _values(submitted: MultiMapping[Any]) -> dict[str, Any]:
    values = _form().values(submitted)
    file = sent_file(submitted)
    values["content"], values["source"] = file.content, file.source or "article.txt"
    values["servers"] = _names(submitted)
    return values
