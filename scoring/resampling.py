"""Runs scored on resamples of the gold's articles, all runs and resamples at once.

A resample is a row of weights: how often each article was drawn. A mean over articles is then a
matrix product; a ranked list (ACT) is the list that repeats each article as often as it weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.columns import Places, Truths
from scoring.errors import OptionError
from scoring.gold import ActGold, Gold, ItemGold
from scoring.scorecard import ActScorecard, ItemScorecard, Scorecard

Matrix: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = Callable[[Matrix], Matrix]
"""Scores runs on resamples: weights (resamples, articles) in, scores (resamples, runs) out."""

CELLS = 1 << 22
"""Numbers in a block of rows, at most: 32 MB, whatever the number of articles."""
MOST_RESAMPLES = 1_000_000
"""More resamples than this are refused; their scores are kept, eight bytes a run."""

_DRAWN_AT_ONCE = 1 << 15  # articles; their places and counts, 0.5 MB
_RESAMPLES_AT_ONCE = 2048  # their counts for 600 articles, 5 MB, fit into a processor's cache

ITEM_MEASURES = ("auc_ipr", "f_score", "precision", "recall")
ACT_MEASURES = ("auc_ipr", "mcc", "accuracy", "sensitivity", "specificity")

_LABELS = {"sensitivity": True, "specificity": False}
"""The measures that are of the articles with one label alone."""


def resampled(rng: np.random.Generator, articles: int, resamples: int) -> Iterator[Matrix]:
    """Yield blocks of how often each article is in each resample drawn with replacement.

    A block has at most `CELLS` numbers (one row where there are more articles); the resamples are
    the same whatever the blocks.
    """
    at_once = max(1, CELLS // max(1, articles))
    for start in range(0, resamples, at_once):
        block = np.empty((min(at_once, resamples - start), articles))
        for some in np.split(block, range(_part(articles), len(block), _part(articles))):
            drawn = rng.integers(0, articles, some.shape)
            drawn += np.arange(len(some))[:, None] * articles
            some[:] = np.bincount(drawn.ravel(), minlength=some.size).reshape(some.shape)
        yield block


def _part(articles: int) -> int:
    """Return how many rows are drawn at a time: what fits into a processor's cache."""
    return max(1, _DRAWN_AT_ONCE // max(1, articles))


def leave_one_out(articles: int) -> Iterator[Matrix]:
    """Yield blocks of rows that each leave one article out, in turn."""
    at_once = max(1, CELLS // max(1, articles))
    for start in range(0, articles, at_once):
        left_out = np.arange(start, min(start + at_once, articles))
        yield (left_out[:, None] != np.arange(articles)).astype(np.float64)


def on_resamples(
    gold: Gold, scorecards: Sequence[Scorecard], measure: str
) -> tuple[Matrix, Scores]:
    """Return the values (articles, runs), NaN where not scored, and the measure on resamples."""
    if isinstance(gold, ActGold):
        if measure not in ACT_MEASURES:
            raise OptionError(f"measure {measure!r}; expected one of {', '.join(ACT_MEASURES)}")
        runs = [card for card in scorecards if isinstance(card, ActScorecard)]
        correct = _correctness(gold, runs)
        if measure in _LABELS:  # the share of one class that was classified correctly
            correct[gold.truth != _LABELS[measure]] = np.nan
        by_measure: dict[str, Scores] = {
            "auc_ipr": lambda weights: _weighted_auc(gold, runs, weights),
            "mcc": lambda weights: _weighted_mcc(gold, runs, weights),
        }
        return correct, by_measure.get(measure, lambda weights: weighted_means(correct, weights))
    if measure not in ITEM_MEASURES:
        raise OptionError(f"measure {measure!r}; expected one of {', '.join(ITEM_MEASURES)}")
    cards = [card for card in scorecards if isinstance(card, ItemScorecard)]
    values = article_values(gold, cards, measure)
    return values, lambda weights: weighted_means(values, weights)


def article_values(gold: ItemGold, scorecards: Sequence[ItemScorecard], measure: str) -> Matrix:
    """Return a measure of every gold article (rows) and run (columns), NaN where not scored.

    Articles whose gold is empty are scored by no measure, as in the macro-averages.
    """
    values = np.full((len(gold), len(scorecards)), np.nan)
    for run, card in enumerate(scorecards):
        scores = card.articles
        values[scores.lists.places[scores.gold > 0], run] = scores.counted(measure)
    return values


def weighted_means(values: Matrix, weights: Matrix) -> Matrix:
    """Return the means of columns (rows a resample), articles weighted, NaN left out; 0 of none."""
    scored = ~np.isnan(values)
    sums = weights @ np.where(scored, values, 0.0)
    counts = weights @ scored.astype(np.float64)
    return _ratio(sums, counts)


def _ratio(parts: Matrix, wholes: Matrix) -> Matrix:
    """Return parts / wholes, 0 where the whole is 0."""
    ratio: Matrix = np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
    return ratio


def _correctness(gold: ActGold, runs: Sequence[ActScorecard]) -> Matrix:
    """Return 1 where a run (columns) classified an article (rows) correctly, 0 where not."""
    correct = np.full((len(gold), len(runs)), np.nan)
    for column, run in enumerate(runs):
        correct[run.ranked, column] = gold.truth[run.ranked] == run.called
    return correct


def _weighted_auc(gold: ActGold, runs: Sequence[ActScorecard], weights: Matrix) -> Matrix:
    """Return AUC iP/R of lists that repeat each article as often as its weight."""
    areas = np.zeros((len(weights), len(runs)))
    for start in range(0, len(weights), _RESAMPLES_AT_ONCE):
        some = slice(start, start + _RESAMPLES_AT_ONCE)
        counts = weights[some].T.astype(np.int32, order="C")  # rows lie in one piece
        for column, run in enumerate(runs):
            areas[some, column] = _interpolated_sums(gold.truth, run.ranked, counts)
    return _ratio(areas, weights @ _truths(gold, runs))


def _truths(gold: ActGold, runs: Sequence[ActScorecard]) -> Matrix:
    """Return 1 where an article (rows) is relevant and counts for a run (columns)."""
    truths = np.empty((len(gold), len(runs)))
    for column, run in enumerate(runs):
        truths[:, column] = gold.truth if run.counted is None else gold.truth & run.counted
    return truths


def _interpolated_sums(truth: Truths, ranked: Places, counts: NDArray[np.int32]) -> Matrix:
    """Return the sum of interpolated precisions over the relevant articles, a value a resample.

    `counts` has the number of times that each article (rows) occurs in each resample (columns).
    One pass from the end of the list serves all resamples: the best precision so far is that of
    the rank or any later one, and a list's best precision is reached at a relevant article.
    """
    listed = ranked[: np.flatnonzero(truth[ranked]).max(initial=-1) + 1]
    hits = counts[listed].sum(axis=0, dtype=np.int32)
    correct = counts[listed[truth[listed]]].sum(axis=0, dtype=np.int32)
    area, best = np.zeros(len(hits)), np.zeros(len(hits))
    for article in reversed(listed.tolist()):
        if truth[article]:
            np.maximum(best, correct / np.maximum(hits, 1), out=best)
            area += best * counts[article]
            correct -= counts[article]
        hits -= counts[article]
    return area


def _weighted_mcc(gold: ActGold, runs: Sequence[ActScorecard], weights: Matrix) -> Matrix:
    shape = (len(gold), len(runs))
    reported, called = np.zeros(shape), np.zeros(shape)
    for column, run in enumerate(runs):
        reported[run.ranked, column] = 1
        called[run.ranked, column] = run.called
    truth = gold.truth[:, None].astype(np.float64)
    tp, fp = weights @ (called * truth), weights @ (called * (1 - truth))
    fn = weights @ ((reported - called) * truth)
    tn = weights @ ((reported - called) * (1 - truth))
    root = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return _ratio(tp * tn - fp * fn, root)
