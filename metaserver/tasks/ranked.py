"""The common part of INT and IPT: ranked hits, each with one accession or two, and their views.

The payload is a list of `[accession, rank, confidence]` (INT) or `[accession, accession, rank,
confidence]` (IPT, the pair sorted), by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from metaserver.base.boards import Column
from metaserver.base.lanes import HitAside
from metaserver.base.records import ArticleId
from metaserver.exchange.wire.contract import Report, check_optional, read, read_member
from metaserver.exchange.wire.usual import HitColumns, HitPattern
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import EVIDENCE, read_result_file
from metaserver.tasks.scores import ListTask, TaskScorer, Values
from metaserver.uniprot import Release
from metaserver.uniprot.verdicts import Ruling
from metaserver.uniprot.views import gold_species
from scoring import (
    Answer,
    Classification,
    Gold,
    Hit,
    ItemGold,
    ItemScorecard,
    RunScorer,
    Scorecard,
    Signature,
    Task,
    View,
    pair,
    result_lines,
)
from scoring.biocreative import ItemScorer
from scoring.ranking import Matches
from scoring.resampling import ITEM_MEASURES
from scoring.tasks import Accession, Item
from scoring.views import members

# -- views of a run (`scoring.views`), computed from a UniProt release while answers arrive --------
# They give the same digits as `scoring evaluate` with the files of `metaserver uniprot taxa` and
# `orthologs`.


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseView:
    """Maps and filters hits, for one gold standard, before they are scored.

    `homologs` and `taxa` belong to the gold's accessions, None if the view does not map or filter.
    """

    name: str
    gold: ItemGold
    release: Release
    homologs: Mapping[Accession, frozenset[Accession]] | None
    taxa: Mapping[Accession, str] | None

    def apply(self, article: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits for an article in this view, with consecutive ranks from 1."""
        gold = self.gold.items.get(article, frozenset())
        taxa = None if self.taxa is None else self._taxa(hits, gold, self.taxa)
        return View(name=self.name, homologs=self.homologs, taxa=taxa).apply(hits, gold)

    def _taxa(
        self, hits: Sequence[Hit], gold: frozenset[Item], gold_taxa: Mapping[Accession, str]
    ) -> dict[Accession, str]:
        """Return the taxa for an article's hits and gold; `gold_taxa` precedes the release's."""
        items = {*gold, *(hit.item for hit in hits)}
        accessions = list({accession for item in items for accession in members(item)})
        pairs = zip(accessions, self.release.entries.taxa(accessions), strict=True)
        taxa = {accession: str(taxon) for accession, taxon in pairs if taxon}
        return taxa | {
            accession: gold_taxa[accession] for accession in gold_taxa.keys() & accessions
        }


def release_views(gold: ItemGold, release: Release) -> Iterator[ReleaseView]:
    """Yield the views that a release allows besides the raw view.

    Without homonym-ortholog sets nothing is mapped, without taxa nothing is filtered.
    """
    accessions = sorted(
        {accession for items in gold.items.values() for i in items for accession in members(i)}
    )
    homologs = taxa = None
    if release.meta.counts.homonym_sets:
        sets = zip(accessions, release.entries.orthologs(accessions), strict=True)
        homologs = {accession: frozenset(orthologs) for accession, orthologs in sets if orthologs}
    if release.meta.counts.with_taxon:
        species = gold_species(release, accessions)
        taxa = {accession: str(taxon) for accession, taxon in species.items()}
    view = partial(ReleaseView, gold=gold, release=release)
    if homologs is not None:
        yield view(name="mapped", homologs=homologs, taxa=None)
    if taxa is not None:
        yield view(name="filtered", homologs=None, taxa=taxa)
    if homologs is not None and taxa is not None:
        yield view(name="both", homologs=homologs, taxa=taxa)


class ViewScorer(ItemScorer):
    """A scorer for one run in one view, like `scoring.RunScorer` for the raw view."""

    def __init__(self, view: ReleaseView) -> None:
        signature = Signature(task=view.gold.task, gold=None, view=view.name)
        super().__init__(view.gold, signature, run="")
        self._view = view

    def prepare(self, article: str, answer: Answer) -> Matches:
        """Return where an answer's correct hits are in this view."""
        assert not isinstance(answer, Classification)
        return super().prepare(article, self._view.apply(article, answer))


# -- the common part of INT and IPT: arrays of ranked hits, each with one accession or two ---------

RankedPayload: TypeAlias = list[list[Any]]

MOST_ASIDES = 1_000
"""The maximum number of an article's hits whose evidence and taxon are kept."""

COLUMNS = (
    Column(key="tp", heading="TP", count=True, help="Hits that are in the gold"),
    Column(key="fp", heading="FP", count=True, help="Hits that are not in the gold"),
    Column(key="fn", heading="FN", count=True, help="Gold items that were not found"),
    Column(key="precision", heading="P", help="Precision, mean over articles"),
    Column(key="recall", heading="R", help="Recall, mean over articles"),
    Column(key="f_score", heading="F", help="F-score, mean over articles"),
    Column(
        key="auc_ipr",
        heading="AUC iP/R",
        help="Area under the interpolated precision/recall curve, mean over articles",
    ),
)


class _Sent(NamedTuple):
    """A hit with correctly typed values; `rank` is None if not sent."""

    path: str
    names: Sequence[str]
    rank: int | None
    confidence: float
    struct: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RankedTask(ListTask):
    """The task INT or IPT: `fields` are the members with accessions, `optional` the others."""

    fields: tuple[str, ...]
    optional: Mapping[str, type]
    columns: tuple[Column, ...] = COLUMNS
    order: tuple[str, ...] = ("auc_ipr", "f_score")
    resampled: tuple[str, ...] = ITEM_MEASURES
    level: str = "AUC iP/R"

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> RankedPayload | None:
        """Return the valid hits, None if a value has the wrong type."""
        return self.check_with_asides(value, report, vocabulary)[0]

    def check_with_asides(
        self, value: object, report: Report, vocabulary: Vocabulary
    ) -> tuple[RankedPayload | None, Sequence[HitAside]]:
        """Return the same, and the first hits' evidence and taxon."""
        array = read(value, list, self.key, report)
        if array is None:
            return None, ()
        report.hits_sent += len(array)
        hits_sent = [
            self._read(hit, f"{self.key}[{place}]", report) for place, hit in enumerate(array)
        ]
        readable = [hit for hit in hits_sent if hit is not None]
        payload, payload_hits = _unique(self._accepted(readable, report, vocabulary), report)
        if len(readable) < len(array):
            return None, ()
        return payload, _asides(
            (hit.struct.get("evidence"), hit.struct.get("taxid"))
            for hit in payload_hits[:MOST_ASIDES]
        )

    def check_usual(
        self, array: str, report: Report, vocabulary: Vocabulary
    ) -> tuple[RankedPayload | None, Sequence[HitAside]] | None:
        """Return the valid hits and asides in an array's text, None if it has another form.

        If a hit is to be dropped, `check` reports it.
        """
        hits = self._usual.read(array)
        if hits is None:
            return None
        names = list(zip(*hits.names, strict=True))
        valid = None if vocabulary.rulings(list(chain(*names))) else _valid(names, hits)
        if valid is None:
            return self.check_with_asides(self._structs(names, hits), report, vocabulary)
        report.hits_sent += len(names)
        for place in hits.integers:
            read(1, float, f"{self.key}[{place}].confidence", report)
        payload, order = valid
        if not hits.optional:
            return payload, ()
        nothing = [None] * len(names)
        evidence, taxa = (hits.optional.get(name, nothing) for name in ("evidence", "taxid"))
        return payload, _asides((evidence[place], taxa[place]) for place in order[:MOST_ASIDES])

    def _structs(self, names: Sequence[tuple[str, ...]], hits: HitColumns) -> list[dict[str, Any]]:
        """Return the hits as the values that the decoder would read."""
        structs: list[dict[str, Any]] = [
            dict(zip(self.fields, each, strict=True)) | {"confidence": confidence}
            for each, confidence in zip(names, hits.confidences, strict=True)
        ]
        for place in hits.integers:
            structs[place]["confidence"] = 1
        for struct, rank in zip(structs, hits.ranks or (), strict=False):
            struct["rank"] = rank
        for name, column in hits.optional.items():
            for struct, value in zip(structs, column, strict=True):
                if value is not None:
                    struct[name] = value
        return structs

    @cached_property
    def _usual(self) -> HitPattern:
        return HitPattern(self.fields, self.optional)

    def count(self, payload: RankedPayload) -> int:
        """Return the number of hits in the payload."""
        return len(payload)

    def member(self, payload: RankedPayload) -> list[dict[str, Any]]:
        """Return the hits as structs, by rank."""
        names = (*self.fields, "rank", "confidence")
        return [dict(zip(names, hit, strict=True)) for hit in payload]

    def scorer(self, gold: Gold) -> TaskScorer:
        """Return an empty scorer for a run against `gold`."""
        scorer = RunScorer(Task(self.name), gold, digest=False)
        return TaskScorer(scorer, gold, hits_of, _values)

    def view_scorers(
        self, gold: ItemGold, release: Release
    ) -> Mapping[str, Callable[[], TaskScorer]]:
        """Return a factory of scorers by view, for the views the release allows."""

        def scorer(view: ReleaseView) -> TaskScorer:
            return TaskScorer(ViewScorer(view), gold, hits_of, _values)

        return {view.name: partial(scorer, view) for view in release_views(gold, release)}

    def within(self, gold: ItemGold, articles: Collection[ArticleId]) -> ItemGold:
        """Return the gold for these articles only."""
        kept_articles = frozenset[str](articles)
        items = {
            article: items for article, items in gold.items.items() if article in kept_articles
        }
        return gold if len(items) == len(gold) else replace(gold, items=items)

    def accessions(self, gold: ItemGold) -> Collection[str]:
        """Return the gold's accessions, each once."""
        return {name for items in gold.items.values() for item in items for name in members(item)}

    def labels(self, gold: ItemGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return each article's accessions, or pairs."""
        return {
            ArticleId(article): frozenset(" ".join(members(item)) for item in items)
            for article, items in gold.items.items()
        }

    def stated(self, payload: RankedPayload) -> frozenset[str]:
        """Return the accessions, or pairs, of an answer."""
        return frozenset(" ".join(members(hit.item)) for hit in hits_of(payload))

    def read_run(
        self, path: Path, articles: Collection[ArticleId], vocabulary: Vocabulary
    ) -> RunFile:
        """Read a result file in BC II.5 format and check its hits like those of an answer."""

        def check(
            answer: Answer, evidence: Mapping[int, str], report: Report
        ) -> tuple[RankedPayload | None, Sequence[HitAside]]:
            assert not isinstance(answer, Classification)
            items = self.member([[*members(hit.item), hit.rank, hit.confidence] for hit in answer])
            for place, words in evidence.items():
                items[place]["evidence"] = words
            return self.check_with_asides(items, report, vocabulary)

        return read_result_file(Task(self.name), path, articles, check, empty=[])

    def result_lines(self, answers: Iterable[tuple[ArticleId, RankedPayload]]) -> Iterator[str]:
        """Yield a run's result file in BC II.5 format, with line ends."""
        return result_lines(
            Task(self.name), ((article, _triples(payload)) for article, payload in answers)
        )

    def _read(self, value: object, path: str, report: Report) -> _Sent | None:
        struct = read(value, dict, path, report)
        if struct is None:
            return None
        names = [read_member(struct, name, str, path, report) for name in self.fields]
        confidence = read_member(struct, "confidence", float, path, report)
        rank = struct.get("rank")
        readable = rank is None or (rank := read(rank, int, f"{path}.rank", report)) is not None
        check_optional(struct, self.optional, path, report)
        if confidence is None or not readable:
            return None
        accessions = [name for name in names if name is not None]
        return (
            _Sent(path, accessions, rank, confidence, struct)
            if len(accessions) == len(names)
            else None
        )

    def _accepted(
        self, hits: Sequence[_Sent], report: Report, vocabulary: Vocabulary
    ) -> Sequence[_Sent]:
        """Return the hits whose confidence, rank and accessions are valid."""
        rulings = vocabulary.rulings([name for hit in hits for name in hit.names])
        ranked = any(hit.rank is not None for hit in hits)
        accepted = []
        for place, hit in enumerate(hits):
            valid = _has_valid_values(hit, ranked, report)
            names = self._ruled(hit, place, rulings, report) if rulings else hit.names
            if valid and names is not None:
                accepted.append(hit if names is hit.names else hit._replace(names=names))
        return accepted

    def _ruled(
        self, hit: _Sent, place: int, rulings: Mapping[int, Ruling], report: Report
    ) -> Sequence[str] | None:
        """Return the accessions to use for the hit at `place`; None if any is refused."""
        names, refused = list(hit.names), False
        for index, field in enumerate(self.fields):
            ruling = rulings.get(place * len(self.fields) + index)
            if ruling is None:
                continue
            if ruling.accession is None:
                report.hit(f"{hit.path}.{field}", ruling.note)
                refused = True
            else:
                report.note(f"{hit.path}.{field}", ruling.note)
                names[index] = ruling.accession
        return None if refused else names


def _asides(sent: Iterable[tuple[object, object]]) -> Sequence[HitAside]:
    """Return evidence and taxa as far as correctly typed; nothing if no hit has any."""
    asides = [
        (
            evidence[:EVIDENCE] if isinstance(evidence, str) else "",
            taxon if type(taxon) is int and 0 < taxon < 2**31 else None,
        )
        for evidence, taxon in sent
    ]
    return asides if any(evidence or taxon for evidence, taxon in asides) else ()


def _unique(hits: Sequence[_Sent], report: Report) -> tuple[RankedPayload, Sequence[_Sent]]:
    """Return the hits by rank, without repetitions: the better ranked, then the first, is kept."""
    ordered = sorted(hits, key=_order)
    items: dict[tuple[str, ...], _Sent] = {}
    ranks: dict[int, _Sent] = {}
    payload: RankedPayload = []
    for hit in ordered:
        item = tuple(sorted(hit.names))
        rank = len(payload) + 1 if hit.rank is None else hit.rank
        if item in items:
            report.hit(hit.path, f"{' and '.join(item)} again, after {items[item].path}")
        elif rank in ranks:
            report.hit(f"{hit.path}.rank", f"rank {rank} again, after {ranks[rank].path}")
        else:
            items[item] = ranks[rank] = hit
            payload.append([*item, rank, hit.confidence])
    return payload, list(items.values())


def _valid(
    names: Sequence[tuple[str, ...]], hits: HitColumns
) -> tuple[RankedPayload, Sequence[int]] | None:
    """Return the hits by rank, and the place of each among those sent.

    None if a value is invalid, or an item or rank is repeated.
    """
    size = len(names)
    items = names if size and len(names[0]) == 1 else [tuple(sorted(each)) for each in names]
    keys = [-confidence for confidence in hits.confidences] if hits.ranks is None else hits.ranks
    order = sorted(range(size), key=keys.__getitem__)
    ranks = range(1, size + 1) if hits.ranks is None else [hits.ranks[place] for place in order]
    if not size:
        return [], order
    confident = min(hits.confidences) > 0.0 and max(hits.confidences) <= 1.0  # all are finite
    unique = len(set(items)) == size == len(set(ranks))
    if not confident or not unique or ranks[0] < 1:
        return None
    payload = [
        [*items[place], rank, hits.confidences[place]]
        for place, rank in zip(order, ranks, strict=True)
    ]
    return payload, order


def _has_valid_values(hit: _Sent, ranked: bool, report: Report) -> bool:
    confident = 0.0 < hit.confidence <= 1.0
    if not confident:
        report.hit(
            f"{hit.path}.confidence",
            f"expected a confidence above 0 and up to 1, got {hit.confidence}",
        )
    if hit.rank is None:
        if ranked:
            report.hit(f"{hit.path}.rank", "missing; other hits of the list have a rank")
        return confident and not ranked
    if hit.rank < 1:
        report.hit(f"{hit.path}.rank", f"expected 1 or more, got {hit.rank}")
    return confident and hit.rank > 0


def _order(hit: _Sent) -> float:
    """Return the sort key of a hit: its rank, or without ranks its falling confidence."""
    return -hit.confidence if hit.rank is None else hit.rank


def _triples(payload: RankedPayload) -> Sequence[Hit]:
    """Return an answer's hits to write: (item, rank, confidence) triples."""
    if payload and len(payload[0]) == 3:
        return cast(Sequence[Hit], payload)
    return hits_of(payload)


_hit: Callable[[list[Any]], Hit] = partial(tuple.__new__, Hit)  # each answer has many


def hits_of(payload: RankedPayload) -> Sequence[Hit]:
    """Return an answer's hits, by rank."""
    if payload and len(payload[0]) == 3:
        return [*map(_hit, payload)]
    return [Hit(pair(a, b), rank, confidence) for a, b, rank, confidence in payload]


def _values(card: Scorecard) -> Values:
    assert isinstance(card, ItemScorecard)
    means = card.means
    return {
        "tp": card.tp,
        "fp": card.fp,
        "fn": card.fn,
        "precision": means.precision,
        "recall": means.recall,
        "f_score": means.f_score,
        "auc_ipr": means.auc_ipr,
    }
