"""`scoring evaluate`: score result files against a gold standard."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scoring.errors import OptionError
from scoring.files import read_gold
from scoring.gold import Gold, ItemGold
from scoring.measures import MEASURES, measure_named
from scoring.options import (
    add_format,
    add_policy,
    add_runs,
    add_task_and_gold,
    framed,
    scorecards_of,
)
from scoring.report import scores_report
from scoring.views import RAW, VIEWS, View, select_views


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("evaluate", help="score INT, IPT or ACT result files")
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="homologs: gold accession<TAB>accession,..."
    )
    parser.add_argument("--taxa", type=Path, metavar="FILE", help="organisms: accession<TAB>taxon")
    parser.add_argument(
        "--views", choices=[*VIEWS, "all"], help="default: the one that uses the files given"
    )
    parser.add_argument(
        "--measures",
        type=lambda text: text.split(","),
        default=[],
        metavar="M,...",
        help=f"besides: {', '.join(MEASURES)}",
    )
    add_format(parser)
    parser.set_defaults(command=evaluate)


def evaluate(args: argparse.Namespace) -> int:
    """Print a scorecard a run and view, or every problem of all files and nothing else."""
    for name in args.measures:
        measure_named(name)  # refuses an unknown name before any file is read
    gold = read_gold(args.task, args.gold)
    scorecards = scorecards_of(args, gold, _views(args, gold))
    print(framed(args, scores_report(scorecards, args.format, args.measures)))
    return 0


def _views(args: argparse.Namespace, gold: Gold) -> Sequence[View]:
    """Return the views asked for; without `--views`, the one that uses all the files given."""
    name = args.views or VIEWS[bool(args.map) + 2 * bool(args.taxa)]
    if name == "raw":
        return (RAW,)
    if not isinstance(gold, ItemGold):
        raise OptionError("--map, --taxa and --views do not apply to ACT")
    names = VIEWS if name == "all" else (name,)
    return select_views(gold, names, homologs=args.map, taxa=args.taxa)
