"""A curation's page: the article beside its candidates, and the forms for who has no scripts.

With scripts, decisions go to `Curation.append` as events; without, each comes by a form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aiohttp import web
from msgspec import to_builtins

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import psi_mi
from metaserver.curation.completeness import MissingField
from metaserver.curation.decisions import DecisionKind
from metaserver.curation.experiments import HOSTS, MOST_FEATURES, Experiment, Feature, Participant
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.operations import curation_events, curation_exports, curations, requests
from metaserver.curation.operations.curation_events import CurationBatch, LoggedEvent, LogQuery
from metaserver.curation.operations.curation_view import CurationDetail
from metaserver.curation.operations.curations import NewCuration, OneCuration, Submission
from metaserver.curation.operations.requests import RequestDetail, RequestQuery
from metaserver.curation.pages.acts import event_of, experiments_of
from metaserver.curation.pages.likelihood import likelihood
from metaserver.curation.pages.rows import CandidateRow, marked_text, rows_of
from metaserver.curation.psi_mi import METHOD, ROOTS, TYPE, Term
from metaserver.operations import releases
from metaserver.operations.releases import EntrySearch
from metaserver.uniprot import NamedEntry
from metaserver.web.access.aside import LARGE, aside
from metaserver.web.access.refusals import in_words
from metaserver.web.ui.console import ConsoleContext, posted, redisplayed
from metaserver.web.ui.formatting import element_id
from scoring import Task


class PageCommand(NamedTuple):
    """A command: its name in the scripts, its button, its keys as people read them, its help."""

    name: str
    label: str
    keys: tuple[str, ...]
    help: str


COMMANDS: Sequence[PageCommand] = (
    PageCommand("accept", "Accept", ("a", "Enter"), "accept, and go on to the next"),
    PageCommand("reject", "Reject", ("x",), "reject, and go on to the next"),
    PageCommand("reason", "Reject with a reason", ("r",), "reject with a reason, by a letter"),
    PageCommand(
        "pairs", "Its pairs too", ("X",), "reject the pairs of the protein just rejected (Shift+x)"
    ),
    PageCommand("undecide", "Leave undecided", ("0",), "take the decision back"),
    PageCommand("undo", "Undo", ("u",), "undo, to any depth"),
    PageCommand("redo", "Redo", ("U",), "redo (Shift+u)"),
    PageCommand("next", "Next", ("j",), "next undecided candidate"),
    PageCommand("previous", "Previous", ("k",), "previous undecided candidate"),
    PageCommand("down", "Down", ("↓",), "next row, decided or not"),
    PageCommand("up", "Up", ("↑",), "previous row, decided or not"),
    PageCommand("mention", "Next mention", ("n",), "next mention in the article"),
    PageCommand("back", "Previous mention", ("p",), "previous mention in the article"),
    PageCommand(
        "evidence", "Evidence", ("e",), "take the selected words, or the mention's sentence"
    ),
    PageCommand("quote", "Quote by number", ("1…9",), "take a shown sentence, or leave it out"),
    PageCommand("species", "Other species", ("s",), "the same protein of another species"),
    PageCommand("add", "Add", ("+", "/"), "add a protein, by name or accession"),
    PageCommand(
        "pair", "Pair", ("m",), "add a pair: mark two proteins, or choose them in the list of pairs"
    ),
    PageCommand("method", "Method", ("d",), "interaction detection method of a pair"),
    PageCommand(
        "another", "Another method", ("D",), "one more experiment, by its method (Shift+d)"
    ),
    PageCommand("type", "Type", ("y",), "interaction type of a pair; else it follows the method"),
    PageCommand("figure", "Figure", ("#",), "figure or table of the pair's last experiment"),
    PageCommand(
        "negative",
        "No interaction",
        ("!",),
        "the pair's last experiment showed no interaction, or did",
    ),
    PageCommand(
        "same", "Same as last", ("=",), "method, host, figure and roles as of the pair before"
    ),
    PageCommand("form", "Experiments", ("f",), "all experiments of a pair, on a page of their own"),
    PageCommand("relevant", "Article relevant", ("t",), "the article is relevant, not, undecided"),
    PageCommand("note", "Note", ("o",), "a note on the candidate"),
    PageCommand("why", "Why", ("w",), "what speaks for it and against it"),
    PageCommand("renew", "New answers", ("g",), "rank the undecided below again"),
    PageCommand("task", "Next task", ("i",), "from proteins to pairs to the article's class"),
    PageCommand("help", "Keys", ("?",), "this list"),
    PageCommand("submit", "Submit", ("Ctrl+Enter",), "finish: undecided ones are listed first"),
)

REASONS: Sequence[tuple[str, str]] = (
    ("w", "wrong species"),
    ("e", "no experiment"),
    ("f", "family"),
    ("n", "not a protein"),
    ("o", "other"),
)
"""Reasons for a rejection, each with its letter."""


PAGE = 1_000
"""Events that are read at once."""
LINE = 80  # characters
FOUND, MOST_LETTERS = 20, 200
"""The most entries that a search shows, and letters that it takes."""


@dataclass(frozen=True, kw_only=True)
class DeskPages:
    """The curation handlers."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/curate/curations/{curation:[0-9a-f]{16}}"
        return [
            web.get("/curate/{request:[0-9a-f]{16}}", self.open),
            web.get(path, self.show),
            web.post(f"{path}/decide", self.decide),
            web.get(f"{path}/experiments/{{item:[^/]{{1,80}}}}", self.experiments),
            web.post(f"{path}/experiments/{{item:[^/]{{1,80}}}}", self.set_experiment),
            web.get(f"{path}/submit", self.ask_submit),
            web.post(f"{path}/submit", self.submit),
            web.post(f"{path}/reopen", self.reopen),
            web.post(f"{path}/forget", self.forget),
        ]

    async def open(self, request: web.Request) -> web.Response:
        """Redirect to a request's curation, which is begun if there is none yet."""
        query = NewCuration(request=request.match_info["request"])
        detail = await self.console.ask(request, curations.open_, query)
        raise web.HTTPSeeOther(desk_path(detail.curation))

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the page, with the answers that have come since it was made."""
        detail = await self._detail(request)
        is_open = detail.own and detail.state is CurationStanding.OPEN
        if is_open and detail.newest_version > detail.version:
            query = OneCuration(curation=detail.curation)
            detail = await self.console.ask(request, curations.refresh, query)
        return await self._page(request, detail)

    async def _detail(self, request: web.Request) -> CurationDetail:
        query = OneCuration(curation=request.match_info["curation"])
        return await self.console.ask(request, curations.get, query)

    async def _page(
        self, request: web.Request, detail: CurationDetail, refused: str = "", status: int = 200
    ) -> web.Response:
        large = _is_large(detail)
        log = await self._log(request, detail)
        request_detail = await self._request(request, detail)
        entries_found = await self._found(request, detail)

        def drawn() -> web.Response:
            return self.console.answer(
                "curate_desk.html",
                status=status,
                detail=detail,
                path=desk_path(detail.curation),
                rows=rows_of(detail),
                article=marked_text(detail),
                log=[{"seq": entry.seq, "event": to_builtins(entry.event)} for entry in log],
                asked=request_detail,
                refused=refused,
                found=entries_found,
                commands=COMMANDS,
                reasons=REASONS,
                least=likelihood(0.0),
                methods=psi_mi.terms().branch(METHOD),
                types=psi_mi.terms().branch(TYPE),
                features=features_in(detail),
                formats=FORMATS,
                may_decide=detail.own and detail.state is CurationStanding.OPEN,
                find=request.query.get("find", ""),
                release_name=plain_release(detail.release),
                now=self.console.hub.clock(),
            )

        return await aside(request, large, drawn)

    async def _log(self, request: web.Request, detail: CurationDetail) -> Sequence[LoggedEvent]:
        events: list[LoggedEvent] = []
        while len(events) < detail.seen:
            query = LogQuery(curation=detail.curation, since=len(events), limit=PAGE)
            page = await self.console.ask(request, curation_events.events, query)
            if not page:
                break
            events += page
        return events[: detail.seen]

    async def _request(self, request: web.Request, detail: CurationDetail) -> RequestDetail | None:
        """Return a curation's request; None if it is deleted, or never was."""
        if not detail.request:
            return None
        try:
            query = RequestQuery(request=detail.request)
            return await self.console.ask(request, requests.get, query)
        except RefusedError as error:
            if error.refusal is not Refusal.UNKNOWN:
                raise
            return None

    async def _found(
        self, request: web.Request, detail: CurationDetail
    ) -> Sequence[NamedEntry] | str:
        """Return the entries that are looked for (`?find=`), or why there are none."""
        text = request.query.get("find", "").strip()[:MOST_LETTERS]
        if not text:
            return ()
        release = plain_release(detail.release)
        try:
            query = EntrySearch(release=release, text=text, limit=FOUND)
            return await self.console.ask(request, releases.search, query)
        except RefusedError as error:
            return in_words(error)

    # -- what is done ----------------------------------------------------------------------------

    async def decide(self, request: web.Request) -> web.Response:
        """Add a form's event, and lead to the next candidate without a decision."""
        submitted = await posted(request)
        detail = await self._detail(request)
        try:
            event = await aside(request, _is_large(detail), event_of, submitted, detail)
            batch = CurationBatch(curation=detail.curation, seen=detail.seen, events=(event,))
            await self.console.ask(request, curation_events.append, batch)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._page(request, detail, in_words(refused), refused.refusal)
        if event.kind is DecisionKind.PUBLICATION:
            raise web.HTTPSeeOther(f"{desk_path(detail.curation)}/submit")
        now = await self._detail(request)
        rows = await aside(request, _is_large(now), rows_of, now)
        after = _after(rows, str(submitted.get("row", "")))
        raise web.HTTPSeeOther(f"{desk_path(detail.curation)}#{after}")

    async def experiments(self, request: web.Request) -> web.Response:
        """Answer with the experiments of a pair, a form each, and a form for another."""
        return await self._experiments(request, await self._detail(request))

    async def _experiments(
        self, request: web.Request, detail: CurationDetail, refused: str = "", status: int = 200
    ) -> web.Response:
        item = tuple(request.match_info["item"].split(","))
        known = experiments_in(detail, item)
        others = [one for one in detail.decisions if one.item != item and one.experiments]
        last = max(others, key=lambda one: one.at, default=None)
        new = last.experiments[-1].like(item) if last else Experiment()
        terms = psi_mi.terms()
        return self.console.answer(
            "curate_experiments.html",
            status=status,
            detail=detail,
            path=desk_path(detail.curation),
            item=item,
            names=[
                (detail.proteins[one].entry_name if one in detail.proteins else "") or one
                for one in item
            ],
            experiments=[
                (one, (*one.taking_part(item), Participant(accession=""))) for one in (*known, new)
            ],
            known=len(known),
            new_feature=Feature(type=""),
            most_features=MOST_FEATURES,
            said={key: entry.term.name for key, entry in terms.entries.items()},
            like=last is not None,
            hosts=HOSTS,
            lists={name: terms.branch(root) for name, root in ROOTS.items()},
            refused=refused,
        )

    async def set_experiment(self, request: web.Request) -> web.Response:
        """Keep, add or remove one experiment of a pair, and show them again."""
        sent = {**await posted(request), "item": request.match_info["item"]}
        detail = await self._detail(request)
        item = tuple(request.match_info["item"].split(","))
        try:
            event = experiments_of(sent, experiments_in(detail, item))
            batch = CurationBatch(curation=detail.curation, seen=detail.seen, events=(event,))
            await self.console.ask(request, curation_events.append, batch)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._experiments(request, detail, in_words(refused), refused.refusal)
        row = element_id("c-IPT", ",".join(item))
        back = f"{desk_path(detail.curation)}#{row}"
        raise web.HTTPSeeOther(request.path if {"stay", "remove"} & sent.keys() else back)

    async def ask_submit(self, request: web.Request) -> web.Response:
        """Answer with what has no decision yet, and the button that submits."""
        return await self._submission(request, await self._detail(request))

    async def _submission(
        self, request: web.Request, detail: CurationDetail, refused: str = "", status: int = 200
    ) -> web.Response:
        undecided = {(item.task, item.item) for item in detail.undecided}
        groups = await aside(request, _is_large(detail), rows_of, detail)
        rows = [
            row for group in groups.values() for row in group if (row.task, row.item) in undecided
        ]
        return self.console.answer(
            "curate_submit.html",
            status=status,
            detail=detail,
            path=desk_path(detail.curation),
            rows=rows,
            missing=await self._missing(request, detail, groups),
            refused=refused,
        )

    async def _missing(
        self,
        request: web.Request,
        detail: CurationDetail,
        known: Mapping[str, Sequence[CandidateRow]],
    ) -> Sequence[tuple[CandidateRow | None, Sequence[MissingField]]]:
        """Return what MIMIx and IMEx miss, of the article (None) and of each pair."""
        asked = OneCuration(curation=detail.curation)
        rows = {row.item: row for row in known[str(Task.IPT)]}
        found: dict[tuple[str, ...], list[MissingField]] = {}
        for one in await self.console.ask(request, curation_exports.check, asked):
            found.setdefault(one.item, []).append(one)
        return [(rows.get(item), fields) for item, fields in found.items()]

    async def submit(self, request: web.Request) -> web.Response:
        """Submit, with what is left undecided if the form says so."""
        submitted = await posted(request)
        detail = await self._detail(request)
        try:
            submission = Submission(curation=detail.curation, undecided="undecided" in submitted)
            await self.console.ask(request, curations.submit, submission)
        except RefusedError as error:
            refused = redisplayed(error)
            return await self._submission(request, detail, in_words(refused), refused.refusal)
        raise web.HTTPSeeOther(desk_path(detail.curation))

    async def reopen(self, request: web.Request) -> web.Response:
        """Open a submitted curation for further decisions."""
        query = OneCuration(curation=request.match_info["curation"])
        try:
            await self.console.ask(request, curations.reopen, query)
        except RefusedError as error:
            if error.refusal is not Refusal.STATE:
                raise
        raise web.HTTPSeeOther(desk_path(query.curation))

    async def forget(self, request: web.Request) -> web.Response:
        """Delete a curation with all of its decisions."""
        query = OneCuration(curation=request.match_info["curation"])
        await self.console.ask(request, curations.forget, query)
        raise web.HTTPSeeOther("/curate")


def _is_large(detail: CurationDetail) -> bool:
    """Return whether the work on a curation takes long; an event is as much as a line of text."""
    lines = detail.seen + len(detail.decisions)
    return len(detail.text) + len(detail.spans) + LINE * lines > LARGE // 4


def plain_release(name: str) -> str:
    """Return the release of a vocabulary's name, without the policies in it."""
    return name.partition("+")[0]


def desk_path(curation: str) -> str:
    """Return the address of a curation's page."""
    return f"/curate/curations/{curation}"


def experiments_in(detail: CurationDetail, item: tuple[str, ...]) -> Sequence[Experiment]:
    """Return the experiments that a pair has."""
    pairs = (one for one in detail.decisions if (one.task, one.item) == (Task.IPT, item))
    return next((one.experiments for one in pairs), ())


def features_in(detail: CurationDetail) -> Sequence[Term]:
    """Return the types of the features that experiments have."""
    return list(
        dict.fromkeys(
            feature.term
            for decided in detail.decisions
            for experiment in decided.experiments
            for one in experiment.participants
            for feature in one.features
            if feature.term.id
        )
    )


def _after(groups: Mapping[str, Sequence[CandidateRow]], last: str) -> str:
    """Return the row's id after `last` that is undecided; its own if there is none."""
    rows = [row for group in groups.values() for row in group]
    places = [place for place, row in enumerate(rows) if row.id == last]
    if not places:
        return "top"
    later = rows[places[0] + 1 :]
    return next((row.id for row in later if row.decision == "undecided"), last)
