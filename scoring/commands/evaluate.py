"""`scoring evaluate`: score result files against a gold standard."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scoring.commands.options import add_policy, add_task_and_gold
from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.gold import Gold, ItemGold
from scoring.report import FORMATS
from scoring.views import RAW, VIEWS, View, select_views


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("evaluate", help="score INT, IPT or ACT result files")
    add_task_and_gold(parser)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="result files")
    add_policy(parser)
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="homologs: gold accession<TAB>accession,..."
    )
    parser.add_argument("--taxa", type=Path, metavar="FILE", help="organisms: accession<TAB>taxon")
    parser.add_argument(
        "--views", nargs="+", choices=[*VIEWS, "all"], help="default: uses the files given"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--format", choices=list(FORMATS), default="text", help="default: text")
    output.add_argument("--json", dest="format", action="store_const", const="json")
    parser.set_defaults(command=evaluate)


def evaluate(args: argparse.Namespace) -> int:
    """Print a scorecard a run and view, or every problem of all files and nothing else."""
    gold = read_gold(args.task, args.gold)
    scorecards = evaluate_runs(
        args.task,
        gold,
        args.runs,
        articles=args.articles,
        cutoff=args.cutoff,
        lenient_ranks=args.lenient_ranks,
        beta=args.beta,
        views=_views(args, gold),
    )
    warnings = dict.fromkeys(warning for card in scorecards for warning in card.warnings)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(FORMATS[args.format](scorecards))
    return 0


def _views(args: argparse.Namespace, gold: Gold) -> Sequence[View]:
    """Return the views asked for; without `--views`, the one that uses all the files given."""
    names = list(VIEWS) if args.views and "all" in args.views else args.views
    if not names:
        names = [VIEWS[bool(args.map) + 2 * bool(args.taxa)]]
    if names == ["raw"]:
        return (RAW,)
    if not isinstance(gold, ItemGold):
        raise OptionError("--map, --taxa and --views do not apply to ACT")
    return select_views(gold, names, homologs=args.map, taxa=args.taxa)
