"""Paired bootstrap tests of all pairs of runs, corrected for their number by step-down maxT.

For measures of a run's whole list, which no article has by itself: AUC iP/R and MCC of ACT. The
differences on resamples of the articles, less the observed difference, show how far a difference
strays where there is none; in standard errors, the most extreme of all pairs of each resample
gives the correction (Westfall & Young 1993, chapter 2; Romano & Wolf 2005). All pairs are on the
same resamples, those of the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoring.bounds import TIE, Floats
from scoring.resampling import CELLS, Matrix
from scoring.sign_flips import PairTest, PairTests, Places


def bootstrap_tests(
    names: Sequence[str], resamples: Matrix, observed: Floats, values: Matrix
) -> PairTests:
    """Test all pairs of columns of `resamples` (resamples, runs), whose scores are `observed`.

    `values` (articles, runs) is NaN where a run is not scored on an article.
    """
    left, right = np.triu_indices(len(names), 1)
    pairs = _Strays(resamples, observed, left, right)
    falling = np.argsort(-pairs.statistics, kind="stable")
    alone, among = np.zeros((2, len(left)), dtype=np.intp)
    greatest = np.zeros(len(resamples))
    at_once = max(1, CELLS // len(resamples))
    for start in range(0, len(left), at_once):
        some = falling[::-1][start : start + at_once]
        strays, reached = pairs.of(some), pairs.statistics[some, None] - TIE
        alone[some] = np.count_nonzero(strays >= reached, axis=1)
        for row in strays:
            greatest = np.maximum(row, greatest, out=row)
        among[some] = np.count_nonzero(strays >= reached, axis=1)
    taken = len(resamples) + 1  # the differences as observed count as one more
    p = (alone + 1) / taken
    adjusted = np.maximum((among + 1) / taken, p)
    adjusted[falling] = np.maximum.accumulate(adjusted[falling])
    scored = ~np.isnan(values)
    found = zip(
        left.tolist(),
        right.tolist(),
        pairs.differences.tolist(),
        p.tolist(),
        adjusted.tolist(),
        strict=True,
    )
    tests = [
        PairTest(
            a=names[a],
            b=names[b],
            articles_scored=int((scored[:, a] & scored[:, b]).sum()),
            articles_in_gold=len(values),
            difference=difference,
            p=own,
            p_adjusted=corrected,
            p_floor=1 / taken,
        )
        for a, b, difference, own, corrected in found
    ]
    return PairTests(
        pairs=tests, kind="bootstrap", flips=len(resamples), exact=False, p_floor=1 / taken
    )


class _Strays:
    """All pairs of runs: their observed differences, and how far those of resamples stray."""

    def __init__(self, resamples: Matrix, observed: Floats, left: Places, right: Places) -> None:
        self._columns = np.ascontiguousarray(resamples.T)
        self._left, self._right = left, right
        self.differences = observed[left] - observed[right]
        self._errors = np.ones(len(left))
        at_once = max(1, CELLS // len(resamples))
        for start in range(0, len(left), at_once):
            some = slice(start, start + at_once)
            spread = (self._columns[left[some]] - self._columns[right[some]]).std(axis=1, ddof=1)
            self._errors[some] = np.where(spread > TIE, spread, 1.0)
        self.statistics = np.abs(self.differences) / self._errors

    def of(self, some: Places) -> Matrix:
        """Return how far the differences of pairs (rows) stray on resamples, in standard errors."""
        found = self._columns[self._left[some]] - self._columns[self._right[some]]
        return np.abs(found - self.differences[some, None]) / self._errors[some, None]
