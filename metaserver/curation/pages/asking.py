"""Asking: the form, and a curator's articles with their states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from aiohttp import web
from msgspec import Meta
from multidict import MultiDict, MultiMapping

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.publications import plain_id
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.operations import curation_sets, curations, requests
from metaserver.curation.operations.curation_view import CurationSummary
from metaserver.curation.operations.curations import CurationList
from metaserver.curation.operations.requests import (
    NewRequest,
    OneRequest,
    RequestDetail,
    RequestList,
    RequestSummary,
)
from metaserver.curation.pages.desk import desk_path
from metaserver.curation.pages.sets import set_path
from metaserver.operations.table import Nothing
from metaserver.tasks.plugin import answered_tasks
from metaserver.web.access.bodies import upload
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, no_file, sent_files, tried
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
OF_ONE, OF_ALL = ("pmid", "pmcid", "doi", "title"), ("tasks", "servers", "deadline")
"""Fields that say something of one article, and of all that a form asks about."""
BLANKS = re.compile(r"[\s,;]+")
ENDS = re.compile(r"\n|[,;](?=\s)|(?<=[0-9])[ \t](?=[0-9])")
"""What separates identifiers: a DOI may have a comma in it, `PMID: 1` a blank."""
SHOWN, MOST_SEARCHED, MOST_ARTICLES = 100, 200, 40
"""The most articles that are listed, characters of what is searched, and articles of a form."""
LONGEST_LIST = 16_000
"""The most characters of a list of identifiers, or of servers."""
KEPT = frozenset({Refusal.TOO_LARGE, Refusal.TOO_MANY})
"""Refusals after which the form is shown again, besides those of what is in it."""


class ArticlesForm(NewRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form that asks about one article or several, by an identifier a line."""

    article: Annotated[str, Meta(max_length=LONGEST_LIST)] = ""


class LeftOut(NamedTuple):
    """An article that was not asked about: its file or identifier, and why."""

    name: str
    reason: str


def wording() -> dict[str, Wording]:
    """Return what the form says beyond what the operation does."""
    return {
        "text": Wording(label="Text", kind="long", help="Paste it: the title in the first line."),
        "content": Wording(
            label="or files",
            kind="files",
            help="JATS or a publisher's XML, PubMed, BioC or plain text, also gzipped; an article"
            " each. A PDF is read where the hub has the extra for it: check its columns.",
        ),
        "article": Wording(
            label="or identifiers",
            kind="long",
            help=f"PMIDs, PMCIDs or DOIs, one per line, of closed phases or of the sources that the"
            f" hub knows. At most {MOST_ARTICLES} files and identifiers at a time.",
        ),
        "pmid": Wording(label="PMID", help="Of a text or file, so that its exports have it."),
        "pmcid": Wording(label="PMCID", help="Such as PMC2682512."),
        "doi": Wording(label="DOI", help="Such as 10.1000/182, or its address."),
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

    async def _show(
        self,
        request: web.Request,
        form: Form,
        status: int = 200,
        *,
        left_out: Sequence[LeftOut] = (),
        asked: int = 0,
    ) -> web.Response:
        sets = await self.console.ask(request, curation_sets.list_, Nothing())
        words = request.query.get("words", "").strip()[:MOST_SEARCHED]
        return self.console.answer(
            "curate.html",
            status=status,
            form=form,
            left_out=left_out,
            asked=asked,
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
        for name in ("article", "servers"):
            if (length := len(str(submitted.get(name, "")))) > LONGEST_LIST:
                message = f"{length:,} characters; expected at most {LONGEST_LIST:,}"
                too_long = RefusedError(Refusal.INVALID, message, field=name)
                return await self._show(request, _refused(submitted, too_long), too_long.refusal)
        values, articles = _values(submitted), _articles(submitted)
        if values.get("text") or len(articles) < 2:
            one = articles[0][1] if articles else {}
            outcome = await self._asked(request, values | one)
        elif len(articles) > MOST_ARTICLES:
            message = f"{len(articles)} files and identifiers: at most {MOST_ARTICLES} at a time"
            outcome = RefusedError(Refusal.INVALID, message, field="content")
        elif given := [name for name in OF_ONE if values.get(name)]:
            message = "it is of one article: leave it out for several"
            outcome = RefusedError(Refusal.INVALID, message, field=given[0])
        else:
            return await self._ask_several(request, submitted, articles)
        if isinstance(outcome, RefusedError):
            return await self._show(request, _refused(submitted, outcome), status=outcome.refusal)
        raise web.HTTPSeeOther(f"/curate/{outcome.request}")

    async def _ask_several(
        self,
        request: web.Request,
        submitted: MultiMapping[Any],
        articles: Sequence[tuple[str, dict[str, Any]]],
    ) -> web.Response:
        """Ask about each; lead to the list, or name those that were refused, with their reasons.

        Their identifiers stay in the form.
        """
        values, left_out, identifiers = _values(submitted), list[LeftOut](), []
        for name, article in articles:
            is_empty = article.get("content") == b""
            outcome = no_file() if is_empty else await self._asked(request, values | article)
            if isinstance(outcome, RefusedError):
                if outcome.field in OF_ALL:
                    form = _refused(submitted, outcome)
                    return await self._show(request, form, outcome.refusal)
                left_out.append(LeftOut(name, in_words(outcome)))
                identifiers += [article["article"]] if "article" in article else []
        if not left_out:
            raise web.HTTPSeeOther("/curate")
        kept = MultiDict((name, value) for name, value in submitted.items() if name != "article")
        kept["article"] = "\n".join(identifiers)
        form, asked = _form().form(kept), len(articles) - len(left_out)
        return await self._show(request, form, Refusal.INVALID, left_out=left_out, asked=asked)

    async def _asked(
        self, request: web.Request, values: Mapping[str, Any]
    ) -> RequestDetail | RefusedError:
        """Ask about an article; return the request, or why it is refused."""
        try:
            return await tried(self.console.submit(request, requests.ask, values), FIELDS)
        except RefusedError as error:
            if error.refusal not in KEPT:
                raise
            return error

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
    return OperationForm(request=ArticlesForm, names=FIELDS, wording=wording(), name="ask")


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


def _articles(submitted: MultiMapping[Any]) -> Sequence[tuple[str, dict[str, Any]]]:
    """Return the files and identifiers of a form, each with its values of a request."""
    files = [
        (file.source, {"content": file.content, "source": file.source or "article.txt"})
        for file in sent_files(submitted)
    ]
    parts = ENDS.split(str(submitted.get("article", "")))
    names = filter(None, (part.strip(" \t\r,;") for part in parts))
    return [
        *files,
        *((name, {"article": name}) for name in {plain_id(n): n for n in names}.values()),
    ]


def _names(submitted: MultiMapping[Any]) -> tuple[str, ...]:
    return tuple(
        name for name in BLANKS.split(str(submitted.get("servers", ""))[:LONGEST_LIST]) if name
    )


def _values(submitted: MultiMapping[Any]) -> dict[str, Any]:
    values = _form().values(submitted)
    return values | {"article": "", "servers": _names(submitted)}
