"""A task's interface, and the discovery of installed tasks.

A task is an object registered by its name: an `AnsweredTask`, which servers answer, under the entry
point group `metaserver.tasks`; an `OfflineTask`, whose runs are uploaded, under
`metaserver.offline_tasks`. It contains everything that differs between INT, IPT, ACT and any other
task; the rest of the hub names no task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from metaserver.base.boards import ArticleLevel, Column, PairedRuns, RunIntervals, Score
from metaserver.base.lanes import HitAside
from metaserver.base.records import (
    OFFLINE_GROUP,
    TASK_GROUP,
    ArticleId,
    Problem,
    TaskName,
    count_stated,
)
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.uniprot import Release

Payload: TypeAlias = Any
"""A task's accepted part of an answer: JSON-ready builtins, as stored. Only its task reads it."""


class Scorer(Protocol):
    """Scores a run, article by article as answers arrive, each in two steps."""

    def prepare(self, article: ArticleId, payload: Payload) -> Any:
        """Do the work that grows with the number of hits; return the value for `keep`.

        It depends only on the gold, article and payload, not on earlier calls, and changes nothing:
        large answers are prepared in a thread, by another scorer with the same gold and view.
        """

    def keep(self, article: ArticleId, prepared: Any) -> None:
        """Score (or re-score) an article; articles without gold are ignored.

        It runs on the event loop, so it must be quick for any number of hits.
        """

    def score(self) -> Score:
        """Return the score over all articles kept so far; the order has no effect."""


@runtime_checkable
class KeptScorer(Scorer, Protocol):
    """A scorer whose state the hub keeps, so that a restart need not score the run again.

    A scorer without these two gets all stored answers again after a restart.
    """

    def dump(self) -> bytes:
        """Return all that was kept so far, in a compact form; quick, and changes nothing.

        It runs on the event loop, and may be called while a thread is in `score`.
        """

    def load(self, data: bytes) -> None:
        """Continue, in an empty scorer, from a dump with the same gold and view.

        From then on both give the same scores, to the last bit. Raises `ValueError` for a dump that
        it cannot read, such as in another format; the scorer is then unusable.
        """


@runtime_checkable
class CountingScorer(Scorer, Protocol):
    """A scorer that can count articles without an answer as zero.

    Otherwise `score` alone decides which articles count.
    """

    @property
    def articles(self) -> Sequence[ArticleId]:
        """The gold's articles, in the order of `counted`."""

    def score_all(self, counted: NDArray[np.bool_]) -> Score:
        """Return the score over the gold's articles for which `counted` is True.

        Those without an answer count as zero. Articles with an answer always count.
        """


class ShownTask(Protocol):
    """A task as a board shows it: that of a plug-in, or of a frozen board."""

    @property
    def name(self) -> TaskName:
        """The name in files, options and boards: "INT"."""

    @property
    def title(self) -> str:
        """The name for readers: "Interactor normalization"."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The board's columns, left to right, without the number of scored articles."""

    @property
    def order(self) -> tuple[str, ...]:
        """The column keys by which the board is ordered: descending, or as the column says."""


class TaskPlugin(ShownTask, Protocol):
    """A task: gold, a scorer and board columns."""

    def read_gold(self, path: Path) -> Any:
        """Read a gold file; raises `InputError` that names file and line."""

    def scorer(self, gold: Any) -> Scorer:
        """Return an empty scorer for a run against `gold`."""


class AnsweredTask(TaskPlugin, Protocol):
    """A task that servers answer: also the shape and validation of its part in an answer."""

    @property
    def key(self) -> str:
        """The task's member in the answer struct: "normalizations"."""

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> Payload | None:
        """Validate the decoded member `key` of an answer, and report every problem with its path.

        Adds the number of hits sent to `report.hits_sent`. Returns the valid part, or None if a
        wrongly typed value makes the whole member unusable.
        """

    def count(self, payload: Payload) -> int:
        """Return the number of hits in the payload."""

    def member(self, payload: Payload) -> Any:
        """Return the payload as an answer's member `key`, in the contract's shape."""

    def result_lines(self, answers: Iterable[tuple[ArticleId, Payload]]) -> Iterable[str]:
        """Yield a run's result file (BC II.5 format if any), with line ends."""


@runtime_checkable
class ViewedTask(TaskPlugin, Protocol):
    """A task whose runs are also scored in views that depend on a UniProt release."""

    def view_scorers(self, gold: Any, release: Release) -> Mapping[str, Callable[[], Scorer]]:
        """Return, by view, a factory of empty scorers; the raw view, `scorer`, is not included."""


@runtime_checkable
class ComparedTask(TaskPlugin, Protocol):
    """A ranked-list task: its runs have curves, and their scores' `card`s can be compared.

    Both functions are pure and slow (half a second for 134 runs); they are called in a thread, with
    at least one run, and each run has scored articles.
    """

    @property
    def resampling(self) -> str:
        """How the intervals are computed, in a few words: "10,000 resamples, seed 2009"."""

    @property
    def level(self) -> str:
        """The measure whose mean is an article's level: "rank"."""

    @property
    def resampled(self) -> Collection[str]:
        """The keys of the columns with intervals, at least the first measure's."""

    def intervals(
        self, gold: Any, cards: Mapping[str, Any], measure: str
    ) -> Mapping[str, RunIntervals]:
        """Return the intervals for each run's `measure`, one of `resampled`, and its rank."""

    def levels(self, gold: Any, cards: Mapping[str, Any]) -> Sequence[ArticleLevel]:
        """Return the answered articles' levels, easiest first."""


@runtime_checkable
class PairedTask(TaskPlugin, Protocol):
    """A task of which two runs can be tested against each other, article by article.

    The functions are slow, and are called in a thread; `measure` is one of `resampled`.
    """

    @property
    def resampled(self) -> Collection[str]:
        """The keys of the columns that runs can be tested by."""

    def by_article(self, gold: Any, card: Any, measure: str) -> Mapping[str, float | None]:
        """Return the value of each article for a run's card; None if it is not scored on it.

        Empty if single articles have no value.
        """

    def paired(self, gold: Any, first: Any, second: Any, measure: str) -> PairedRuns:
        """Return the paired test of two runs' cards."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFile:
    """A result file read by its task; problems' paths are lines: "line 7", "line 7, column 2".

    In a zip they begin with the file: "doc1.a2 line 7".

    `faults` are format errors, which make the file unusable. Otherwise `payloads` has each
    article's valid answer part, and `problems` report the parts left out, as for a server's answer.
    `asides` has the evidence of an article's first hits in its payload's order, if there is any.
    """

    payloads: Mapping[ArticleId, Payload] = field(default_factory=dict)
    asides: Mapping[ArticleId, Sequence[HitAside]] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    faults: Sequence[Problem] = ()

    @property
    def stated(self) -> int:
        """The number of articles with something in their answer."""
        return count_stated(self.payloads)


@runtime_checkable
class FiledTask(AnsweredTask, Protocol):
    """A task whose runs can also be uploaded as result files, the format of `result_lines`."""

    def read_run(
        self, path: Path, articles: Collection[ArticleId], vocabulary: Vocabulary
    ) -> RunFile:
        """Read a result file and check it like answers; unknown articles are left out and reported.

        If an empty list is an answer, the file has an answer to each article: see
        `read_result_file`. Slow for a large file; called in a thread.
        """


@runtime_checkable
class CorpusTask(TaskPlugin, Protocol):
    """A task whose gold can be restricted to a corpus' articles."""

    def within(self, gold: Any, articles: Collection[ArticleId]) -> Any:
        """Return the gold for these articles only."""

    def gold_articles(self, gold: Any) -> Collection[ArticleId]:
        """Return the articles that the gold has."""


@runtime_checkable
class OfflineTask(TaskPlugin, Protocol):
    """A task that no server answers: its runs are uploaded, and checked against its gold.

    A phase has either only such tasks, or none. The gold has everything needed to read runs, such
    as texts and given entities.
    """

    @property
    def upload(self) -> str:
        """What a team uploads, in words: "a zip of .a2 files"."""

    def read_upload(self, path: Path, gold: Any) -> RunFile:
        """Read an uploaded run, which is not trusted; any fault refuses the whole run.

        Slow for a large file; called in a thread.
        """

    def gold_articles(self, gold: Any) -> Collection[str]:
        """Return what the gold has and a run answers: articles, documents or pairs."""


@runtime_checkable
class RewritableTask(TaskPlugin, Protocol):
    """A task whose runs can be written in several ways that have the same score."""

    def counted(self, gold: Any, payloads: Mapping[ArticleId, Payload]) -> Mapping[str, Any]:
        """Return the part of a run that counts for its score, in canonical form, JSON-ready.

        By article, or by whatever else is scored. Integers are places in an order. It depends only
        on what teams know about the gold: texts, given entities. Slow; called in a thread.
        """


@runtime_checkable
class AccessionTask(TaskPlugin, Protocol):
    """A task whose gold is of accessions, which a release may or may not have."""

    def accessions(self, gold: Any) -> Collection[str]:
        """Return the gold's accessions, each once."""


@runtime_checkable
class LabelledTask(TaskPlugin, Protocol):
    """A task whose gold can be compared with another version."""

    def labels(self, gold: Any) -> Mapping[ArticleId, frozenset[str]]:
        """Return each article's gold labels as texts: "P04637", "relevant"."""


@runtime_checkable
class StatedTask(LabelledTask, CorpusTask, Protocol):
    """A task whose answers can be compared with the gold's labels, article by article."""

    def stated(self, payload: Payload) -> frozenset[str]:
        """Return an answer's part as texts, each as `labels` writes it."""


@cache
def installed_tasks() -> Mapping[TaskName, TaskPlugin]:
    """Return every installed task by name, in alphabetical order."""
    return dict(sorted([*answered_tasks().items(), *offline_tasks().items()]))


@cache
def answered_tasks() -> Mapping[TaskName, AnsweredTask]:
    """Return the installed tasks that servers answer, by name, in alphabetical order."""
    return _registered(TASK_GROUP)


@cache
def offline_tasks() -> Mapping[TaskName, OfflineTask]:
    """Return the installed tasks whose runs are uploaded, by name, in alphabetical order."""
    return _registered(OFFLINE_GROUP)


def _registered(group: str) -> dict[TaskName, Any]:
    points = sorted(entry_points(group=group), key=lambda entry: entry.name)
    return {TaskName(entry.name): entry.load() for entry in points}
