"""Run scores, their intervals, and how hard articles are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metaserver.base.records import ArticleId


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A leaderboard column: `key` into `Score.values`, heading, decimals, and help line."""

    key: str
    heading: str
    decimals: int = 3
    help: str = ""
    count: bool = False  # an integer
    rising: bool = False  # an error rate: the lowest value is the best


def rising_measures(columns: Iterable[Column]) -> frozenset[str]:
    """Return the keys of the columns in which the lowest value is best."""
    return frozenset(column.key for column in columns if column.rising)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A run's score on one task at one moment.

    `values` has a value for each task column; None is undefined ("n/a", sorted last). `curve` is
    the run's interpolated precision/recall steps as (recall, precision), or empty. `detail` is the
    scorer's full JSON-ready result (`Scorecard.to_dict()` if any). Its `signature`, if any, states
    how the run was scored and contains no gold digest: boards show it to viewers who must not learn
    the gold. It may be computed when it is first read. `card` is the value by which a
    `ComparedTask` compares runs; it never leaves the hub. `articles_counted` are the gold's
    articles that count so far; None: all. `answered` are those with an answer, be it empty; None:
    `articles_scored`. `confidence` is the mean confidence of the articles' hits, None without
    confidences.
    """

    values: Mapping[str, float | int | None]
    articles_scored: int
    articles_in_gold: int
    curve: Sequence[tuple[float, float]]
    detail: Mapping[str, Any]
    card: Any = field(default=None, compare=False, repr=False)
    articles_counted: int | None = None
    answered: int | None = None
    confidence: float | None = None

    @property
    def coverage(self) -> float:
        """The share of the counted articles that are in the score; 0 if none count.

        If all articles count, an empty answer is in it, as zero. If only answered articles count,
        it is not: a run with hits in a single article has a score for that article only, however
        many empty answers it has.
        """
        counted = self.articles_in_gold if self.articles_counted is None else self.articles_counted
        return self.articles_scored / counted if counted else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunIntervals:
    """The 95 % intervals for a run's measure (`low` to `high`) and for its rank.

    `score` is the value they belong to; it differs once the run is scored again.
    """

    score: float
    low: float
    high: float
    best_rank: int
    worst_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleLevel:
    """An article's difficulty: mean and standard deviation over `runs`."""

    article: ArticleId
    mean: float
    deviation: float
    runs: frozenset[str]
