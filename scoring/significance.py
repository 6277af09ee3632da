"""What differences between runs are worth: document bootstrap, rank intervals, paired tests.

All runs are resampled together, article by article, so that one matrix product scores every run on
every resample (docs/scoring.md). Seeds are recorded in the signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scoring.gold import ActGold, Gold
from scoring.resampling import Matrix, on_resamples, resampled
from scoring.scorecard import Scorecard, Signature

_PAIRS_AT_ONCE = 256  # bounds memory: 10,000 flips of 256 pairs take 20 MB
_TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A run's score with its bootstrap interval, its rank with its interval, and P(rank 1)."""

    run: str
    score: float
    low: float
    high: float
    rank: int
    best_rank: int
    worst_rank: int
    first: float


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """A paired sign-flip test of two runs on the articles both are scored on.

    `difference` is the mean of `a` less the mean of `b` there; `p` is two-sided, `p_holm` is
    corrected for all pairs compared (Holm 1979).
    """

    a: str
    b: str
    articles: int
    difference: float
    p: float
    p_holm: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs compared on one measure, best first, and the tests of all pairs.

    `tested` is what the pairs are tested on: `measure`, or accuracy for ACT.
    """

    measure: str
    tested: str
    resamples: int
    level: float
    intervals: Sequence[Interval]
    pairs: Sequence[PairTest]
    signature: Signature


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
    weights = resampled(rng, values.shape[0], resamples)
    observed = scores(np.ones((1, values.shape[0])))[0]
    intervals = _intervals([card.run for card in scorecards], observed, scores(weights), level)
    return Comparison(
        measure=measure,
        tested="accuracy" if isinstance(gold, ActGold) else measure,
        resamples=resamples,
        level=level,
        intervals=sorted(intervals, key=lambda interval: (interval.rank, interval.run)),
        pairs=sign_flip_tests([card.run for card in scorecards], values, rng, resamples)
        if pairs
        else (),
        signature=replace(scorecards[0].signature, seed=seed),
    )


def _intervals(
    names: Sequence[str], observed: Matrix, scores: Matrix, level: float
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
            run=name,
            score=float(observed[run]),
            low=float(low[run]),
            high=float(high[run]),
            rank=int(rank[run]),
            best_rank=int(best[run]),
            worst_rank=int(worst[run]),
            first=float(first[run]),
        )
        for run, name in enumerate(names)
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


def sign_flip_tests(
    names: Sequence[str], values: Matrix, rng: np.random.Generator, flips: int
) -> list[PairTest]:
    """Return the sign-flip tests of all pairs of columns of `values` (articles, runs).

    If two runs were equally good, each article's difference could as well have the other sign
    (Fisher 1935; Smucker et al. 2007). p counts the flips whose mean is as far from 0 as the
    observed one, itself included.
    """
    signs = rng.integers(0, 2, (flips, len(values))) * 2.0 - 1.0
    indices = list(combinations(range(len(names)), 2))
    p_values: list[float] = []
    means: list[float] = []
    counts: list[int] = []
    for start in range(0, len(indices), _PAIRS_AT_ONCE):
        left, right = np.array(indices[start : start + _PAIRS_AT_ONCE]).T
        differences = values[:, left] - values[:, right]
        both = ~np.isnan(differences)
        differences[~both] = 0.0
        observed = differences.sum(axis=0)
        flipped = np.abs(signs @ differences)
        extreme = np.count_nonzero(flipped >= np.abs(observed) - _TIE, axis=0)
        p_values += ((extreme + 1) / (flips + 1)).tolist()
        counts += both.sum(axis=0).tolist()
        means += np.divide(observed, both.sum(axis=0).clip(1)).tolist()
    return [
        PairTest(a=names[a], b=names[b], articles=count, difference=mean, p=p, p_holm=corrected)
        for (a, b), count, mean, p, corrected in zip(
            indices, counts, means, p_values, holm(p_values), strict=True
        )
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down corrections of p-values, in their order, each in [0, 1]."""
    corrected = [1.0] * len(p_values)
    worst = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = worst
    return corrected
