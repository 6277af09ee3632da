"""Paired sign-flip tests of all pairs of runs, corrected for their number by step-down maxT.

If two runs were equally good, the difference on each article could as well have the other sign
(Fisher 1935; Smucker et al. 2007). A flip gives each article one sign, for all pairs at once: so
the flips that give a pair its p also show how far the most extreme of many pairs strays by chance
(Westfall & Young 1993, algorithm 4.1). Flips and pairs are worked on in blocks of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.bounds import TIE
from scoring.resampling import CELLS, Matrix

Vector: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]

_FLIPS_AT_ONCE, _PAIRS_AT_ONCE = 2048, 256  # the statistics of a block, 4 MB, stay in a cache


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """A paired test of two runs on the articles both are scored on.

    `difference` is the mean of `a` less the mean of `b` there (of a measure of whole lists, the
    score of `a` less that of `b`), None where there are none; `low` and `high` are its interval.
    `effect` is the difference in standard deviations of an article's difference, None where these
    are all equal. `p` is two-sided; `p_adjusted` is corrected for all pairs compared. `p_floor` is
    the least that `p` could have been: 2^(1-n) for n articles on which the two differ, or what the
    number of flips allows if that is more. All three lie in ]0, 1]. `articles_needed` is how many
    articles would separate the two (`scoring.power`), None where not asked for or too many.
    """

    a: str
    b: str
    articles_scored: int
    articles_in_gold: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    p: float
    p_adjusted: float
    p_floor: float
    articles_needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairTests:
    """The tests of all pairs, made on the same flips, or (`bootstrap`) on as many resamples.

    `exact`: the `flips` are all that there are, not a random part of them. `p_floor` is the least
    that the `p_adjusted` of any pair could have been, had all its differences had one sign.
    """

    pairs: Sequence[PairTest]
    kind: Literal["sign flips", "bootstrap"] = "sign flips"
    flips: int
    exact: bool
    p_floor: float


def sign_flip_tests(
    names: Sequence[str], values: Matrix, rng: np.random.Generator, flips: int
) -> PairTests:
    """Test all pairs of columns of `values` (articles, runs; NaN where a run is not scored).

    Where the articles on which any two runs differ have no more than `flips` distinct flips, each
    of these is taken once; otherwise `flips` are drawn at random, and the signs as they were
    observed count as one more.
    """
    pairs = _Pairs(values)
    exact = pairs.articles <= flips.bit_length()  # 2^(articles - 1) <= flips
    blocks = _every_flip(pairs.articles) if exact else _some_flips(rng, pairs.articles, flips)
    reached = _reached(pairs, blocks)
    taken, own = (1 << max(0, pairs.articles - 1), 0) if exact else (flips, 1)
    floors = np.maximum(pairs.floors, 1 / (taken + own))
    p = np.maximum((reached.alone + own) / (taken + own), floors)
    adjusted = np.maximum((reached.among + own) / (taken + own), p)
    adjusted[pairs.falling] = np.maximum.accumulate(adjusted[pairs.falling])
    return PairTests(
        pairs=_tests(names, pairs, p, adjusted, floors),
        flips=taken,
        exact=exact,
        p_floor=(reached.extreme + own) / (taken + own),
    )


class _Pairs:
    """All pairs of runs: what was observed of each, and the statistics of flips.

    The statistic of a pair is the size of the sum of its differences, in standard deviations of
    that sum over all flips: the root of the sum of squares, which no flip changes. So all pairs
    are on one scale, whatever the spread of their differences.
    """

    def __init__(self, values: Matrix) -> None:
        present = ~np.isnan(values)
        differing = values[_informative(values, present)]
        self._values = np.ascontiguousarray(differing.T)  # (runs, articles)
        self.in_gold, self.articles = len(values), len(differing)
        self.left, self.right = np.triu_indices(values.shape[1], 1)
        self.counts = (present.T @ present.astype(np.float64))[self.left, self.right]
        size = len(self.left)
        self.sums, self.extremes, self.floors = np.zeros(size), np.zeros(size), np.zeros(size)
        self._deviations = np.ones(size)
        for some in self._blocks(np.arange(size)):
            self._observe(some)
        self.statistics = np.abs(self.sums) / self._deviations
        self.falling = np.argsort(-self.statistics, kind="stable")

    def _observe(self, some: Places) -> None:
        differences = self._differences(some)
        deviations = np.sqrt(np.square(differences).sum(axis=1))
        self._deviations[some] = np.where(deviations > 0, deviations, 1.0)
        self.sums[some] = differences.sum(axis=1)
        self.extremes[some] = np.abs(differences).sum(axis=1) / self._deviations[some]
        differing = np.count_nonzero(differences, axis=1)
        self.floors[some] = np.ldexp(1.0, np.minimum(0, 1 - differing))

    def flipped(self, signs: Matrix) -> Iterator[tuple[Places, Matrix]]:
        """Yield blocks of pairs by rising statistic, with their statistics on flips.

        `signs` has a row a flip; the statistics have a row a pair and a column a flip.
        """
        for some in self._blocks(self.falling[::-1]):
            differences = self._differences(some) / self._deviations[some, None]
            yield some, np.abs(differences @ signs.T)

    def _blocks(self, pairs: Places) -> Iterator[Places]:
        at_once = _part(self.articles, _PAIRS_AT_ONCE)
        return (pairs[start : start + at_once] for start in range(0, len(pairs), at_once))

    def _differences(self, some: Places) -> Matrix:
        """Return the differences of pairs (rows), 0 where one of the two is not scored."""
        differences = self._values[self.left[some]] - self._values[self.right[some]]
        differences[~(np.abs(differences) > TIE)] = 0.0
        return differences


def _informative(values: Matrix, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return, for each article, whether any two runs differ there: other signs have no effect."""
    highest = np.where(present, values, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(present, values, np.inf).min(axis=1, initial=np.inf)
    telling: NDArray[np.bool_] = highest - lowest > TIE
    return telling


def _part(articles: int, most: int) -> int:
    """Return how many rows of that many articles a block may have."""
    return max(1, min(most, CELLS // max(1, articles)))


def _some_flips(rng: np.random.Generator, articles: int, flips: int) -> Iterator[Matrix]:
    """Yield random signs, a row a flip."""
    at_once = _part(articles, _FLIPS_AT_ONCE)
    for start in range(0, flips, at_once):
        rows = min(at_once, flips - start)
        yield 1.0 - 2.0 * rng.integers(0, 2, (rows, articles)).astype(np.float64)


def _every_flip(articles: int) -> Iterator[Matrix]:
    """Yield the signs of every flip but their opposites, which have the same statistics."""
    flips = np.arange(1 << max(0, articles - 1))
    for start in range(0, len(flips), _FLIPS_AT_ONCE):
        bits = flips[start : start + _FLIPS_AT_ONCE, None] >> np.arange(articles) & 1
        yield 1.0 - 2.0 * bits.astype(np.float64)


class _Reached(NamedTuple):
    """Counts of the flips whose statistic reaches the observed one."""

    alone: Places  # the pair's own statistic does
    among: Places  # the greatest does, of the pair and of those with a lower observed statistic
    extreme: int  # the greatest of all reaches the most that any pair could have had


def _reached(pairs: _Pairs, blocks: Iterator[Matrix]) -> _Reached:
    alone, among = np.zeros((2, len(pairs.left)), dtype=np.intp)
    extreme, most = 0, pairs.extremes.max(initial=0.0) - TIE
    for signs in blocks:
        greatest = np.zeros(len(signs))
        for some, statistics in pairs.flipped(signs):
            bounds = pairs.statistics[some, None] - TIE
            alone[some] += np.count_nonzero(statistics >= bounds, axis=1)
            for row in statistics:  # ten times as fast as np.maximum.accumulate
                greatest = np.maximum(row, greatest, out=row)
            among[some] += np.count_nonzero(statistics >= bounds, axis=1)
        extreme += int(np.count_nonzero(greatest >= most))
    return _Reached(alone, among, extreme)


def _tests(
    names: Sequence[str], pairs: _Pairs, p: Vector, adjusted: Vector, floors: Vector
) -> list[PairTest]:
    columns = (pairs.left, pairs.right, pairs.counts.astype(int), pairs.sums, p, adjusted, floors)
    return [
        PairTest(
            a=names[a],
            b=names[b],
            articles_scored=count,
            articles_in_gold=pairs.in_gold,
            difference=total / count if count else None,
            p=own,
            p_adjusted=corrected,
            p_floor=floor,
        )
        for a, b, count, total, own, corrected, floor in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]
