"""`scoring evaluate`: score result files against a gold standard."""

from __future__ import annotations

import argparse

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
    """Print a scorecard a run and view, or every problem of all files and nothing else."""
    check_measures(args.measures)
    gold = read_gold(args.task, args.gold)
    scorecards = scorecards_of(args, gold)
    print(framed(args, scores_report(scorecards, args.format, args.measures)))
    return 0
