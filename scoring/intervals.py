"""Bootstrap intervals of measures that follow from sums over articles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap_tests import bootstrap_tests
from scoring.resampling import resampled
from scoring.sign_flips import PairTest

LEVEL = 0.95
RESAMPLES = 10_000

Values: TypeAlias = NDArray[np.float64]


class Bounds(NamedTuple):
    """The interval that holds a measure in 95 % of the resamples."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{self.low:.3f}, {self.high:.3f}]"


def interval(
    rows: Iterable[Sequence[float]],
    measure: Callable[..., float | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 2009,
) -> Bounds | None:
    """Return the bootstrap interval of a measure of summed rows, one row an article.

    Resamples on which the measure is None do not count; None if that is all.
    """
    return bounds_of(on_resamples(rows, measure, resamples=resamples, seed=seed))


def on_resamples(
    rows: Iterable[Sequence[float]],
    measure: Callable[..., float | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 2009,
) -> Values:
    """Return a measure of summed rows, one row an article, on each resample; NaN where undefined.

    Whole articles are drawn with replacement, as in `scoring.resampling`: the same ones for equally
    many rows. `measure` takes the members of a summed row.
    """
    table = np.array(list(rows), dtype=float)
    if not table.size or not resamples:
        return np.empty(0)
    blocks = resampled(np.random.default_rng(seed), len(table), resamples)
    values = [measure(*row) for weights in blocks for row in (weights @ table).tolist()]
    return np.array(values, dtype=float)  # None becomes NaN


def bounds_of(values: Values) -> Bounds | None:
    """Return the interval of a measure from its values on resamples; None where all are NaN."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Bounds(low, high)


def paired_tests(
    runs: Mapping[str, tuple[float | None, Values]], articles: int
) -> Sequence[PairTest]:
    """Test all pairs of runs by the bootstrap, from a measure and its values on equal resamples.

    Resamples on which a run has no value do not count; a run without a measure is left out.
    """
    measured = {name: values for name, (measure, values) in runs.items() if measure is not None}
    observed = np.array([measure for measure, _ in runs.values() if measure is not None])
    if len(measured) < 2:
        return []
    found = np.stack(list(measured.values()), axis=1)
    found = found[~np.isnan(found).any(axis=1)]
    if len(found) < 2:
        return []
    tests = bootstrap_tests(list(measured), found, observed, np.zeros((articles, len(measured))))
    column = {name: place for place, name in enumerate(measured)}
    described = []
    for pair in tests.pairs:
        bounds = bounds_of(found[:, column[pair.a]] - found[:, column[pair.b]])
        assert bounds is not None
        described.append(replace(pair, low=bounds.low, high=bounds.high))
    return described
