"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from scoring.errors import FileProblem, OptionError
from scoring.evaluation import evaluate_runs
from scoring.gold import Gold
from scoring.report import FORMATS
from scoring.resampling import MOST_RESAMPLES
from scoring.scorecard import ArticlePolicy, Scorecard
from scoring.tables import latex_float
from scoring.tasks import Task
from scoring.views import RAW, View

_SHOWN = 5  # warnings of one file


def add_task_and_gold(parser: argparse.ArgumentParser, *, act: bool = True) -> None:
    """Add `--task` and `--gold`."""
    tasks = [str(task) for task in Task if act or task is not Task.ACT]
    parser.add_argument("--task", required=True, choices=tasks)
    parser.add_argument("--gold", required=True, type=Path, metavar="FILE", help="gold standard")


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the result files."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="result files")


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which articles and ranks count."""
    add_articles(parser)
    parser.add_argument(
        "--cutoff", type=positive, metavar="N", help="score only the N best ranks of each article"
    )
    add_lenient_ranks(parser)
    parser.add_argument(
        "--beta", type=float, default=1.0, help="weight of recall in F_beta (default 1)"
    )


def add_articles(parser: argparse.ArgumentParser) -> None:
    """Add `--articles`."""
    parser.add_argument(
        "--articles",
        choices=get_args(ArticlePolicy),
        default="answered",
        help="gold articles that count: those the run has hits for (default), or all",
    )


def add_lenient_ranks(parser: argparse.ArgumentParser) -> None:
    """Add `--lenient-ranks`."""
    parser.add_argument(
        "--lenient-ranks", action="store_true", help="accept gaps in the ranks, such as 1, 3"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format` and its short form `--json`."""
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    output.add_argument("--json", dest="format", action="store_const", const="json")
    parser.add_argument("--caption", default="", metavar="TEXT", help="of a LaTeX table")
    parser.add_argument("--label", default="", metavar="NAME", help="of a LaTeX table, for \\ref")


def framed(args: argparse.Namespace, report: str) -> str:
    """Return a report as it is to be printed: a LaTeX table with its caption and label."""
    if not args.caption and not args.label:
        return report
    if args.format != "latex":
        raise OptionError("--caption and --label are of --format latex")
    return latex_float(report, args.caption, args.label)


def scorecards_of(
    args: argparse.Namespace, gold: Gold, views: Iterable[View] = (RAW,)
) -> list[Scorecard]:
    """Score the runs as the shared options say; warnings go to stderr."""
    scorecards = evaluate_runs(
        args.task,
        gold,
        args.runs,
        articles=args.articles,
        cutoff=args.cutoff,
        lenient_ranks=args.lenient_ranks,
        beta=args.beta,
        views=tuple(views),
    )
    warn(warning for scorecard in scorecards for warning in scorecard.warnings)
    return scorecards


def warn(warnings: Iterable[FileProblem]) -> None:
    """Print what is odd in the input files, each oddity once, the first few of each file."""
    by_file: dict[str, list[FileProblem]] = {}
    for warning in dict.fromkeys(warnings):
        by_file.setdefault(warning.file, []).append(warning)
    for file, found in by_file.items():
        for warning in found[:_SHOWN]:
            warn_of(str(warning))
        if len(found) > _SHOWN:
            warn_of(f"{file}: {len(found) - _SHOWN} more")


def warn_of(text: str) -> None:
    """Print one warning."""
    print(f"warning: {text}", file=sys.stderr)


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add `--resamples` and `--seed`."""
    parser.add_argument("--resamples", type=resamples, default=10_000, metavar="N")
    add_seed(parser)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add `--seed`."""
    parser.add_argument("--seed", type=natural, default=2009, metavar="N")


def positive(text: str) -> int:
    """Return an option's integer, at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected an integer from 1")
    return int(text)


def natural(text: str) -> int:
    """Return an option's integer, at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; expected an integer from 0")
    return int(text)


def resamples(text: str) -> int:
    """Return how many resamples to draw."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_RESAMPLES:
        message = f"{text!r}; expected an integer from 1 to {MOST_RESAMPLES}"
        raise argparse.ArgumentTypeError(message)
    return int(text)
