"""`scoring explain`: the explanation of one article's score."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.evaluation import evaluate_files
from scoring.explanation import explain_classification, explain_items
from scoring.files import read_gold, read_run
from scoring.gold import ItemGold
from scoring.options import add_lenient_ranks, add_task_and_gold
from scoring.scorecard import ActScorecard


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("explain", help="print an article's ranked list and its curve")
    parser.add_argument("run", type=Path, metavar="RUN", help="a result file")
    parser.add_argument("article", metavar="ARTICLE", help="id of the article")
    add_task_and_gold(parser)
    add_lenient_ranks(parser)
    parser.set_defaults(command=explain)


def explain(args: argparse.Namespace) -> int:
    """Print the explanation."""
    gold = read_gold(args.task, args.gold)
    if isinstance(gold, ItemGold):
        run = read_run(args.task, args.run, lenient_ranks=args.lenient_ranks)
        lines = explain_items(gold, run, args.article)
    else:
        card = evaluate_files(args.task, gold, args.run, lenient_ranks=args.lenient_ranks)
        assert isinstance(card, ActScorecard)
        lines = explain_classification(gold, card, args.article)
    print(*lines, sep="\n")
    return 0
