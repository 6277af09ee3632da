"""Scores of runs, their intervals, and how hard articles are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metaserver.model.records import ArticleId


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A leaderboard column: `key` into `Score.values`, heading, decimals, and a line of help."""

    key: str
    heading: str
    decimals: int = 3
    help: str = ""
    count: bool = False  # an integer


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A run's score on one task at one moment.

    `values` has a value for each of the task's columns; None is undefined ("n/a", sorted last).
    `curve` is the run's interpolated precision/recall steps as (recall, precision), or empty.
    `detail` is the scorer's full JSON-ready result (`Scorecard.to_dict()` where there is one). Its
    `signature`, if it has one, states how the run was scored and contains no digest of the gold:
    boards show it to viewers who must not learn the gold.
    It may be computed when it is first read.
    `card` is the value by which a `ComparedTask` compares runs; it never leaves the hub.
    """

    values: Mapping[str, float | int | None]
    articles_scored: int
    articles_in_gold: int
    curve: Sequence[tuple[float, float]]
    detail: Mapping[str, Any]
    card: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunIntervals:
    """The 95 % intervals of a run's first measure (`low` to `high`) and of its rank.

    `score` is the value they belong to; it differs from that of a run that was scored again since.
    """

    score: float
    low: float
    high: float
    best_rank: int
    worst_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleLevel:
    """The difficulty of an article: mean and standard deviation over `runs`."""

    article: ArticleId
    mean: float
    deviation: float
    runs: frozenset[str]
