"""`scoring compare`: bootstrap intervals, rank intervals and paired tests of runs."""

from __future__ import annotations

import argparse

from scoring.files import read_gold
from scoring.options import (
    add_format,
    add_policy,
    add_resampling,
    add_runs,
    add_task_and_gold,
    scorecards_of,
)
from scoring.report import comparison_report
from scoring.resampling import ACT_MEASURES, ITEM_MEASURES
from scoring.significance import compare


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "compare", help="test which differences between runs are significant"
    )
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser, all_views=True)
    parser.add_argument(
        "--measure",
        default="auc_ipr",
        metavar="M",
        help=f"default auc_ipr; {', '.join(ITEM_MEASURES)}; ACT: {', '.join(ACT_MEASURES)}",
    )
    add_resampling(parser)
    parser.add_argument("--no-pairs", action="store_true", help="leave the paired tests out")
    add_format(parser)
    parser.set_defaults(command=compare_runs)


def compare_runs(args: argparse.Namespace) -> int:
    """Print the comparison."""
    gold = read_gold(args.task, args.gold)
    comparison = compare(
        gold,
        scorecards_of(args, gold),
        measure=args.measure,
        resamples=args.resamples,
        seed=args.seed,
        pairs=not args.no_pairs,
    )
    print(comparison_report(comparison, args.format))
    return 0
