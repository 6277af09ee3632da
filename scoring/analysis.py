"""Analysis of articles over many runs: easy articles, hard ones, and likely gold errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.gold import ActGold, ItemGold
from scoring.resampling import Matrix, article_values
from scoring.scorecard import ActScorecard, ItemScorecard

AGREEMENT = 0.9
"""The share of runs that must contradict a label before it is called doubtful."""
LEAST_RUNS = 3
"""Fewer runs than this are no majority against a curator."""


@dataclass(frozen=True, kw_only=True)
class ArticleRank:
    """An ACT article's place in the runs' ranked lists, each run weighted by its AUC iP/R.

    `mean` and `deviation` are of the rank (1 is the top); `high` is the share of the runs that
    rank the article among as many first ones as articles are relevant. `doubtful` marks a likely
    gold error: an irrelevant article that nearly all runs rank high.
    """

    article: str
    relevant: bool
    runs: int
    mean: float
    deviation: float
    high: float
    doubtful: bool


@dataclass(frozen=True, kw_only=True)
class ArticleDifficulty:
    """The results of INT or IPT runs on one article, each run weighted by its macro AUC iP/R.

    `mean` and `deviation` are of the article's AUC iP/R, `best` is the best run's.
    """

    article: str
    items: int
    runs: int
    mean: float
    deviation: float
    best: float


def article_ranks(gold: ActGold, runs: Sequence[ActScorecard]) -> list[ArticleRank]:
    """Return every article's mean rank over the runs that list it, best first.

    After Fig. 4 of the BC II.5 overview (Leitner et al. 2010). Articles no run lists are left out.
    """
    ranks = np.full((len(gold), len(runs)), np.nan)
    for column, run in enumerate(runs):
        ranks[run.ranked, column] = np.arange(1, len(run.ranked) + 1)
    means, deviations = weighted_moments(ranks, np.array([run.auc_ipr for run in runs]))
    listed = (~np.isnan(ranks)).sum(axis=1)
    high = (ranks <= gold.positives).sum(axis=1) / listed.clip(1)
    found = [
        ArticleRank(
            article=article,
            relevant=gold.relevant[article],
            runs=int(listed[row]),
            mean=float(means[row]),
            deviation=float(deviations[row]),
            high=float(high[row]),
            doubtful=not gold.relevant[article]
            and bool(listed[row] >= LEAST_RUNS and high[row] >= AGREEMENT),
        )
        for row, article in enumerate(gold.articles)
        if listed[row]
    ]
    return sorted(found, key=lambda one: one.mean)


def article_difficulty(gold: ItemGold, runs: Sequence[ItemScorecard]) -> list[ArticleDifficulty]:
    """Return every article's mean AUC iP/R over the runs that answered it, easiest first."""
    values = article_values(gold, runs, "auc_ipr")
    weights = np.array([run.means.auc_ipr for run in runs])
    means, deviations = weighted_moments(values, weights)
    answered = (~np.isnan(values)).sum(axis=1)
    found = [
        ArticleDifficulty(
            article=article,
            items=int(gold.sizes[row]),
            runs=int(answered[row]),
            mean=float(means[row]),
            deviation=float(deviations[row]),
            best=float(np.nanmax(values[row])),
        )
        for row, article in enumerate(gold.articles)
        if answered[row]
    ]
    return sorted(found, key=lambda one: -one.mean)


def weighted_moments(values: Matrix, weights: NDArray[np.float64]) -> tuple[Matrix, Matrix]:
    """Return the weighted mean and deviation of each row, missing values (NaN) left out.

    Where a row's runs all weigh 0 they weigh the same.
    """
    present = ~np.isnan(values)
    spread = present * weights
    spread[spread.sum(axis=1) == 0] = present[spread.sum(axis=1) == 0]
    total = spread.sum(axis=1).clip(np.finfo(float).tiny)
    filled = np.where(present, values, 0.0)
    means = (filled * spread).sum(axis=1) / total
    squares = np.where(present, values - means[:, None], 0.0) ** 2
    return means, np.sqrt((squares * spread).sum(axis=1) / total)
