"""Significance of differences between runs: document bootstrap, rank intervals, paired tests.

All runs are resampled together, article by article, so that one matrix product scores every run on
every resample (docs/scoring.md). Seeds are recorded in the signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scoring.gold import ActGold, Gold
from scoring.resampling import Matrix, on_resamples, resampled
from scoring.scorecard import Scorecard, Signature
from scoring.sign_flips import PairTest, PairTests, sign_flip_tests


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

    `tested` is what the pairs are tested on: `measure`, or accuracy for ACT. `tests` is None where
    the tests were left out.
    """

    measure: str
    tested: str
    resamples: int
    level: float
    intervals: Sequence[Interval]
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
) -> Comparison:
    """Compare runs on `measure` by `resamples` resamples of the gold's articles.

    INT and IPT runs are compared on macro-averages (`resampling.ITEM_MEASURES`), ACT runs on
    `resampling.ACT_MEASURES`; the pairs of ACT runs are tested on accuracy, the one measure that
    articles have one by one. `level` is the intervals' probability, in ]0, 1[.
    """
    rng = np.random.default_rng(seed)
    values, scores = on_resamples(gold, scorecards, measure)
    blocks = resampled(rng, len(values), resamples)
    found = np.concatenate([scores(weights) for weights in blocks])
    intervals = _intervals(scorecards, scores(np.ones((1, len(values))))[0], found, level)
    return Comparison(
        measure=measure,
        tested="accuracy" if isinstance(gold, ActGold) else measure,
        resamples=resamples,
        level=level,
        intervals=sorted(intervals, key=lambda interval: (interval.rank, interval.run)),
        tests=sign_flip_tests([card.run for card in scorecards], values, rng, resamples)
        if pairs
        else None,
        signature=replace(scorecards[0].signature, seed=seed),
    )


def _intervals(
    scorecards: Sequence[Scorecard], observed: Matrix, scores: Matrix, level: float
) -> list[Interval]:
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(scores, tails, axis=0)
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
    """Return each row's ranks, 1 for the highest score; equal scores share the best rank."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    place = np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape).copy()
    place[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = 0
    ranks = np.empty_like(place)
    np.put_along_axis(ranks, order, np.maximum.accumulate(place, axis=1), axis=1)
    return ranks
