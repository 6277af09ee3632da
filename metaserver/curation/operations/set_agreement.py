"""The agreement of a set's curators, their disagreements, and the rulings on these."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation.adjudication import Disagreement, RulingChoice
from metaserver.curation.agreement import ArticleAgreement
from metaserver.curation.decisions import CurationState, Decision, ItemDecision, fold
from metaserver.curation.experiments import Place
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.operations.curation_sets import (
    OneSet,
    adjudicates,
    reads_curations,
    seen_set,
)
from metaserver.curation.operations.curation_view import dated
from metaserver.curation.parts import CurationParts
from metaserver.curation.proteins import curated
from metaserver.curation.sets import (
    SetArticle,
    agreement,
    open_questions,
)
from metaserver.curation.store import curation_sets
from metaserver.curation.store.curation_sets import RulingEntry, SeatEntry, SetEntry
from metaserver.curation.store.curations import EventEntry
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, require_one_of
from metaserver.operations.table import operation
from scoring.agreement import Estimate

MOST_SHOWN = 200
MOST_WORDS = 2_000
"""The most disagreements of an answer, and characters of evidence of each side of one."""
LONGEST_WORDS = 500

SetTask = Annotated[str, Meta(max_length=16, description="ACT, INT or IPT")]


class TaskOfSet(OneSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task of a set."""

    task: SetTask


class DisagreementQuery(TaskOfSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Disagreements on a task, from a place on; `ruled`: also those with a ruling."""

    since: Annotated[int, Meta(ge=0, le=GREATEST, description="How many to skip")] = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_SHOWN, description="How many to return at most")] = 100
    ruled: Annotated[bool, Meta(description="Include those with a ruling")] = True


class NewRuling(TaskOfSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ruling on a disagreement; the item of ACT is empty."""

    article: Annotated[str, Meta(min_length=1, max_length=200, description="The article's id")]
    choice: Annotated[
        RulingChoice, Meta(description="Agree with the first or second curator, both, or neither")
    ]
    item: Annotated[
        tuple[Annotated[str, Meta(max_length=32)], ...],
        Meta(max_length=2, description="One accession (INT), or two (IPT)"),
    ] = ()


class EstimateDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A measure with its 95 % interval; null if it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class PairDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement of two curators on the articles that both have submitted."""

    first: str
    second: str
    articles: int
    measures: Mapping[str, EstimateDetail]


class SetAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement of a set's curators on a task, so far.

    `pairs` have `f_score` (pooled items), `macro_f` and `masi`, of IPT `methods_f_score` (pairs
    with methods), of ACT `accuracy` and `cohen_kappa`; `overall` has `krippendorff_alpha`, and
    `decisions_alpha`, that of accepted against rejected by candidate. `articles` begin with those
    of the least agreement.
    """

    set: str
    task: str
    pairs: tuple[PairDetail, ...]
    overall: Mapping[str, EstimateDetail]
    articles: tuple[ArticleAgreement, ...]


class SideOfDisagreement(msgspec.Struct, frozen=True, kw_only=True):
    """One curator's decision on an item, with the words of the text that were given as evidence.

    `experiments` are those of a pair in words, each cut to its first 500 characters. `curation` is
    the curator's own, if the caller may read it.
    """

    curator: str
    curation: str
    decision: Decision
    reason: str
    note: str
    experiments: tuple[str, ...]
    evidence: tuple[str, ...]


class DisagreementDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An item on which two curators differ; the item of ACT is empty, "accepted" is relevant.

    `of_methods`: both accepted the pair, with other methods. `ruling` is empty while there is none.
    """

    article: str
    item: tuple[str, ...]
    first: SideOfDisagreement
    second: SideOfDisagreement
    of_methods: bool
    ruling: str
    adjudicator: str


class SetDisagreements(msgspec.Struct, frozen=True, kw_only=True):
    """The disagreements of a set on a task; `total` of all, `left` without a ruling.

    `proteins` has the names of the accessions in the items.
    """

    set: str
    task: str
    total: int
    left: int
    disagreements: tuple[DisagreementDetail, ...]
    proteins: Mapping[str, CuratedProtein]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetWork:
    """The submitted work of a set, by article in the corpus' order; `seats` are by article."""

    entry: SetEntry
    articles: Sequence[SetArticle]
    seats: Mapping[str, Sequence[SeatEntry]]

    def makes_gold(self, token_id: int | None, article: str) -> bool:
        """Return whether a token is that of one of the two curators who make an article's gold."""
        return token_id in [seat.token_id for seat in self.seats[article][:2]]


@operation("CurationSets.agreement", "GET /curation-sets/{set}/agreement/{task}", Role.CURATOR)
async def get_agreement(hub: HubContext, caller: Caller, request: TaskOfSet) -> SetAgreement:
    """Return how well a set's curators agree so far.

    For organisers and adjudicators and, if the set is not blind, its curators. Articles that the
    caller has not submitted yet are left out.
    """
    work = await compared_work(hub, caller, request)
    agreement_found = await caller.aside(agreement, work.articles, request.task)
    decisions = agreement_found.decisions
    more = {} if decisions is None else {"decisions_alpha": decisions}
    return SetAgreement(
        set=request.set,
        task=request.task,
        pairs=tuple(
            PairDetail(
                first=pair.a,
                second=pair.b,
                articles=pair.articles,
                measures=_estimates(pair.measures),
            )
            for pair in agreement_found.measured.pairs
            if pair.articles
        ),
        overall=_estimates({**agreement_found.measured.overall, **more}),
        articles=tuple(agreement_found.articles),
    )


@operation(
    "CurationSets.disagreements", "GET /curation-sets/{set}/disagreements/{task}", Role.CURATOR
)
async def get_disagreements(
    hub: HubContext, caller: Caller, request: DisagreementQuery
) -> SetDisagreements:
    """Return the disagreements between the first two curators of each article.

    For those who may see the agreement, without articles that they have not submitted yet. In a
    blind set, curators do not see those of their own articles unless they may rule on them.
    """
    work = await compared_work(hub, caller, request)
    questions = await caller.aside(open_questions, work.articles, request.task)
    rulings_made = await rulings_of(hub, work, request.task, questions)
    visible = [
        disagreement for disagreement in questions if _may_see(work, caller, disagreement.article)
    ]
    unruled = [
        disagreement for disagreement in visible if disagreement.question not in rulings_made
    ]
    listed = (visible if request.ruled else unruled)[request.since : request.since + request.limit]
    return SetDisagreements(
        set=request.set,
        task=request.task,
        total=len(visible),
        left=len(unruled),
        disagreements=tuple(
            [
                disagreement
                async for disagreement in _all_shown(hub, caller, work, listed, rulings_made)
            ]
        ),
        proteins=await caller.aside(_names_of, hub, work, listed),
    )


@operation("CurationSets.rule", "POST /curation-sets/{set}/rulings/{task}", Role.CURATOR)
async def rule(hub: HubContext, caller: Caller, request: NewRuling) -> None:
    """Rule on a disagreement, or change a ruling; the adjudicator is neither of the two curators.

    If the set was made with `own`, a curator may rule on own articles too.
    """
    work = await compared_work(hub, caller, request)
    entry = work.entry
    if not adjudicates(entry, caller):
        raise RefusedError(Refusal.NOT_YOURS, "only an adjudicator of this set rules")
    question = request.article, tuple(sorted(request.item))
    questions = await caller.aside(open_questions, work.articles, request.task)
    disagreement = next(
        (disagreement for disagreement in questions if disagreement.question == question), None
    )
    if disagreement is None:
        message = "the two curators do not differ on it, or your own curation is not submitted"
        raise RefusedError(Refusal.UNKNOWN, message, field="item")
    if work.makes_gold(caller.token_id, request.article) and not entry.plan.own:
        message = f"token {caller.token_id} curated these articles: somebody else must adjudicate"
        raise RefusedError(Refusal.NOT_YOURS, message)
    ruling = RulingEntry(
        task=request.task,
        position=work.seats[request.article][0].position,
        item=question[1],
        choice=request.choice.value,
        outcome=disagreement.outcome(request.choice),
        adjudicator=caller.name,
        at=hub.clock(),
    )
    async with hub.store.writing() as connection:
        await curation_sets.rule(connection, entry.id, ruling)
        await audit_log(
            connection,
            caller,
            "curation-sets.rule",
            entry.name,
            task=request.task,
            article=request.article,
            item=list(question[1]),
            choice=request.choice.value,
        )


async def compared_work(hub: HubContext, caller: Caller, request: TaskOfSet) -> SetWork:
    """Return the work of a set for who may compare it; `RefusedError` for others.

    Articles that the caller has still to submit are left out: who saw how others decided on one
    would decide as they did.
    """
    entry = await seen_set(hub, caller, request.set)
    if entry.plan.blind and not adjudicates(entry, caller):
        raise RefusedError(Refusal.NOT_YOURS, "the set is blind: its adjudicators compare")
    work = await load_work(hub, entry, request.task)
    visible = [article for article in work.articles if not _is_to_submit(work, caller, article)]
    return replace(work, articles=visible)


async def load_work(hub: HubContext, entry: SetEntry, task: str) -> SetWork:
    """Return the submitted work of a set for one of its tasks."""
    require_one_of(task, entry.plan.tasks, "task")
    corpus = hub.phase(entry.phase).corpus
    async with hub.store.reading() as connection:
        seats = await curation_sets.seats(connection, entry.id)
        logs = await curation_sets.finished_logs(connection, entry.id)
    states = await asyncio.to_thread(_states, logs)
    names = _names(seats)
    by_position: dict[int, list[SeatEntry]] = {}
    for seat in seats:
        by_position.setdefault(seat.position, []).append(seat)
    return SetWork(
        entry=entry,
        articles=[
            SetArticle(
                article=corpus.ids[position],
                curators={seat.seat: names[seat.token_id] for seat in of_it},
                states={
                    seat.seat: states[seat.curation] for seat in of_it if seat.curation in states
                },
            )
            for position, of_it in by_position.items()
        ],
        seats={corpus.ids[position]: of_it for position, of_it in by_position.items()},
    )


async def rulings_of(
    hub: HubContext, work: SetWork, task: str, disagreements: Iterable[Disagreement]
) -> Mapping[tuple[str, tuple[str, ...]], tuple[RulingChoice, str]]:
    """Return the rulings on disagreements by article and item: the choice, and who made it.

    One is left out that would decide otherwise than when it was made: a curator whom it follows has
    changed the decision since.
    """
    corpus = hub.phase(work.entry.phase).corpus
    async with hub.store.reading() as connection:
        stored = await curation_sets.rulings(connection, work.entry.id, task)
    by_question = {(str(corpus.ids[ruling.position]), ruling.item): ruling for ruling in stored}
    rulings = {}
    for disagreement in disagreements:
        ruling = by_question.get(disagreement.question)
        if ruling and disagreement.outcome(choice := RulingChoice(ruling.choice)) == ruling.outcome:
            rulings[disagreement.question] = choice, ruling.adjudicator
    return rulings


def _states(logs: Mapping[str, Sequence[EventEntry]]) -> Mapping[str | None, CurationState]:
    return {key: fold([dated(event) for event in events]) for key, events in logs.items()}


def _names(seats: Sequence[SeatEntry]) -> Mapping[int, str]:
    """Return a name of each curator; of two with the same label, with their tokens' ids."""
    labels = {seat.token_id: seat.label for seat in seats}
    times = Counter(labels.values())
    return {
        token_id: label if label and times[label] == 1 else f"{label} #{token_id}".strip()
        for token_id, label in labels.items()
    }


def _is_to_submit(work: SetWork, caller: Caller, article: SetArticle) -> bool:
    """Return whether a caller has an article that is not submitted yet."""
    return any(
        seat.token_id == caller.token_id and seat.seat not in article.states
        for seat in work.seats[article.article]
    )


def _may_see(work: SetWork, caller: Caller, article: str) -> bool:
    """Return whether a caller may see the two decisions on an article."""
    plan = work.entry.plan
    return plan.own or not plan.blind or not work.makes_gold(caller.token_id, article)


def _names_of(
    hub: HubContext, work: SetWork, listed: Sequence[Disagreement]
) -> Mapping[str, CuratedProtein]:
    """Return the names of the proteins in disagreements."""
    vocabulary = hub.phase(work.entry.phase).vocabulary
    accessions = dict.fromkeys(one for disagreement in listed for one in disagreement.item)
    entries = hub.part(CurationParts).proteins(vocabulary.name).entries(list(accessions))
    return {accession: curated(entry) for accession, entry in entries.items()}


async def _all_shown(
    hub: HubContext,
    caller: Caller,
    work: SetWork,
    listed: Sequence[Disagreement],
    rulings_made: Mapping[tuple[str, tuple[str, ...]], tuple[RulingChoice, str]],
) -> AsyncIterator[DisagreementDetail]:
    """Yield disagreements with their words; of texts, a single text is in memory at a time."""
    corpus = hub.phase(work.entry.phase).corpus
    by_article = {article.article: article for article in work.articles}
    for article, of_it in groupby(listed, key=lambda disagreement: disagreement.article):
        seats = work.seats[article]
        at = seats[0].position
        [text] = await hub.store.article_texts(corpus.id, range(at, at + 1))
        is_judge = reads_curations(work.entry, caller, [seat.token_id for seat in seats])
        keys = [seat.curation if is_judge else "" for seat in seats[:2]]
        for disagreement in of_it:
            yield _shown(disagreement, by_article[article], text, keys, rulings_made)


def _shown(
    disagreement: Disagreement,
    article: SetArticle,
    text: str,
    curations: Sequence[str | None],
    rulings_made: Mapping[tuple[str, tuple[str, ...]], tuple[RulingChoice, str]],
) -> DisagreementDetail:
    choice, adjudicator = rulings_made.get(disagreement.question, ("", ""))
    return DisagreementDetail(
        article=disagreement.article,
        item=disagreement.item,
        first=_side(article.curators[1], curations[0], disagreement.first, text),
        second=_side(article.curators[2], curations[1], disagreement.second, text),
        of_methods=disagreement.of_methods,
        ruling=str(choice),
        adjudicator=adjudicator,
    )


def _side(
    curator: str, curation: str | None, decided: ItemDecision, text: str
) -> SideOfDisagreement:
    return SideOfDisagreement(
        curator=curator,
        curation=curation or "",
        decision=decided.decision,
        reason=decided.reason,
        note=decided.note,
        experiments=tuple(one.in_words()[:LONGEST_WORDS] for one in decided.experiments),
        evidence=tuple(_words(text, decided.evidence)),
    )


def _words(text: str, places: Sequence[Place]) -> Iterator[str]:
    """Yield the words at places; each of many may be the whole article, so they end somewhere."""
    remaining = MOST_WORDS
    for start, end in places:
        if remaining > 0:
            words = text[start : min(end, start + remaining)]
            remaining -= len(words)
            yield words


def _estimates(measures: Mapping[str, Estimate]) -> Mapping[str, EstimateDetail]:
    return {
        name: EstimateDetail(
            value=estimate.value,
            low=estimate.bounds.low if estimate.bounds else None,
            high=estimate.bounds.high if estimate.bounds else None,
        )
        for name, estimate in measures.items()
    }
