"""`scoring per-article`: the scores of each article, as `trec_eval -q` prints each topic's."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.article_rows import rows_of
from scoring.errors import OptionError
from scoring.files import read_gold
from scoring.options import (
    add_measures,
    add_policy,
    add_runs,
    add_task_and_gold,
    check_measures,
    scorecards_of,
)
from scoring.tables import tsv_table
from scoring.tasks import Task


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "per-article", help="print the scores of each article, one article per line"
    )
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser, all_views=True)
    add_measures(parser)
    parser.add_argument("--out", type=Path, metavar="TSV", help="file to write (default: stdout)")
    parser.set_defaults(command=per_article)


def per_article(args: argparse.Namespace) -> int:
    """Write a table with a line an article, and for INT and IPT one with the macro-averages."""
    check_measures(args.measures)
    if args.measures and args.task == Task.ACT:
        raise OptionError("--measures does not apply to the articles of ACT, which have no lists")
    gold = read_gold(args.task, args.gold)
    rows = [row for card in scorecards_of(args, gold) for row in rows_of(card, args.measures)]
    header = list(rows[0]) if rows else ["run", "article"]
    text = tsv_table([header, *(list(row.values()) for row in rows)])
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0
