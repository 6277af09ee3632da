"""Intervals from resamples: percentile, expanded percentile and BCa.

`expanded` is the default: the percentile interval of few articles is too short, since resamples
spread less than samples by the root of (n - 1) / n and a normal quantile is taken for Student's.
Hesterberg 2015, "What teachers should know about the bootstrap", corrects both by the tails that
are cut. `bca` is that of Efron 1987, "Better bootstrap confidence intervals". How often each holds
the true score is in docs/comparing.md.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
IntervalKind: TypeAlias = Literal["expanded", "percentile", "bca"]
KINDS: tuple[str, ...] = get_args(IntervalKind)
TIE = 1e-9
"""Differences of scores, and of statistics, that are due to rounding."""


class Bias(NamedTuple):
    """The correction of a BCa interval, a value a column: `shift` is z0, `acceleration` a."""

    shift: Floats
    acceleration: Floats


def bounds(
    resamples: Floats,
    level: float,
    kind: IntervalKind,
    articles: Floats,
    bias: Bias | None = None,
) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds of columns of resampled values, at probability `level`.

    `articles` is how many articles each column rests on, which `expanded` needs; `bias` what `bca`
    needs (`bias_of`).
    """
    lower, upper = _tails(level, kind, articles, bias)
    return _quantiles(resamples, lower, upper)


def _tails(
    level: float, kind: IntervalKind, articles: Floats, bias: Bias | None
) -> tuple[Floats, Floats]:
    """Return the probabilities, a value a column, at which the two bounds lie."""
    from scipy.special import ndtr, ndtri, stdtrit  # slow to load: only where there are intervals

    lower, upper = np.full((2, len(articles)), [[(1 - level) / 2], [(1 + level) / 2]])
    if kind == "percentile":
        return lower, upper
    if kind == "expanded":
        freedom = np.maximum(articles - 1, 1)
        wider = np.sqrt((freedom + 1) / freedom) * stdtrit(freedom, upper)
        tail = np.where(articles > 1, ndtr(-wider), 0.0)  # one article has no spread to go by
        return tail, 1 - tail
    assert bias is not None
    normal = bias.shift + ndtri(lower), bias.shift + ndtri(upper)
    lower, upper = (
        ndtr(bias.shift + z / np.maximum(1 - bias.acceleration * z, 1e-9)) for z in normal
    )
    return lower, upper


def student_bounds(
    observed: Floats, strays: tuple[Floats, Floats], articles: tuple[Floats, Floats], level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the bounds and the two-sided p of differences of two samples, a value a column.

    `strays` are how far each sample's values stray on its own resamples, `articles` how many they
    rest on, at least two. The normal quantiles are taken for Student's, with the degrees of
    freedom of Welch 1947, "The generalization of Student's problem when several different
    population variances are involved".
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    parts = [one.var(axis=0) for one in strays]
    squares = sum(part**2 / (n - 1) for part, n in zip(parts, articles, strict=True))
    freedom = np.maximum(np.divide((parts[0] + parts[1]) ** 2, np.maximum(squares, 1e-300)), 1.0)
    tail = ndtr(stdtrit(freedom, (1 - level) / 2))
    apart = strays[0] - strays[1]
    reached = np.abs(apart) >= np.abs(observed) - TIE
    share = (np.count_nonzero(reached, axis=0) + 1) / (len(apart) + 1)
    p = 2 * stdtr(freedom, ndtri(share / 2))  # the tail of the normal, as Student's
    return *_quantiles(observed + apart, tail, 1 - tail), p


def bias_of(observed: Floats, resamples: Floats, left_out: Floats) -> Bias:
    """Return the correction of BCa intervals.

    `left_out` has a row an article, with the values that all other articles have (jackknife).
    Resamples that equal the observed value count half below it.
    """
    from scipy.special import ndtri

    below = (
        (resamples < observed - TIE).mean(axis=0) + (resamples <= observed + TIE).mean(axis=0)
    ) / 2
    least = 0.5 / len(resamples)
    away = left_out.mean(axis=0) - left_out
    squares = np.square(away).sum(axis=0)
    cubes = (away**3).sum(axis=0)
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0)
    return Bias(ndtri(np.clip(below, least, 1 - least)), acceleration)


def _quantiles(columns: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return two quantiles of each column, interpolated as `numpy.quantile` does."""
    last = len(columns) - 1
    places = np.clip([lower, upper], 0, 1) * last
    below = np.floor(places).astype(np.intp)
    above = np.minimum(below + 1, last)
    read = np.unique([below, above])  # what lies between them need not be in order
    ordered = np.partition(columns.T, read, axis=1)  # rows in one piece, which is faster
    rows = np.arange(len(ordered))
    low, high = ordered[rows, below], ordered[rows, above]
    found: Floats = low + (high - low) * (places - below)
    return found[0], found[1]
