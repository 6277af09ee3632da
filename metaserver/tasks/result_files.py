"""Uploaded result files: bounded reading, BC II.5 format, runs that are scored as a whole."""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import scoring
from metaserver.base.boards import (
    ArticleLevel,
    Column,
    PairedRuns,
    RunIntervals,
    Score,
    column_named,
)
from metaserver.base.errors import InputError, listed
from metaserver.base.lanes import HitAside
from metaserver.base.records import ArticleId, Problem, TaskName
from metaserver.corpus.files import ZipLimits, unpack
from metaserver.exchange.wire.contract import Report
from metaserver.tasks.plugin import Payload, RunFile
from metaserver.tasks.scores import RESAMPLES, SEED, MeasuredRun, paired_by_bootstrap
from scoring import Answer, FileProblem, FormatError, Task
from scoring.intervals import LEVEL, bounds_of
from scoring.rows import RESULT_COLUMNS
from scoring.text import read_lines

MAX_PROBLEMS = 1_000
MAX_ID_SHOWN = 200  # characters of an article's id

EVIDENCE = 2_000
"""The maximum number of characters in a hit's evidence that are kept."""

_HIT = re.compile(r"\[(\d+)\]")


def read_result_file(
    task: Task,
    path: Path,
    articles: Collection[ArticleId],
    check: Callable[[Answer, Mapping[int, str], Report], tuple[Payload | None, Sequence[HitAside]]],
    empty: Payload | None = None,
) -> RunFile:
    """Read a result file; `check` returns the valid part of an article's answer, and its asides.

    It is given the answer and the evidence of its hits, by their places in the file's order.

    `empty` is the answer for an article without a valid line, if an empty list is an answer: a list
    run answers all articles, some with nothing. None: an article without a valid line has no
    answer.

    Example: the line `10022833<TAB>P04637<TAB>1<TAB>0.9` is a hit for article 10022833.
    """
    try:
        run = scoring.read_run(task, path)
    except FormatError as error:
        return RunFile(faults=[_fault(problem) for problem in error.problems[:MAX_PROBLEMS]])
    lines, evidence = _lines(path, len(RESULT_COLUMNS[task]))
    payloads: dict[ArticleId, Payload] = {}
    asides: dict[ArticleId, Sequence[HitAside]] = {}
    problems = [_fault(warning) for warning in run.warnings[:MAX_PROBLEMS]]
    known_articles = frozenset(articles)
    for name, answer in run.answers.items():
        article, at = ArticleId(name), lines[name]
        if article not in known_articles:
            if len(problems) >= MAX_PROBLEMS:
                continue
            count = "1 line is" if len(at) == 1 else f"{len(at)} lines are"
            message = (
                f"article {name[:MAX_ID_SHOWN]!r} is not an article of this phase: {count} left out"
            )
            problems.append(Problem(path=f"line {at[0]}", message=message))
            continue
        report = Report()
        payload, beside = check(answer, evidence.get(name, {}), report)
        if len(problems) < MAX_PROBLEMS:
            problems += [_at_line(problem, at) for problem in report.problems]
        if payload:
            payloads[article] = payload
        if beside:
            asides[article] = beside
    if payloads and empty is not None:
        payloads = {article: payloads.get(article, empty) for article in articles}
    return RunFile(payloads=payloads, asides=asides, problems=list(islice(problems, MAX_PROBLEMS)))


def _lines(
    path: Path, width: int
) -> tuple[Mapping[str, Sequence[int]], Mapping[str, Mapping[int, str]]]:
    """Return each article's lines, in order, and the evidence of those that have any, by place.

    Evidence is the column after the first `width`.
    """
    lines: dict[str, list[int]] = {}
    evidence: dict[str, dict[int, str]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        article = line.partition("\t")[0]
        own = lines.setdefault(article, [])
        own.append(number)
        if line.count("\t") >= width and (words := line.split("\t", width + 1)[width].strip()):
            evidence.setdefault(article, {})[len(own) - 1] = words[:EVIDENCE]
    return lines, evidence


def _fault(problem: scoring.FileProblem) -> Problem:
    places = [f"line {problem.line}"] if problem.line else []
    if problem.column:
        places.append(f"column {problem.column}")
    return Problem(path=", ".join(places), message=problem.message)


def _at_line(problem: Problem, lines: Sequence[int]) -> Problem:
    """Return a problem with its line as path: `normalizations[3].dbid` is on the fourth of them."""
    place = _HIT.search(problem.path)
    index = int(place[1]) if place and len(lines) > 1 else 0
    return Problem(path=f"line {lines[index]}", message=problem.message)


# -- files of offline tasks ------------------------------------------------------------------------
# A gold, which an organiser gives, is bounded too: it may be a wrong file.

RUN_LIMITS = ZipLimits(files=20_000, file_bytes=2**20, bytes=2**23)
GOLD_LIMITS = ZipLimits(files=50_000, file_bytes=2**24, bytes=2**27)
MOST_DEEP = 16
"""The maximum depth of folders: a run has one or none."""

_ZIP = b"PK"


@contextmanager
def unzipped(path: Path, limits: ZipLimits) -> Iterator[Path]:
    """Yield a folder with a zip's files, or the path of any other file; raises `InputError`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error
    if not content.startswith(_ZIP):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="metaserver-zip-") as name:
        folder = Path(name)
        unpack(str(path), content, folder, limits)
        for file in folder.rglob("*"):
            if len(file.relative_to(folder).parts) > MOST_DEEP:
                place = f"{path}: {str(file.relative_to(folder))[:80]!r}"
                raise InputError(place, f"more than {MOST_DEEP} folders deep")
        yield folder


def read_unzipped(path: Path, read: Callable[[Path], RunFile]) -> RunFile:
    """Read an upload, a file or the folder of a zip, whose faults are by file and line."""
    try:
        with unzipped(path, RUN_LIMITS) as root:
            try:
                return read(root)
            except FormatError as error:
                return RunFile(faults=faults(error, root))
    except InputError as error:  # it cannot be opened; the hub's own path is not shown
        place = error.place.replace(str(path), "the file")
        return RunFile(faults=[Problem(path=place, message=error.message)])


def faults(error: FormatError, root: Path) -> Sequence[Problem]:
    """Return an upload's faults: in a zip by file and line, else by line."""
    return [fault(problem, root) for problem in error.problems[:MAX_PROBLEMS]]


def fault(problem: FileProblem, root: Path) -> Problem:
    """Return a fault; `root` is the upload's file, or its files' folder."""
    line = [f"line {problem.line}"] if problem.line else []
    file = [name] if (name := _inside(problem.file, root)) else []
    column = [f"column {problem.column}"] if problem.column else []
    path = ", ".join([" ".join([*file, *line]), *column]) if file or line else "the file"
    return Problem(path=path, message=problem.message.replace(f"{root}/", ""))


def gold_error(error: FormatError, root: Path, path: Path) -> InputError:
    """Return a gold's error: the first problem, and the number of further problems."""
    first = error.problems[0]
    inside = _inside(first.file, root)
    messages = listed([problem.message for problem in error.problems], 1)
    column = f"column {first.column}: " if first.column else ""
    message = f"{column}{messages}".replace(f"{root}/", "")
    place = f"{path}: {inside}" if inside else str(path)
    return InputError(place, message, line=first.line or None)


def _inside(file: str, root: Path) -> str:
    """Return the name of a file within a folder; empty for the folder, or a file itself."""
    return file.removeprefix(str(root)).removeprefix("/")


# -- scoring of uploaded runs as a whole, and the intervals that their evaluators define -----------

Values: TypeAlias = NDArray[np.float64]

_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


@dataclass(frozen=True, kw_only=True)
class WholeRunTask(ABC):
    """What tasks whose runs are evaluated as a whole have in common.

    `items` are resampled: "articles"; `command` tests runs as `paired` does.
    """

    name: TaskName
    title: str
    upload: str
    items: str
    command: str
    level: str = ""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The board's columns, left to right."""

    @property
    @abstractmethod
    def order(self) -> tuple[str, ...]:
        """The column keys by which the board is ordered."""

    @property
    def resampling(self) -> str:
        """How intervals are made."""
        return f"{RESAMPLES:,} resamples of the {self.items}, seed {SEED}"

    @property
    def resampled(self) -> tuple[str, ...]:
        """The first measure alone: the evaluation resamples no other."""
        return self.order[:1]

    def levels(self, _gold: Any, _cards: Mapping[str, ResampledRun]) -> Sequence[ArticleLevel]:
        """Return no levels: articles have no scores of their own."""
        return []

    def intervals(
        self, _gold: Any, cards: Mapping[str, ResampledRun], _measure: str
    ) -> Mapping[str, RunIntervals]:
        """Return the intervals for each run's first measure and rank."""
        return intervals(cards, rising=column_named(self.columns, self.order[0]).rising)

    def by_article(
        self, _gold: Any, card: ResampledRun, _measure: str
    ) -> Mapping[str, float | None]:
        """Return the first measure of each article by itself; none if it is of no article."""
        return card.by_article()

    def paired(
        self, _gold: Any, first: ResampledRun, second: ResampledRun, measure: str
    ) -> PairedRuns:
        """Return the bootstrap test of two runs on the same resamples."""
        return paired_by_bootstrap(
            MeasuredRun(first.measure, first.values, first.by_article()),
            MeasuredRun(second.measure, second.values, second.by_article()),
            size=first.size,
            measure=measure,
            items=self.items,
            command=self.command,
        )


class WholeRunScorer:
    """A scorer that keeps a run's payloads, and evaluates them all at once.

    A corpus evaluator pairs and sums over all articles, so that only it gives the digits of its
    command. `evaluate` is slow: the hub scores an uploaded run in a thread.
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
    """A run's first measure and, on demand, its values on resampled gold.

    All runs are scored on the same resamples, of `size` items. `by_article` returns the measure of
    each article by itself.
    """

    measure: float | None
    resample: Callable[[], Values]
    size: int
    by_article: Callable[[], Mapping[str, float | None]] = dict

    @cached_property
    def values(self) -> Values:
        """The measure on each resample; NaN if undefined."""
        return self.resample()


def intervals(runs: Mapping[str, ResampledRun], *, rising: bool) -> Mapping[str, RunIntervals]:
    """Return the runs' 95 % intervals, and their ranks'; `rising`: the lowest is best.

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
