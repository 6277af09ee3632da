"""Adapter of the evaluator to the hub's task interface: gold files, scorers, intervals, dumps."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

import scoring
from metaserver.base.boards import (
    ArticleLevel,
    ArticlePair,
    PairedRuns,
    RunIntervals,
    Score,
)
from metaserver.base.errors import InputError, listed
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.structs import convert
from metaserver.tasks.plugin import Payload
from scoring import (
    ActGold,
    ActScorecard,
    Answer,
    Classification,
    FormatError,
    Gold,
    ItemScorecard,
    Scorecard,
    Task,
)
from scoring.analysis import (
    ArticleDifficulty,
    ArticleRank,
    article_difficulty,
    article_ranks,
)
from scoring.biocreative import ActState, ItemState, Prepared, RunState
from scoring.columns import Truths
from scoring.intervals import paired_tests
from scoring.match_lists import MatchLists
from scoring.resampling import on_resamples
from scoring.significance import compare

# -- the state of a run's scorer as bytes: MessagePack with columns of numbers ---------------------
# Each dump begins with its kind and the number of its format, which is raised when dumps of
# earlier hubs can no longer be read.


class PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """Numbers, little-endian."""

    kind: Literal["u1", "u2", "u4", "u8", "f8"]
    data: bytes

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> PackedColumn:
        """Return integers from 0 in as few bytes as hold the greatest."""
        kind = np.min_scalar_type(int(numbers.max(initial=0))).newbyteorder("<")
        return cls(f"u{kind.itemsize}", numbers.astype(kind).tobytes())  # type: ignore[arg-type]

    def numbers(self) -> NDArray[Any]:
        """Return the numbers; raises `ValueError` for an incomplete number."""
        return np.frombuffer(self.data, dtype=f"<{self.kind}")


class _ItemDump(msgspec.Struct, frozen=True, array_like=True, tag="items 2"):
    """An `ItemState`, and each gold article's confidence, empty if all are 0."""

    places: PackedColumn
    hits: PackedColumn
    counts: PackedColumn
    ranks: PackedColumn
    ignored: Mapping[str, int]
    confidences: PackedColumn


class _ActDump(msgspec.Struct, frozen=True, array_like=True, tag="classifications 2"):
    """An `ActState`; `ranks` are empty if no answer has one.

    `confidences` are as in `_ItemDump`.
    """

    places: PackedColumn
    relevant: PackedColumn
    confidence: PackedColumn
    ranks: PackedColumn
    ignored: tuple[str, ...]
    confidences: PackedColumn


_Dump: TypeAlias = _ItemDump | _ActDump
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Dump] = msgspec.msgpack.Decoder(_Dump)


_T = TypeVar("_T")


def decoded(decoder: msgspec.msgpack.Decoder[_T], data: bytes) -> _T:
    """Read a dump by its decoder; raises `ValueError` for anything else."""
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise ValueError(f"no dump of this scorer, or of another format: {error}") from error


def dump_state(state: RunState, confidences: NDArray[np.float64]) -> bytes:
    """Return a run scorer's state as bytes, with its articles' confidences."""
    column = PackedColumn("f8", confidences.astype("<f8").tobytes())
    if isinstance(state, ItemState):
        lists = state.lists
        return _encoder.encode(
            _ItemDump(
                places=PackedColumn.of(lists.places),
                hits=PackedColumn.of(lists.hits),
                counts=PackedColumn.of(lists.counts),
                ranks=PackedColumn.of(lists.ranks),
                ignored=state.ignored,
                confidences=column,
            )
        )
    return _encoder.encode(
        _ActDump(
            places=PackedColumn.of(state.places),
            relevant=PackedColumn.of(state.relevant),
            confidence=PackedColumn("f8", state.confidence.astype("<f8").tobytes()),
            ranks=PackedColumn.of(state.rank if state.rank.any() else state.rank[:0]),
            ignored=tuple(state.ignored),
            confidences=column,
        )
    )


def load_state(data: bytes) -> tuple[RunState, NDArray[np.float64]]:
    """Read a dump made by `dump_state`; raises `ValueError` for anything else."""
    dump = decoded(_decoder, data)
    confidences = dump.confidences.numbers().astype(np.float64)
    if isinstance(dump, _ItemDump):
        columns = (dump.places, dump.hits, dump.counts, dump.ranks)
        lists = MatchLists(*(column.numbers() for column in columns))
        return ItemState(lists, dump.ignored), confidences
    ranks, places = dump.ranks.numbers(), dump.places.numbers()
    state = ActState(
        places=places.astype(np.int64),
        relevant=dump.relevant.numbers().astype(bool),
        confidence=dump.confidence.numbers(),
        rank=ranks.astype(np.int64) if len(ranks) else np.zeros(len(places), dtype=np.int64),
        ignored=dump.ignored,
    )
    return state, confidences


# -- parts of a score that few readers need: computed when they are first read ---------------------


class LazyDetail(Mapping[str, Any]):
    """A function's result as a mapping."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Any]:
        return self._make()

    def __getitem__(self, key: str) -> Any:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


# -- adapter of the evaluator to the hub's task interface: gold files and the scorer of a run ------

Values: TypeAlias = Mapping[str, float | int | None]
NO_CONFIDENCE = np.zeros(0)


def input_error(error: FormatError) -> InputError:
    """Return a gold file's error: the first problem, and the number of further problems."""
    first = error.problems[0]
    column = f"column {first.column}: " if first.column else ""
    messages = listed([problem.message for problem in error.problems], 1)
    return InputError(first.file, f"{column}{messages}", line=first.line or None)


def undefined(score: Mapping[str, Any], *, answered: bool) -> Values:
    """Return a board's values, without measures if nothing was answered."""
    if answered:
        return score
    return {key: value if isinstance(value, int) else None for key, value in score.items()}


class AnswerScorer(Protocol):
    """A scorer for a run's answers: `scoring.RunScorer`, or a view's scorer."""

    def prepare(self, article_id: str, answer: Answer) -> Prepared:
        """Return the value for `keep`, prepared from an answer; changes nothing."""

    def keep(self, article_id: str, prepared: Prepared) -> None:
        """Score an article's answer, replacing any earlier answer."""

    def scorecard(self, counted: Truths | None = None) -> Scorecard:
        """Return the score over all answers so far, and the articles to be counted."""

    @property
    def answered(self) -> int:
        """The number of the gold's articles with an answer, be it empty."""

    def state(self) -> RunState:
        """Return all that was kept so far; changes nothing."""

    def resume(self, state: RunState) -> None:
        """Continue from a state; raises `ValueError` if it does not fit this gold."""


class SentAnswer(NamedTuple):
    """A prepared answer, and the mean confidence of its hits, 0 without hits."""

    prepared: Prepared
    confidence: float


class TaskScorer:
    """Scores a run as its payloads arrive.

    Implements `metaserver.tasks.plugin.KeptScorer` and `CountingScorer`. `answer` converts a
    payload into the evaluator's type, or None if there is nothing to score; `values` returns a
    scorecard's board columns.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        gold: Gold,
        answer: Callable[[Payload], Answer | None],
        values: Callable[[Scorecard], Values],
    ) -> None:
        self._scorer = scorer
        self._gold = gold
        self._confidence = NO_CONFIDENCE  # of each article of the gold, 0: it has no hit
        self._answer = answer
        self._values = values

    def put(self, article: ArticleId, payload: Payload) -> None:
        """Score (or re-score) an article; articles without gold are ignored."""
        self.keep(article, self.prepare(article, payload))

    def prepare(self, article: ArticleId, payload: Payload) -> SentAnswer | None:
        """Return a payload's value for `keep`, or None if there is nothing to score."""
        answer = self._answer(payload)
        if answer is None:
            return None
        return SentAnswer(self._scorer.prepare(article, answer), _confidence(answer))

    def keep(self, article: ArticleId, prepared: SentAnswer | None) -> None:
        """Score (or re-score) an article by its prepared value."""
        if prepared is None:
            return
        self._scorer.keep(article, prepared.prepared)
        if (place := self._gold.place.get(article)) is not None:
            if not len(self._confidence):
                self._confidence = np.zeros(len(self._gold))
            self._confidence[place] = prepared.confidence

    def dump(self) -> bytes:
        """Return all that was kept so far, to be continued from."""
        return dump_state(self._scorer.state(), self._confidence)

    def load(self, data: bytes) -> None:
        """Continue from the dump of a scorer with the same gold; `ValueError` for any other."""
        state, confidence = load_state(data)
        self._scorer.resume(state)
        if len(confidence) not in (0, len(self._gold)):
            raise ValueError("confidences of another number of articles than the gold has")
        self._confidence = confidence.copy()

    @property
    def articles(self) -> Sequence[ArticleId]:
        """The gold's articles, in the order of `counted`."""
        return [ArticleId(article) for article in self._gold.articles]

    def score(self) -> Score:
        """Return the score of the articles that the run has hits for, as BC II.5 published.

        Before the first, every measure is None.
        """
        return self._score(None)

    def score_all(self, counted: Truths) -> Score:
        """Return the score over the counted articles, unanswered articles as zero."""
        return self._score(counted)

    def _score(self, counted: Truths | None) -> Score:
        """Return the score; before the first answer, every measure is None.

        Its curve is made here, where scores are made in bounded parts or in a thread: a board has
        all its runs' curves.
        """
        card = self._scorer.scorecard(counted)
        answered = card.articles_scored if counted is None else self._scorer.answered
        return Score(
            values=undefined(self._values(card), answered=bool(answered)),
            articles_scored=answered,
            articles_in_gold=card.articles_in_gold,
            articles_counted=_counted(card, counted),
            answered=self._scorer.answered,
            confidence=self._mean_confidence(),
            curve=card.curve,
            detail=LazyDetail(card.to_dict),
            card=card,
        )

    def _mean_confidence(self) -> float | None:
        positive = self._confidence[self._confidence > 0].tolist()
        return math.fsum(positive) / len(positive) if positive else None


def _confidence(answer: Answer) -> float:
    """Return the mean confidence of an answer's hits, 0 without hits."""
    if isinstance(answer, Classification):
        return answer.confidence
    return math.fsum(hit.confidence for hit in answer) / len(answer) if answer else 0.0


def _counted(card: Scorecard, counted: Truths | None) -> int:
    """Return how many gold articles count in a score."""
    if counted is None:
        return card.articles_in_gold
    if isinstance(card, ActScorecard):
        return card.articles_in_gold if card.counted is None else int(card.counted.sum())
    return card.articles_scored


# -- comparison of runs of ranked lists ------------------------------------------------------------

RESAMPLES, SEED = 10_000, 2009
"""The values of `scoring compare`, so that both give the same digits."""
RESAMPLING = f"{RESAMPLES:,} resamples of the articles, seed {SEED}, expanded intervals"


def intervals(
    gold: Gold, cards: Mapping[str, Scorecard], measure: str
) -> Mapping[str, RunIntervals]:
    """Return each run's 95 % intervals for a measure and its rank."""
    named_cards = [replace(card, run=run) for run, card in cards.items()]
    compared = compare(
        gold, named_cards, measure=measure, resamples=RESAMPLES, seed=SEED, level=0.95, pairs=False
    )
    return {
        run_intervals.run: convert(run_intervals, RunIntervals)
        for run_intervals in compared.intervals
    }


def paired(gold: Gold, first: Scorecard, second: Scorecard, measure: str) -> PairedRuns:
    """Return the paired test of two runs, as `scoring compare` makes it, and their articles."""
    cards = [replace(first, run="first"), replace(second, run="second")]
    compared = compare(gold, cards, measure=measure, resamples=RESAMPLES, seed=SEED, level=0.95)
    assert compared.tests is not None
    [pair] = compared.tests.pairs
    is_first = pair.a == "first"
    sign = 1.0 if is_first else -1.0
    ends = [None if end is None else sign * end for end in (pair.low, pair.high)]
    low, high = ends if is_first else reversed(ends)
    values = [by_article(gold, card, measure) for card in cards]
    return PairedRuns(
        articles=pair.articles_scored,
        difference=None if pair.difference is None else sign * pair.difference,
        low=low,
        high=high,
        p=pair.p,
        test=f"{compared.tests.kind}, {compared.tests.flips:,}, seed {SEED}",
        measure="classified correctly" if isinstance(gold, ActGold) else measure,
        pairs=article_pairs(gold.articles, *values),
    )


def article_pairs(
    articles: Iterable[str],
    first: Mapping[str, float | None],
    second: Mapping[str, float | None],
) -> tuple[ArticlePair, ...]:
    """Return two runs' values of articles, those that differ most first."""
    pairs = [
        ArticlePair(article=article, first=first.get(article), second=second.get(article))
        for article in articles
    ]
    pairs.sort(key=lambda one: -abs((one.first or 0.0) - (one.second or 0.0)))
    return tuple(pairs)


class MeasuredRun(NamedTuple):
    """A run's measure, its values on resamples, and those of its articles."""

    measure: float | None
    values: NDArray[np.float64]
    by_article: Mapping[str, float | None]


def paired_by_bootstrap(
    first: MeasuredRun,
    second: MeasuredRun,
    *,
    size: int,
    measure: str,
    items: str,
    command: str,
) -> PairedRuns:
    """Return the bootstrap test of two runs on `size` items, all of which both are scored on."""
    runs = {"first": first[:2], "second": second[:2]}
    pair = next(iter(paired_tests(runs, size)), None)
    return PairedRuns(
        articles=size,
        difference=None if pair is None else pair.difference,
        low=None if pair is None else pair.low,
        high=None if pair is None else pair.high,
        p=1.0 if pair is None else pair.p,
        test=f"bootstrap, {len(first.values):,}, seed {SEED}",
        measure=measure,
        items=items,
        command=command,
        pairs=article_pairs(
            sorted(first.by_article.keys() | second.by_article.keys()),
            first.by_article,
            second.by_article,
        ),
    )


def by_article(gold: Gold, card: Scorecard, measure: str) -> Mapping[str, float | None]:
    """Return each article's value for a run: of ACT, whether it is classified correctly."""
    of_articles = "accuracy" if isinstance(gold, ActGold) else measure
    values, _ = on_resamples(gold, [card], of_articles)
    known = (None if math.isnan(value) else value for value in values[:, 0].tolist())
    return dict(zip(gold.articles, known, strict=True))


def levels(gold: Gold, cards: Mapping[str, Scorecard]) -> Sequence[ArticleLevel]:
    """Return the articles' levels: mean ranks (ACT) or mean AUC iP/R (INT, IPT), easiest first.

    Only the moments are returned: the relevance of an article stays in the gold.
    """
    runs: dict[str, set[str]] = {}
    for run, card in cards.items():
        for article in _answered(gold, card):
            runs.setdefault(article, set()).add(run)
    return [
        ArticleLevel(
            article=ArticleId(moments.article),
            mean=moments.mean,
            deviation=moments.deviation,
            runs=frozenset(runs[moments.article]),
        )
        for moments in _moments(gold, list(cards.values()))
    ]


def _moments(
    gold: Gold, cards: Sequence[Scorecard]
) -> Sequence[ArticleRank] | Sequence[ArticleDifficulty]:
    if isinstance(gold, ActGold):
        return article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
    return article_difficulty(gold, [card for card in cards if isinstance(card, ItemScorecard)])


def _answered(gold: Gold, card: Scorecard) -> Sequence[str]:
    if isinstance(gold, ActGold):
        assert isinstance(card, ActScorecard)
        return [gold.articles[place] for place in card.ranked.tolist()]
    assert isinstance(card, ItemScorecard)
    return [article for article, score in card.articles.items() if score.auc_ipr is not None]


@dataclass(frozen=True, kw_only=True)
class ListTask:
    """What INT, IPT and ACT have in common: gold of the evaluator, and how runs are compared."""

    name: TaskName
    title: str
    key: str
    resampling: str = RESAMPLING

    def read_gold(self, path: Path) -> Gold:
        """Read a gold file; `InputError` has the first problem and the number of others."""
        try:
            return scoring.read_gold(Task(self.name), path)
        except FormatError as error:
            raise input_error(error) from error

    def gold_articles(self, gold: Gold) -> Collection[ArticleId]:
        """Return the articles that the gold has."""
        return [ArticleId(article) for article in gold.articles]

    intervals = staticmethod(intervals)
    by_article = staticmethod(by_article)
    paired = staticmethod(paired)
    levels = staticmethod(levels)
