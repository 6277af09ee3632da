"""Differences of pairs of runs: their intervals, their sizes, and the articles they would need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from scoring.bounds import Floats, IntervalKind, bias_of, bounds
from scoring.errors import OptionError
from scoring.power import MOST_PAIRS, articles_needed, articles_needed_of
from scoring.resampling import CELLS, Matrix, leave_one_out, weighted_means
from scoring.sign_flips import PairTest, PairTests, Places

Blocks = Callable[[], Iterator[Matrix]]
"""Gives the resamples of the articles, the same at every call."""


class Differences:
    """The differences of all pairs of runs, observed and on resamples.

    `values` (articles, runs) are those of the articles, NaN where not scored; `resamples`
    (resamples, runs) and `left_out` (articles, runs; only for BCa) the scores of the runs. A pair
    that is scored on the same articles differs as its scores do. Others are compared on the
    articles that both are scored on, which takes another pass over the resamples (`blocks`).
    """

    def __init__(
        self,
        values: Matrix,
        observed: Floats,
        resamples: Matrix,
        blocks: Blocks,
        left_out: Matrix | None,
        *,
        by_article: bool,
    ) -> None:
        self._values, self._observed = values, observed
        self._columns = np.ascontiguousarray(resamples.T)  # a run's scores lie in one piece
        self._blocks, self._left_out, self._by_article = blocks, left_out, by_article
        self._left, self._right = np.triu_indices(values.shape[1], 1)
        present = (~np.isnan(values)).astype(np.float64)
        counts = (present.T @ present)[self._left, self._right]
        own = present.sum(axis=0)
        self._counts = counts
        self._alike = (own[self._left] == counts) & (own[self._right] == counts)

    def described(
        self, tests: PairTests, level: float, kind: IntervalKind, *, power: bool, seed: int
    ) -> PairTests:
        """Return the tests with the interval and the effect size of each difference.

        With `power` also how many articles would separate the pair, at the p that `level` leaves.
        """
        if power and len(tests.pairs) > MOST_PAIRS:
            raise OptionError(f"power of {len(tests.pairs)} pairs; expected at most {MOST_PAIRS}")
        described: list[PairTest] = list(tests.pairs)
        at_once = max(1, CELLS // max(self._columns.shape[1], len(self._values)))
        for some in self._groups(at_once):
            found, left_out = self._resampled(some)
            observed = self._observed_of(some)
            bias = None if left_out is None else bias_of(observed, found, left_out)
            low, high = bounds(found, level, kind, self._counts[some], bias)
            for column, place in enumerate(some.tolist()):
                if tests.pairs[place].difference is not None:
                    described[place] = replace(
                        tests.pairs[place],
                        low=float(low[column]),
                        high=float(high[column]),
                        effect=self._effect(place, found[:, column]),
                        articles_needed=self._needed(place, found[:, column], 1 - level, seed)
                        if power
                        else None,
                    )
        return replace(tests, pairs=described)

    def _groups(self, at_once: int) -> Iterator[Places]:
        for kind in (self._alike | (not self._by_article), ~self._alike & self._by_article):
            pairs = np.flatnonzero(kind)
            yield from (pairs[start : start + at_once] for start in range(0, len(pairs), at_once))

    def _observed_of(self, some: Places) -> Floats:
        if not self._by_article or self._alike[some[0]]:
            alike: Floats = self._observed[self._left[some]] - self._observed[self._right[some]]
            return alike
        means: Floats = weighted_means(self._of_articles(some), np.ones((1, len(self._values))))[0]
        return means

    def _resampled(self, some: Places) -> tuple[Matrix, Matrix | None]:
        """Return differences of pairs (columns) on resamples, and with each article left out."""
        left, right = self._left[some], self._right[some]
        if not self._by_article or self._alike[some[0]]:
            jackknife = self._left_out
            found = (self._columns[left] - self._columns[right]).T
            return found, None if jackknife is None else jackknife[:, left] - jackknife[:, right]
        values = self._of_articles(some)
        found = np.concatenate([weighted_means(values, weights) for weights in self._blocks()])
        if self._left_out is None:
            return found, None
        without = leave_one_out(len(values))
        return found, np.concatenate([weighted_means(values, weights) for weights in without])

    def _of_articles(self, some: Places) -> Matrix:
        """Return the differences of pairs (columns) on articles, NaN where not both are scored."""
        return self._values[:, self._left[some]] - self._values[:, self._right[some]]

    def _scored(self, pair: int) -> Floats:
        values = self._of_articles(np.array([pair]))[:, 0]
        return values[~np.isnan(values)]

    def _effect(self, pair: int, resamples: Floats) -> float | None:
        """Return the difference in standard deviations of an article's difference."""
        if self._by_article:
            scored = self._scored(pair)
            mean = scored.mean()
            deviation = scored.std(ddof=1) if len(scored) > 1 else 0.0
        else:  # what an article's would have to be for this standard error
            mean = self._observed[self._left[pair]] - self._observed[self._right[pair]]
            deviation = resamples.std(ddof=1) * np.sqrt(len(self._values))
        return float(mean / deviation) if deviation > 1e-9 else None

    def _needed(self, pair: int, resamples: Floats, alpha: float, seed: int) -> int | None:
        if self._by_article:
            return articles_needed(self._scored(pair), alpha=alpha, seed=seed)
        difference = self._observed[self._left[pair]] - self._observed[self._right[pair]]
        return articles_needed_of(float(difference), resamples, len(self._values), alpha=alpha)
