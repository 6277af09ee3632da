"""Significance of differences between runs: document bootstrap, rank intervals, paired tests.

All runs are resampled together, article by article, so that one matrix product scores every run on
every resample (docs/comparing.md). Seeds are recorded in the signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap_tests import bootstrap_tests
from scoring.bounds import KINDS, TIE, Floats, IntervalKind, bias_of, bounds
from scoring.differences import Differences
from scoring.errors import OptionError
from scoring.gold import Gold, ItemGold
from scoring.resampling import Matrix, Scores, leave_one_out, on_resamples, resampled
from scoring.scorecard import ItemScorecard, Scorecard, Signature
from scoring.sign_flips import PairTest, PairTests, sign_flip_tests

LIST_MEASURES = ("auc_ipr", "mcc")
"""The measures of ACT that only a whole list has."""
MOST_LEFT_OUT = 5_000
"""Articles of which one at a time can be left out, for BCa intervals."""
MOST_PAIRED = 300
"""Runs of which all pairs can be tested at once: 44,850 pairs."""
FEW_ARTICLES = 30
"""Fewer articles than this are too few for intervals that hold as often as they say."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A run's score with its bootstrap interval, its rank with its interval, and P(rank 1)."""

    run: str
    articles_scored: int
    articles_in_gold: int
    score: float
    low: float
    high: float
    rank: int
    best_rank: int
    worst_rank: int
    first: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs compared on one measure, best first, and the tests of all pairs.

    `interval` is how the intervals are made (`scoring.bounds`). `confidences` are the average
    confidences of the runs that have one, by which equal runs are ordered. `tests` is None if the
    tests were left out; `power` says whether they have `articles_needed`.
    """

    measure: str
    resamples: int
    level: float
    interval: IntervalKind
    power: bool
    intervals: Sequence[Interval]
    confidences: Mapping[str, float]
    tests: PairTests | None
    signature: Signature

    @property
    def pairs(self) -> Sequence[PairTest]:
        """The tests of the pairs; none where they were left out."""
        return self.tests.pairs if self.tests else ()

    @property
    def alpha(self) -> float:
        """The p up to which a difference counts: what `level` leaves."""
        return round(1 - self.level, 12)


def compare(
    gold: Gold,
    scorecards: Sequence[Scorecard],
    *,
    measure: str = "auc_ipr",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 2009,
    pairs: bool = True,
    interval: IntervalKind = "expanded",
    power: bool = False,
) -> Comparison:
    """Compare runs on `measure` by `resamples` resamples of the gold's articles.

    INT and IPT runs are compared on macro-averages (`resampling.ITEM_MEASURES`), ACT runs on
    `resampling.ACT_MEASURES`. Pairs are tested by sign flips on the articles; on AUC iP/R and MCC
    of ACT, which no article has by itself, by the bootstrap. `level` is the intervals'
    probability, in ]0, 1[; `power` adds the articles that would separate each pair. Names of runs
    are distinct; of more than `MOST_PAIRED` runs, pairs are not tested.
    """
    if interval not in KINDS:
        raise OptionError(f"interval {interval!r}; expected one of {', '.join(KINDS)}")
    _check_runs([card.run for card in scorecards], pairs=pairs)
    rng = np.random.default_rng(seed)
    values, scores = on_resamples(gold, scorecards, measure)
    found = np.concatenate([scores(weights) for weights in resampled(rng, len(values), resamples)])
    observed = _observed(gold, scorecards, measure, scores)
    left_out = _left_out(scores, len(values)) if interval == "bca" else None
    articles = (~np.isnan(values)).sum(axis=0).astype(np.float64)
    bias = None if left_out is None else bias_of(observed, found, left_out)
    low, high = bounds(found, level, interval, articles, bias)
    tests = None
    if pairs:
        names = [card.run for card in scorecards]
        by_article = measure not in LIST_MEASURES or isinstance(gold, ItemGold)
        tests = (
            sign_flip_tests(names, values, rng, resamples)
            if by_article
            else bootstrap_tests(names, found, observed, values)
        )
        differences = Differences(
            values,
            observed,
            found,
            lambda: resampled(np.random.default_rng(seed), len(values), resamples),
            left_out,
            by_article=by_article,
        )
        tests = differences.described(tests, level, interval, power=power, seed=seed)
    intervals = _intervals(scorecards, observed, found, level, low, high)
    confidences = {card.run: card.confidence for card in scorecards if card.confidence is not None}
    return Comparison(
        measure=measure,
        resamples=resamples,
        level=level,
        interval=interval,
        power=power,
        intervals=sorted(
            intervals, key=lambda one: (one.rank, -confidences.get(one.run, 0.0), one.run)
        ),
        confidences=confidences,
        tests=tests,
        signature=replace(scorecards[0].signature, seed=seed),
    )


def check_paired(runs: int) -> None:
    """Raise `OptionError` if runs are too many for tests of all pairs."""
    if runs > MOST_PAIRED:
        raise OptionError(
            f"tests of all pairs of {runs} runs; expected at most {MOST_PAIRED} runs, "
            "or no tests of pairs (--no-pairs, pairs=False)"
        )


def _check_runs(names: Sequence[str], *, pairs: bool) -> None:
    """Refuse names that stand for two runs, and too many pairs."""
    for name, runs in Counter(names).items():
        if runs > 1:
            raise OptionError(f"{runs} runs are named {name!r}; expected a name a run")
    if pairs:
        check_paired(len(names))


def _observed(gold: Gold, scorecards: Sequence[Scorecard], measure: str, scores: Scores) -> Floats:
    """Return the scores of the runs; means over articles to the last bit as `evaluate` has them."""
    means = [getattr(card.means, measure) for card in scorecards if isinstance(card, ItemScorecard)]
    return np.array(means) if means else scores(np.ones((1, len(gold))))[0]


def _left_out(scores: Scores, articles: int) -> Matrix:
    """Return the scores with each article left out, a row an article."""
    if articles > MOST_LEFT_OUT:
        raise OptionError(f"bca of {articles} articles; expected at most {MOST_LEFT_OUT}")
    return np.concatenate([scores(weights) for weights in leave_one_out(articles)])


def _intervals(
    scorecards: Sequence[Scorecard],
    observed: Floats,
    scores: Matrix,
    level: float,
    low: Floats,
    high: Floats,
) -> list[Interval]:
    tails = [(1 - level) / 2, (1 + level) / 2]
    ranks = _ranked(scores)
    best, worst = np.quantile(ranks, tails, axis=0, method="closest_observation")
    leads = ranks == 1
    first = (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)  # a tie is shared
    rank = _ranked(observed[None, :])[0]
    return [
        Interval(
            run=card.run,
            articles_scored=card.articles_scored,
            articles_in_gold=card.articles_in_gold,
            score=float(observed[run]),
            low=float(low[run]),
            high=float(high[run]),
            rank=int(rank[run]),
            best_rank=int(best[run]),
            worst_rank=int(worst[run]),
            first=float(first[run]),
        )
        for run, card in enumerate(scorecards)
    ]


def _ranked(scores: Matrix) -> NDArray[np.int64]:
    """Return each row's ranks, 1 for the highest score; equal scores share the best rank.

    Scores that differ by rounding alone are equal: sums depend on the order of their parts.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    place = np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape).copy()
    place[:, 1:][ordered[:, :-1] - ordered[:, 1:] <= TIE] = 0
    ranks = np.empty_like(place)
    np.put_along_axis(ranks, order, np.maximum.accumulate(place, axis=1), axis=1)
    return ranks
