"""What a task is to the hub, and how tasks are found.

A task is one object with the attributes of `TaskPlugin`, registered under the entry point group
`metaserver.tasks` by its name. Everything that differs between INT, IPT, ACT and any other task is
behind it; the rest of the hub names no task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from metaserver.model.records import TASK_GROUP, ArticleId, Problem, TaskName
from metaserver.uniprot import Release
from metaserver.wire.validation import Report, Vocabulary

Payload: TypeAlias = Any
"""A task's accepted part of one answer: JSON-ready builtins, as stored. Only its task reads it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One leaderboard column: `key` into `Score.values`, heading, decimals, and a line of help."""

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
    `signature`, if it has one, says how the run was scored and holds no digest of the gold: boards
    show it to readers who must not learn the gold.
    `card` is what a `ComparedTask` compares runs by; it never leaves the hub.
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

    `score` is the value they belong to: a run that was scored again since has another.
    """

    score: float
    low: float
    high: float
    best_rank: int
    worst_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleLevel:
    """How hard an article is: mean and standard deviation over runs, and which runs these are."""

    article: ArticleId
    mean: float
    deviation: float
    runs: frozenset[str]


class Scorer(Protocol):
    """Scores one run, article by article as answers land, each in two steps."""

    def prepare(self, article: ArticleId, payload: Payload) -> Any:
        """Do all that takes longer the more hits there are; what is returned goes to `keep`.

        It depends on the gold, article and payload alone, not on what was kept before, and changes
        nothing: large answers are prepared in a thread, by another scorer of the same gold and
        view.
        """

    def keep(self, article: ArticleId, prepared: Any) -> None:
        """Score (or re-score) one article of the run; articles without gold are ignored.

        On the event loop: it must be quick, however many hits there were.
        """

    def score(self) -> Score:
        """Return the score over all articles kept so far; the order has no effect."""


class TaskPlugin(Protocol):
    """One task: the shape of its part of an answer, its validation, scorer and board columns."""

    @property
    def name(self) -> TaskName:
        """What files, options and boards call it: "INT"."""

    @property
    def title(self) -> str:
        """What people call it: "Interactor normalization"."""

    @property
    def key(self) -> str:
        """Its member of the answer struct: "normalizations"."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The board's columns, left to right; how many articles were scored is not among them."""

    @property
    def order(self) -> tuple[str, ...]:
        """The column keys by which the board is ordered, descending."""

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> Payload | None:
        """Validate the decoded member `key` of an answer; report every problem with its path.

        Adds the hits that were sent to `report.hits_sent`. Returns the valid part, or None where a
        value of another type makes the whole member unusable.
        """

    def count(self, payload: Payload) -> int:
        """How many hits the payload holds."""

    def member(self, payload: Payload) -> Any:
        """The payload as the member `key` of an answer, in the shape of the wire contract."""

    def read_gold(self, path: Path) -> Any:
        """Read a gold file; raises `InputError` that names file and line."""

    def scorer(self, gold: Any) -> Scorer:
        """Return an empty scorer for one run against `gold`."""

    def result_lines(self, answers: Iterable[tuple[ArticleId, Payload]]) -> Iterable[str]:
        """Yield a run's result file (BC II.5 format where the task has one), with line ends."""


@runtime_checkable
class ViewedTask(TaskPlugin, Protocol):
    """A task whose runs are also scored in views that a UniProt release makes."""

    def view_scorers(self, gold: Any, release: Release) -> Mapping[str, Callable[[], Scorer]]:
        """Return by view what makes an empty scorer; the raw view, `scorer`, is not among them."""


@runtime_checkable
class ComparedTask(TaskPlugin, Protocol):
    """A task of ranked lists: its runs have curves, and their scores' `card`s can be compared.

    Both functions are pure and slow (half a second for 134 runs); they are called in a thread, with
    at least one run, all with articles that were scored.
    """

    @property
    def resampling(self) -> str:
        """How the intervals are made, in a few words: "10,000 resamples, seed 2009"."""

    @property
    def level(self) -> str:
        """What an article's level is the mean of: "rank"."""

    def intervals(self, gold: Any, cards: Mapping[str, Any]) -> Mapping[str, RunIntervals]:
        """Return the intervals of each run, by its name."""

    def levels(self, gold: Any, cards: Mapping[str, Any]) -> Sequence[ArticleLevel]:
        """Return the level of each article that a run answered, the easiest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFile:
    """A result file as its task read it; paths are lines: "line 7", "line 7, column 2".

    `faults` are errors of its format: where there are any, nothing of the file can be used.
    Otherwise `payloads` has the valid part of each article's answer, and `problems` tell what was
    left out of it, as for a server's answer.
    """

    payloads: Mapping[ArticleId, Payload] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    faults: Sequence[Problem] = ()


@runtime_checkable
class FiledTask(TaskPlugin, Protocol):
    """A task whose runs can also be uploaded as result files (`result_lines` writes such)."""

    def read_run(
        self, path: Path, articles: Collection[ArticleId], vocabulary: Vocabulary
    ) -> RunFile:
        """Read a result file and check it as answers are; other articles are left out, and told.

        Slow for a large file; called in a thread.
        """


@runtime_checkable
class LabelledTask(TaskPlugin, Protocol):
    """A task whose gold can be compared with another version of it."""

    def labels(self, gold: Any) -> Mapping[ArticleId, frozenset[str]]:
        """Return what the gold says of each article, a text a label: "P04637", "relevant"."""


@cache
def installed_tasks() -> Mapping[TaskName, TaskPlugin]:
    """Return every installed task by name, in alphabetical order."""
    found = sorted(entry_points(group=TASK_GROUP), key=lambda entry: entry.name)
    return {TaskName(entry.name): entry.load() for entry in found}
