"""`scoring per-article`: the scores of each article, as `trec_eval -q` prints each topic's."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.errors import OptionError
from scoring.files import read_gold
from scoring.frames import Row, act_rows, item_rows
from scoring.measures import mean_of, measure_named
from scoring.options import (
    add_measures,
    add_policy,
    add_runs,
    add_task_and_gold,
    check_measures,
    scorecards_of,
)
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.tables import tsv_table
from scoring.tasks import Task

ALL = "all"
"""The name of the line with the macro-averages, as trec_eval has it."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("per-article", help="print each article's scores, a line each")
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
        args.out.write_text(text + "\n")
    else:
        print(text)
    return 0


def rows_of(card: Scorecard, names: Sequence[str]) -> Iterator[Row]:
    """Yield a run's rows; those of ACT have no last one, since only the whole list has measures."""
    if not isinstance(card, ItemScorecard):
        yield from act_rows(card)
        return
    for row, score in zip(item_rows(card), card.articles.values(), strict=True):
        yield row | {name: measure_named(name)(score.matches) for name in names}
    macro = card.macro
    yield {
        "run": card.run,
        "view": card.signature.view,
        "article": ALL,
        "hits": card.tp + card.fp,
        "gold": card.tp + card.fn,
        "correct": card.tp,
        "precision": macro.precision,
        "recall": macro.recall,
        "f_score": macro.f_score,
        "auc_ipr": macro.auc_ipr,
        **{name: mean_of(name, card) for name in names},
    }
