"""`scoring evaluate`: score result files against a gold standard."""

from __future__ import annotations

import argparse
import sys

from scoring.errors import FormatError, in_short
from scoring.files import read_gold
from scoring.options import (
    add_format,
    add_measures,
    add_policy,
    add_runs,
    add_task_and_gold,
    check_measures,
    framed,
    scorecards_of,
)
from scoring.report import scores_report


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("evaluate", help="score INT, IPT or ACT result files")
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser, all_views=True)
    add_measures(parser)
    add_format(parser)
    parser.set_defaults(command=evaluate)


def evaluate(args: argparse.Namespace) -> int:
    """Print a scorecard per run and view; return 1 if some runs are faulty, which score 0.

    Their problems go to stderr. If all runs are faulty, `FormatError` is raised with these.
    """
    check_measures(args.measures)
    gold = read_gold(args.task, args.gold)
    faults: list[FormatError] = []
    scorecards = scorecards_of(args, gold, faults)
    problems = [problem for fault in faults for problem in fault.problems]
    if len(faults) == len(args.runs):
        raise FormatError(problems)
    print(*in_short(problems), sep="\n", end="\n" * bool(problems), file=sys.stderr)
    print(framed(args, scores_report(scorecards, args.format, args.measures)))
    return 1 if faults else 0
