"""Scoring of uploaded runs as a whole, and the intervals that their evaluators define."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaserver.base.boards import RunIntervals, Score
from metaserver.base.records import ArticleId
from metaserver.tasks.plugin import Payload
from scoring.intervals import LEVEL, bounds_of

Values: TypeAlias = NDArray[np.float64]

_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


class WholeRunScorer:
    """A scorer that keeps a run's payloads, and evaluates all of them at once.

    An evaluator of corpora pairs and sums over all articles, so that only it gives the digits of
    its command. `evaluate` is slow: the hub scores an uploaded run in a thread.
    """

    def __init__(
        self,
        articles: Collection[str],
        evaluate: Callable[[Mapping[ArticleId, Payload]], Score],
    ) -> None:
        self._articles = articles
        self._evaluate = evaluate
        self._kept: dict[ArticleId, Payload] = {}

    def prepare(self, _article: ArticleId, payload: Payload) -> Payload:
        """Return the payload as it is."""
        return payload

    def keep(self, article: ArticleId, prepared: Payload) -> None:
        """Keep an article's payload; an article without gold is ignored."""
        if article in self._articles:
            self._kept[article] = prepared

    def score(self) -> Score:
        """Return the score of all articles kept so far; before the first, measures are None."""
        return self._evaluate(self._kept)


@dataclass(frozen=True, eq=False)
class ResampledRun:
    """A run's first measure and, once they are asked for, its values on resamples of the gold.

    All runs of a gold are scored on the same resamples.
    """

    measure: float | None
    resample: Callable[[], Values]

    @cached_property
    def values(self) -> Values:
        """The measure on each resample; NaN where it is undefined."""
        return self.resample()


def intervals(runs: Mapping[str, ResampledRun], *, rising: bool) -> Mapping[str, RunIntervals]:
    """Return the 95 % intervals of runs, and of their ranks; `rising`: the lowest is the best.

    A run without a measure has none.
    """
    measured = {
        name: run for name, run in runs.items() if run.measure is not None and run.values.size
    }
    if not measured:
        return {}
    table = np.stack([run.values for run in measured.values()])
    ranks = _ranks(table if rising else -table)
    best, worst = np.quantile(ranks, _TAILS, axis=1, method="closest_observation")
    result = {}
    for row, (name, run) in enumerate(measured.items()):
        bounds = bounds_of(run.values)
        assert run.measure is not None
        if bounds is not None:
            result[name] = RunIntervals(
                score=run.measure,
                low=bounds.low,
                high=bounds.high,
                best_rank=int(best[row]),
                worst_rank=int(worst[row]),
            )
    return result


def _ranks(table: Values) -> NDArray[np.int64]:
    """Return each run's rank on each resample, 1 for the lowest; equal runs share the best."""
    ordered = np.sort(table, axis=0)
    columns = zip(ordered.T, table.T, strict=True)
    ranks = [1 + np.searchsorted(column, values, side="left") for column, values in columns]
    return np.array(ranks, dtype=np.int64).T


def undefined(score: Mapping[str, Any], *, answered: bool) -> Mapping[str, float | int | None]:
    """Return a board's values, without measures where nothing was answered."""
    if answered:
        return score
    return {key: value if isinstance(value, int) else None for key, value in score.items()}
