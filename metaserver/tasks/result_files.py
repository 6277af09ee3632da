"""Reader of result files in BC II.5 format, checked like the answers of servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

import scoring
from metaserver.base.records import ArticleId, Problem
from metaserver.exchange.wire.validation import Report
from metaserver.tasks.plugin import Payload, RunFile
from scoring import Answer, FormatError, Task
from scoring.text import read_lines

MAX_PROBLEMS = 1_000
MAX_ID_SHOWN = 200  # characters of an article's id

_HIT = re.compile(r"\[(\d+)\]")


def read_result_file(
    task: Task,
    path: Path,
    articles: Collection[ArticleId],
    check: Callable[[Answer, Report], Payload | None],
    empty: Payload | None = None,
) -> RunFile:
    """Read a result file; `check` returns the valid part of one article's answer.

    `empty` is the answer to an article without a valid line, where no line is an answer: a run of
    lists answers all articles, those in which it found nothing with nothing. None: an article
    without a valid line has no answer.
    """
    try:
        run = scoring.read_run(task, path)
    except FormatError as error:
        return RunFile(faults=[_fault(problem) for problem in error.problems[:MAX_PROBLEMS]])
    lines = _lines(path)
    payloads: dict[ArticleId, Payload] = {}
    problems = [_fault(warning) for warning in run.warnings[:MAX_PROBLEMS]]
    known_articles = frozenset(articles)
    for name, answer in run.answers.items():
        article, at = ArticleId(name), lines[name]
        if article not in known_articles:
            if len(problems) >= MAX_PROBLEMS:
                continue
            count = "1 line is" if len(at) == 1 else f"{len(at)} lines are"
            message = f"article {name[:MAX_ID_SHOWN]!r} is not in this phase: {count} left out"
            problems.append(Problem(path=f"line {at[0]}", message=message))
            continue
        report = Report()
        payload = check(answer, report)
        if len(problems) < MAX_PROBLEMS:
            problems += [_at_line(problem, at) for problem in report.problems]
        if payload:
            payloads[article] = payload
    if payloads and empty is not None:
        payloads = {article: payloads.get(article, empty) for article in articles}
    return RunFile(payloads=payloads, problems=list(islice(problems, MAX_PROBLEMS)))


def _lines(path: Path) -> Mapping[str, Sequence[int]]:
    """Return the lines of each article, in order."""
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        lines.setdefault(line.partition("\t")[0], []).append(number)
    return lines


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
