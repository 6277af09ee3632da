"""`scoring compare`: bootstrap intervals, rank intervals and paired tests of runs."""

from __future__ import annotations

import argparse

from scoring.bounds import KINDS
from scoring.comparison_report import TABLES, comparison_report
from scoring.files import read_gold
from scoring.options import (
    add_format,
    add_policy,
    add_resampling,
    add_runs,
    add_task_and_gold,
    framed,
    scorecards_of,
)
from scoring.resampling import ACT_MEASURES, ITEM_MEASURES
from scoring.scorecard import Scorecard
from scoring.significance import check_paired, compare


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
        help=f"measure to compare (default auc_ipr): {', '.join(ITEM_MEASURES)}; ACT:"
        f" {', '.join(ACT_MEASURES)}",
    )
    add_resampling(parser)
    parser.add_argument(
        "--interval", choices=KINDS, default="expanded", help="kind of interval (default expanded)"
    )
    parser.add_argument("--no-pairs", action="store_true", help="leave out the paired tests")
    parser.add_argument(
        "--power",
        action="store_true",
        help="add how many articles it would take to separate each pair",
    )
    parser.add_argument(
        "--table", choices=TABLES, help="print only this table (default for CSV: runs)"
    )
    add_format(parser)
    parser.set_defaults(command=compare_runs)


def compare_runs(args: argparse.Namespace) -> int:
    """Print a comparison for each view."""
    if not args.no_pairs:
        check_paired(len(args.runs))  # before any is read
    gold = read_gold(args.task, args.gold)
    views: dict[str, list[Scorecard]] = {}
    for card in scorecards_of(args, gold):
        views.setdefault(card.signature.view, []).append(card)
    comparisons = [
        compare(
            gold,
            cards,
            measure=args.measure,
            resamples=args.resamples,
            seed=args.seed,
            pairs=not args.no_pairs,
            interval=args.interval,
            power=args.power,
        )
        for cards in views.values()
    ]
    print(framed(args, comparison_report(comparisons, args.format, args.table)))
    return 0
