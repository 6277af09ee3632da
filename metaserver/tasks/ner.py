"""NER: the mentions of typed entities in an article, scored as SemEval-2013 task 9.1.

A mention is a contiguous part of the text: `offset` is its first character, and its length is that
of its words. Both count code points of the article as it was sent, from 0. The payload is a list
of `[offset, mention, type]`, by place.

The hub does not compare the words with the article: task 9.1 scores only places and types. A team
sees wrong offsets in its self-test (`annotators check`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from metaserver.base.boards import Column, PairedRuns, Score
from metaserver.base.records import ArticleId, TaskName
from metaserver.exchange.wire.contract import MENTIONS, Report, check_optional, read, read_member
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.tasks.scores import (
    MeasuredRun,
    PackedColumn,
    Values,
    decoded,
    input_error,
    paired_by_bootstrap,
    undefined,
)
from scoring import SCORER_VERSION, FormatError
from scoring.cells import FORMULA, inert
from scoring.semeval_files import read_ner_gold
from scoring.semeval_ner import (
    TYPES,
    Criterion,
    MentionCounts,
    MentionSpan,
    NerScorecard,
    Table,
    count_by_place,
    total,
)

# -- gold and scorer of NER: the counts of SemEval-2013 task 9.1, article by article ---------------

NerPayload: TypeAlias = list[list[Any]]
"""Mentions as `[offset, mention, type]`, by place."""


class ArticleCounts(NamedTuple):
    """An article's counts, over all types and with gold and run restricted to each type.

    Types without their own score are left out: an answer may name any number.
    """

    all_types: Table
    by_type: Mapping[str, Table]


@dataclass(frozen=True, kw_only=True, slots=True)
class NerGold:
    """Every article's mentions (some have none), and the types with their own score.

    `missing` are an unanswered article's counts.
    """

    articles: Mapping[str, Sequence[MentionSpan]]
    types: Sequence[str]
    missing: dict[str, ArticleCounts]

    def within(self, articles: Set[str]) -> NerGold:
        """Return the gold for these articles only."""
        return replace(
            self,
            articles={
                article: mentions
                for article, mentions in self.articles.items()
                if article in articles
            },
            missing={
                article: counts for article, counts in self.missing.items() if article in articles
            },
        )


def read_gold(path: Path) -> NerGold:
    """Read gold mentions; raises `InputError` with the first problem and how many follow.

    Example: the line `10022833<TAB>0-4<TAB>MDM2<TAB>protein`.
    """
    try:
        corpus = read_ner_gold(path)
    except FormatError as error:
        raise input_error(error) from error
    articles: dict[str, list[MentionSpan]] = {name: [] for name in corpus.sentences}
    for mention in corpus.mentions:
        articles[mention.place].append(mention)
    return NerGold(
        articles=articles,
        types=list(dict.fromkeys([*TYPES, *(mention.type for mention in corpus.mentions)])),
        missing={name: _missing(mentions) for name, mentions in articles.items()},
    )


class _NerDump(msgspec.Struct, frozen=True, array_like=True, tag="mentions 1"):
    """The answered articles by their places in the gold, and count rows.

    `kinds` are 0 for a row over all types, which begins an article, else 1 more than the type's
    place. A row has five counts per criterion.
    """

    places: PackedColumn
    kinds: PackedColumn
    counts: PackedColumn


_decoder = msgspec.msgpack.Decoder(_NerDump)
_ROW = len(Criterion) * len(MentionCounts._fields)


class NerScorer:
    """A scorer of one NER run, which keeps each article's counts.

    An article that is not answered (yet) has all its mentions missing: task 9.1 scores the whole
    corpus, so a board agrees with `scoring ner` on the run's result file.
    """

    def __init__(self, gold: NerGold) -> None:
        self._gold = gold
        self._answered: dict[str, ArticleCounts] = {}

    def put(self, article: ArticleId, payload: NerPayload) -> None:
        """Score (or re-score) an article; articles without gold are ignored."""
        self.keep(article, self.prepare(article, payload))

    def prepare(self, article: ArticleId, payload: NerPayload) -> ArticleCounts | None:
        """Return an article's counts; None without gold."""
        mentions = self._gold.articles.get(article)
        if mentions is None:
            return None
        run = _mentions(article, payload)
        gold_by_type, run_by_type = _by_type(mentions), _by_type(run)
        kinds = [kind for kind in self._gold.types if kind in gold_by_type or kind in run_by_type]
        return ArticleCounts(
            _count(mentions, run),
            {kind: _count(gold_by_type.get(kind, ()), run_by_type.get(kind, ())) for kind in kinds},
        )

    def keep(self, article: ArticleId, prepared: ArticleCounts | None) -> None:
        """Score (or re-score) an article by its counts."""
        if prepared is not None:
            self._answered[article] = prepared

    def dump(self) -> bytes:
        """Return the answered articles' counts, to be continued from."""
        place = {article: place for place, article in enumerate(self._gold.articles)}
        kind = {name: number for number, name in enumerate(self._gold.types, start=1)}
        answered = dict(self._answered)
        rows = [
            (number, table)
            for counts in answered.values()
            for number, table in (
                (0, counts.all_types),
                *((kind[name], table) for name, table in counts.by_type.items()),
            )
        ]
        numbers = [
            number for _, table in rows for criterion in Criterion for number in table[criterion]
        ]
        return msgspec.msgpack.encode(
            _NerDump(
                places=_column([place[article] for article in answered]),
                kinds=_column([number for number, _ in rows]),
                counts=_column(numbers),
            )
        )

    def load(self, data: bytes) -> None:
        """Continue from the dump of a scorer with the same gold; `ValueError` for any other."""
        dump = decoded(_decoder, data)
        places, kinds = dump.places.numbers(), dump.kinds.numbers()
        begins = np.flatnonzero(kinds == 0)
        if len(begins) != len(places) or (len(kinds) and kinds[0]):
            raise ValueError("rows that belong to no article")
        if (places >= len(self._gold.articles)).any() or (kinds > len(self._gold.types)).any():
            raise ValueError("articles or types that the gold does not have")
        articles = list(self._gold.articles)
        names = [self._gold.types[kind - 1] for kind in kinds.tolist()]
        tables = [_table(row) for row in dump.counts.numbers().reshape(len(kinds), _ROW).tolist()]
        ends = [*begins.tolist(), len(kinds)][1:]
        self._answered = {
            articles[place]: ArticleCounts(
                tables[start],
                dict(zip(names[start + 1 : end], tables[start + 1 : end], strict=True)),
            )
            for place, start, end in zip(places.tolist(), begins.tolist(), ends, strict=True)
        }

    @property
    def articles(self) -> Sequence[ArticleId]:
        """The gold's articles."""
        return [ArticleId(article) for article in self._gold.articles]

    def score(self) -> Score:
        """Return the score of the whole corpus; before the first answer, every measure is None."""
        return self._score(self._gold.missing)

    def score_all(self, counted: NDArray[np.bool_]) -> Score:
        """Return the score over the counted articles, and over the answered articles."""
        missing = self._gold.missing
        return self._score({article: missing[article] for article in compress(missing, counted)})

    def _score(self, missing: dict[str, ArticleCounts]) -> Score:
        """Return the score over the answered articles, and the missing others."""
        counts = missing | self._answered
        card = self._scorecard(counts)
        articles = {
            "articles_scored": len(self._answered),
            "articles_in_gold": len(self._gold.articles),
        }
        signature = f"NER|articles:all|version:{SCORER_VERSION}"
        return Score(
            values=undefined(values_of(card), answered=bool(self._answered)),
            **articles,
            articles_counted=len(counts),
            curve=(),
            detail={"task": "NER", **articles, **card.to_dict(), "signature": signature},
            card=card,
        )

    def _scorecard(self, counts: Mapping[str, ArticleCounts]) -> NerScorecard:
        tables = [article.by_type for article in counts.values()]
        return NerScorecard(
            by_article={
                article: article_counts.all_types for article, article_counts in counts.items()
            },
            per_type={
                kind: total(table[kind] for table in tables if kind in table)
                for kind in self._gold.types
            },
        )


def _column(numbers: Sequence[int]) -> PackedColumn:
    return PackedColumn.of(np.array(numbers, dtype=np.int64))


def _table(row: Sequence[int]) -> Table:
    size = len(MentionCounts._fields)
    return {
        criterion: MentionCounts(*row[start : start + size])
        for criterion, start in zip(Criterion, range(0, _ROW, size), strict=True)
    }


def _count(gold: Sequence[MentionSpan], run: Sequence[MentionSpan]) -> Table:
    """Count an article's mentions."""
    return total(count_by_place(gold, run).values())


def _by_type(mentions: Sequence[MentionSpan]) -> Mapping[str, Sequence[MentionSpan]]:
    by_type: dict[str, list[MentionSpan]] = {}
    for mention in mentions:
        by_type.setdefault(mention.type, []).append(mention)
    return by_type


def _mentions(article: str, payload: NerPayload) -> Sequence[MentionSpan]:
    return [
        MentionSpan(article, ((offset, offset + len(words)),), kind)
        for offset, words, kind in payload
    ]


def _label(mention: MentionSpan) -> str:
    return f"{';'.join(f'{start}-{end - 1}' for start, end in mention.span)} {mention.type}"


def _missing(gold: Sequence[MentionSpan]) -> ArticleCounts:
    types = Counter(mention.type for mention in gold)
    return ArticleCounts(
        _all_missing(len(gold)), {kind: _all_missing(number) for kind, number in types.items()}
    )


def _all_missing(mentions: int) -> Table:
    return dict.fromkeys(Criterion, MentionCounts(mis=mentions))


def values_of(card: NerScorecard) -> Values:
    """Return the NER columns' values."""
    micro = card.micro
    strict = micro[Criterion.STRICT]
    return {
        "cor": strict.cor,
        "inc": strict.inc,
        "par": micro[Criterion.PARTIAL].par,
        "mis": strict.mis,
        "spu": strict.spu,
        "strict_precision": strict.precision(),
        "strict_recall": strict.recall(),
        **{f"{criterion}_f": counts.f_score() for criterion, counts in micro.items()},
    }


# -- NER: the mentions of typed entities in an article, scored as SemEval-2013 task 9.1 ------------

_CRITERIA = {f"{criterion}_f": criterion for criterion in Criterion}
MAX_OFFSET = 10**8  # no text is so long, and the evaluator reads nine digits

COLUMNS = (
    Column(key="cor", heading="COR", count=True, help="Mentions of the right place and type"),
    Column(key="inc", heading="INC", count=True, help="Overlaps of another place or type"),
    Column(key="par", heading="PAR", count=True, help="Overlaps of another place, of any type"),
    Column(key="mis", heading="MIS", count=True, help="Gold mentions that nothing overlaps"),
    Column(key="spu", heading="SPU", count=True, help="Mentions that overlap nothing in the gold"),
    Column(key="strict_precision", heading="P", help="Strict precision: place and type"),
    Column(key="strict_recall", heading="R", help="Strict recall: place and type"),
    Column(key="strict_f", heading="F strict", help="F-score of the same place and type"),
    Column(key="exact_f", heading="F exact", help="F-score of the same place, of any type"),
    Column(key="partial_f", heading="F partial", help="F-score where an overlap counts half"),
    Column(key="type_f", heading="F type", help="F-score of the same type where places overlap"),
)


class _Sent(NamedTuple):
    """A mention with values of the agreed types; `length` is as the server sent it."""

    path: str
    offset: int
    words: str
    type: str
    length: int | None


@dataclass(frozen=True, kw_only=True)
class NamedEntities:
    """The task NER."""

    name: TaskName
    title: str
    key: str
    columns: tuple[Column, ...] = COLUMNS
    order: tuple[str, ...] = ("strict_f", "exact_f")
    resampled: tuple[str, ...] = tuple(_CRITERIA)

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> NerPayload | None:
        """Return the valid mentions, None if a value has the wrong type."""
        array = read(value, list, self.key, report)
        if array is None:
            return None
        report.hits_sent += len(array)
        mentions = [_read(hit, f"{self.key}[{place}]", report) for place, hit in enumerate(array)]
        readable = [mention for mention in mentions if mention is not None]
        payload = _unique([mention for mention in readable if _is_valid(mention, report)], report)
        return payload if len(readable) == len(array) else None

    def count(self, payload: NerPayload) -> int:
        """Return the number of mentions in the payload."""
        return len(payload)

    def member(self, payload: NerPayload) -> list[dict[str, Any]]:
        """Return the mentions as structs, by place."""
        names = ("offset", "mention", "type")
        return [dict(zip(names, mention, strict=True)) for mention in payload]

    def read_gold(self, path: Path) -> NerGold:
        """Read a gold table (or corpus XML, its sentences being the articles).

        Raises `InputError` that names file and line.
        """
        return read_gold(path)

    def scorer(self, gold: NerGold) -> NerScorer:
        """Return an empty scorer for a run against `gold`."""
        return NerScorer(gold)

    def within(self, gold: NerGold, articles: Collection[ArticleId]) -> NerGold:
        """Return the gold for these articles only."""
        return gold.within(frozenset(articles))

    def gold_articles(self, gold: NerGold) -> Collection[ArticleId]:
        """Return the articles that the gold has."""
        return [ArticleId(article) for article in gold.articles]

    def by_article(
        self, _gold: NerGold, card: NerScorecard, measure: str
    ) -> Mapping[str, float | None]:
        """Return the F-score of each article that has a mention, or a predicted mention."""
        return card.f_scores(_CRITERIA[measure])

    def paired(
        self, _gold: NerGold, first: NerScorecard, second: NerScorecard, measure: str
    ) -> PairedRuns:
        """Return the bootstrap test of two runs on the articles that count for both."""
        criterion = _CRITERIA[measure]
        both = first.by_article.keys() & second.by_article.keys()

        def measured(card: NerScorecard) -> MeasuredRun:
            cut = replace(card, by_article={name: card.by_article[name] for name in both})
            return MeasuredRun(
                cut.micro[criterion].f_score() if both else None,
                cut.on_resamples(criterion),
                cut.f_scores(criterion),
            )

        return paired_by_bootstrap(
            measured(first),
            measured(second),
            size=len(both),
            measure=measure,
            items="articles",
            command="scoring ner --tests",
        )

    def labels(self, gold: NerGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return each article's mentions: their places, from 0, and types."""
        return {
            ArticleId(article): frozenset(map(_label, mentions))
            for article, mentions in gold.articles.items()
        }

    def stated(self, payload: NerPayload) -> frozenset[str]:
        """Return the mentions of an answer: their places, from 0, and types."""
        return frozenset(map(_label, _mentions("", payload)))

    def result_lines(self, answers: Iterable[tuple[ArticleId, NerPayload]]) -> Iterator[str]:
        """Yield the lines of a run's result file for task 9.1, with inclusive offsets.

        The words are only for readers (task 9.1 compares places and types), so formulas in them
        are made inert.
        """
        for article, payload in answers:
            for offset, words, kind in payload:
                words_shown = inert(" ".join(words.split()))
                yield f"{article}\t{offset}-{offset + len(words) - 1}\t{words_shown}\t{kind}\n"


NER = NamedEntities(name=TaskName("NER"), title="Named entities", key=MENTIONS)


def _read(value: object, path: str, report: Report) -> _Sent | None:
    struct = read(value, dict, path, report)
    if struct is None:
        return None
    offset = read_member(struct, "offset", int, path, report)
    words = read_member(struct, "mention", str, path, report)
    kind = read_member(struct, "type", str, path, report)
    length = struct.get("length")
    readable = length is None or (length := read(length, int, f"{path}.length", report)) is not None
    check_optional(struct, {"section": str, "confidence": float}, path, report)
    if offset is None or words is None or kind is None or not readable:
        return None
    return _Sent(path, offset, words, kind, length)


def _is_valid(mention: _Sent, report: Report) -> bool:
    """Return whether a mention's values are valid; a wrong length often means counted bytes."""
    faults = []
    if not 0 <= mention.offset <= MAX_OFFSET:
        faults.append(("offset", f"expected 0 to {MAX_OFFSET}, got {mention.offset}"))
    if not mention.words:
        faults.append(("mention", "expected one character or more"))
    if not mention.type.isprintable() or not mention.type.strip() or mention.type[0] in FORMULA:
        faults.append(("type", f"expected a word, got {mention.type!r}"))
    if mention.length is not None and mention.length != len(mention.words):
        message = f"got {mention.length}, but the mention has {len(mention.words)} code points"
        faults.append(("length", message))
    for member, message in faults:
        report.hit(f"{mention.path}.{member}", message)
    return not faults


def _unique(mentions: Sequence[_Sent], report: Report) -> NerPayload:
    """Return the mentions by place, without repeated places and types."""
    first: dict[tuple[int, int, str], _Sent] = {}
    for mention in mentions:
        place = (mention.offset, len(mention.words), mention.type)
        if (earlier := first.setdefault(place, mention)) is not mention:
            report.hit(mention.path, f"the place and type of {earlier.path} again")
    return [[at, first[at, size, kind].words, kind] for at, size, kind in sorted(first)]
