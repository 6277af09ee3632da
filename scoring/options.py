"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from scoring.errors import FileProblem, FormatError, OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import run_name
from scoring.gold import Gold, ItemGold
from scoring.measures import MEASURES, measure_named
from scoring.report import FORMATS
from scoring.resampling import MOST_RESAMPLES
from scoring.scorecard import ArticlePolicy, Scorecard
from scoring.significance import MOST_PAIRED
from scoring.tables import latex_float
from scoring.tasks import Task
from scoring.views import RAW, VIEWS, View, select_views

_SHOWN = 5  # warnings of one file


def add_task_and_gold(parser: argparse.ArgumentParser, *, act: bool = True) -> None:
    """Add `--task` and `--gold`."""
    tasks = [str(task) for task in Task if act or task is not Task.ACT]
    parser.add_argument("--task", required=True, choices=tasks, help="task of the files")
    parser.add_argument(
        "--gold", required=True, type=Path, metavar="FILE", help="gold standard file"
    )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the result files."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="result files")


def add_policy(parser: argparse.ArgumentParser, *, all_views: bool = False) -> None:
    """Add the options that say which articles, ranks and hits count; `all_views` at once or one."""
    add_articles(parser)
    parser.add_argument(
        "--cutoff", type=positive, metavar="N", help="score only the first N ranks of each article"
    )
    add_lenient_ranks(parser)
    parser.add_argument(
        "--beta", type=float, default=1.0, help="weight of recall in F-beta (default 1)"
    )
    add_views(parser, all_views=all_views)


def add_views(parser: argparse.ArgumentParser, *, all_views: bool = False) -> None:
    """Add `--map`, `--taxa` and `--views`, which `views_of` reads."""
    parser.add_argument(
        "--map",
        type=Path,
        metavar="FILE",
        help="homologs, per line: gold accession<TAB>accession,...",
    )
    parser.add_argument(
        "--taxa", type=Path, metavar="FILE", help="organisms, per line: accession<TAB>taxon"
    )
    parser.add_argument(
        "--views",
        choices=[*VIEWS, "all"] if all_views else VIEWS,
        help="what is scored (default: the view that uses all files given)",
    )


def views_of(args: argparse.Namespace, gold: Gold) -> tuple[View, ...]:
    """Return the views asked for; without `--views`, the one that uses all the files given."""
    name = args.views or VIEWS[bool(args.map) + 2 * bool(args.taxa)]
    if name == "raw":
        return (RAW,)
    if not isinstance(gold, ItemGold):
        raise OptionError("--map, --taxa and --views do not apply to ACT")
    names = VIEWS if name == "all" else (name,)
    return tuple(select_views(gold, names, homologs=args.map, taxa=args.taxa))


def add_articles(parser: argparse.ArgumentParser) -> None:
    """Add `--articles`."""
    parser.add_argument(
        "--articles",
        choices=get_args(ArticlePolicy),
        default="answered",
        help="gold articles that count: those that the run has hits for (default), or all",
    )


def add_lenient_ranks(parser: argparse.ArgumentParser) -> None:
    """Add `--lenient-ranks`."""
    parser.add_argument(
        "--lenient-ranks", action="store_true", help="accept ranks with gaps, such as 1, 3"
    )


def add_format(parser: argparse.ArgumentParser, *, captions: bool = True) -> None:
    """Add `--format`, its short form `--json`, and what `framed` reads unless not `captions`."""
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--format", choices=FORMATS, default="text", help="format of the output (default text)"
    )
    output.add_argument(
        "--json", dest="format", action="store_const", const="json", help="short for --format json"
    )
    if not captions:
        return
    parser.add_argument("--caption", default="", metavar="TEXT", help="caption of the LaTeX table")
    parser.add_argument(
        "--label", default="", metavar="NAME", help="label of the LaTeX table, for \\ref"
    )


def framed(args: argparse.Namespace, report: str) -> str:
    """Return a report as it is to be printed: a LaTeX table with its caption and label."""
    if not args.caption and not args.label:
        return report
    if args.format != "latex":
        raise OptionError("--caption and --label are of --format latex")
    return latex_float(report, args.caption, args.label)


def scorecards_of(
    args: argparse.Namespace, gold: Gold, faults: list[FormatError] | None = None
) -> list[Scorecard]:
    """Score the runs, in each view, as the shared options say; warnings go to stderr.

    `faults` is that of `evaluate_runs`.
    """
    check_names(args.runs)
    scorecards = evaluate_runs(
        args.task,
        gold,
        args.runs,
        articles=args.articles,
        cutoff=args.cutoff,
        lenient_ranks=args.lenient_ranks,
        beta=args.beta,
        views=views_of(args, gold),
        faults=faults,
    )
    warn(warning for scorecard in scorecards for warning in scorecard.warnings)
    return scorecards


def check_names(runs: Iterable[Path]) -> None:
    """Raise `OptionError` for files of one name: their lines and letters would be mixed."""
    first: dict[str, Path] = {}
    for run in runs:
        other = first.setdefault(run_name(run), run)
        if other is not run:
            both = f"{other} and {run} are both runs {run_name(run)!r}"
            raise OptionError(f"{both}; expected a file name a run")


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
    parser.add_argument(
        "--resamples",
        type=resamples,
        default=10_000,
        metavar="N",
        help="resamples of the bootstrap (default 10000)",
    )
    add_seed(parser)


def add_interval_resamples(parser: argparse.ArgumentParser, default: int = 10_000) -> None:
    """Add `--resamples` of intervals that can be left out."""
    parser.add_argument(
        "--resamples",
        type=_resample_count,
        default=default,
        metavar="N",
        help=f"resamples of the bootstrap; 0 for no intervals (default {default})",
    )


def add_tests(parser: argparse.ArgumentParser) -> None:
    """Add `--tests`, which `check_tests` checks."""
    parser.add_argument(
        "--tests", action="store_true", help="print a significance test for each pair of runs"
    )


def check_tests(args: argparse.Namespace, runs: Sequence[object]) -> None:
    """Refuse tests that cannot be made: of one run, of too many, or without resamples."""
    if args.tests and not (2 <= len(runs) <= MOST_PAIRED and args.resamples > 1):
        raise OptionError(f"--tests: expected resamples, and 2 to {MOST_PAIRED} runs")


def _resample_count(text: str) -> int:
    """Return the value of `--resamples`: 0 (no intervals) or more."""
    if not text.isdecimal() or int(text) > MOST_RESAMPLES:
        message = f"{text!r}; expected an integer from 0 to {MOST_RESAMPLES}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add `--seed`."""
    parser.add_argument(
        "--seed",
        type=natural,
        default=2009,
        metavar="N",
        help="seed of the random numbers (default 2009)",
    )


def add_team(parser: argparse.ArgumentParser, effect: str) -> None:
    """Add `--team`, with its effect; `scoring.teams.team_of` applies it."""
    parser.add_argument(
        "--team",
        metavar="REGEX",
        help=f"the first group that it matches in a run's name is the team; {effect}",
    )


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Add `--measures`; `check_measures` refuses unknown names."""
    parser.add_argument(
        "--measures",
        type=lambda text: text.split(","),
        default=[],
        metavar="M,...",
        help=f"further measures: {', '.join(MEASURES)}",
    )


def check_measures(names: Iterable[str]) -> None:
    """Raise `OptionError` for an unknown name, before any file is read."""
    for name in names:
        measure_named(name)


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
