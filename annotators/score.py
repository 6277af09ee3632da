"""Scores of result files by the evaluator, where that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from annotators.contract import MEMBER_OF_TASK
from annotators.errors import BadInputError

EVALUATOR = "scoring"


def score(runs: Path, gold: Path, *, articles: str) -> int:
    """Print the scores of each `TASK.tsv` of a folder against that of the gold's folder.

    A task without gold is named on stderr. Returns the evaluator's status: 0, or 2 where a file is
    not valid. Raises `BadInputError`.
    """
    if find_spec(EVALUATOR) is None:
        raise BadInputError(
            EVALUATOR, "is not installed here; it comes with the hub's package, beside annotators"
        )
    tasks = [task for task in MEMBER_OF_TASK if (runs / f"{task}.tsv").is_file()]
    if not tasks:
        raise BadInputError(
            runs, f"no result file; expected {_names()}, as check --write-runs does"
        )
    known = [task for task in tasks if (gold / f"{task}.tsv").is_file()]
    if not known:
        raise BadInputError(gold, f"no gold for {', '.join(tasks)}; expected {tasks[0]}.tsv")
    for task in tasks:
        if task not in known:
            print(f"{gold}: no {task}.tsv; {task} is not scored", file=sys.stderr)
    status = 0
    for task in known:
        files = (gold / f"{task}.tsv", runs / f"{task}.tsv")
        status = max(status, _evaluate(_arguments(task, *files, articles)))
    return status


def _names() -> str:
    return " or ".join(f"{task}.tsv" for task in MEMBER_OF_TASK)


def _arguments(task: str, gold: Path, run: Path, articles: str) -> Sequence[str]:
    if task == "NER":
        return ["ner", "--gold", str(gold), "--run", str(run)]
    return ["evaluate", "--task", task, "--articles", articles, "--gold", str(gold), str(run)]


def _evaluate(arguments: Sequence[str]) -> int:
    """Run the evaluator as a process: this package stands without it."""
    command = [sys.executable, "-m", EVALUATOR, *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own program
