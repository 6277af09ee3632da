"""Bootstrap intervals of measures that follow from sums over articles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scoring.resampling import resampled

LEVEL = 0.95


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
    resamples: int = 10_000,
    seed: int = 2009,
) -> Bounds | None:
    """Return the bootstrap interval of a measure of summed rows, one row an article.

    Whole articles are drawn with replacement, as in `scoring.resampling`; `measure` takes the
    members of a summed row. Resamples on which it is None do not count; None if that is all.
    """
    table = np.array(list(rows), dtype=float)
    if not table.size or not resamples:
        return None
    blocks = resampled(np.random.default_rng(seed), len(table), resamples)
    values = (measure(*row) for weights in blocks for row in (weights @ table).tolist())
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Bounds(low, high)
