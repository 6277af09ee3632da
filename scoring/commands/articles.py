"""`scoring articles`: easy and hard articles, and likely errors of the gold standard."""

from __future__ import annotations

import argparse

from scoring.analysis import article_difficulty, article_ranks
from scoring.files import read_gold
from scoring.gold import ActGold
from scoring.options import (
    add_format,
    add_policy,
    add_runs,
    add_task_and_gold,
    framed,
    scorecards_of,
)
from scoring.report import articles_report
from scoring.scorecard import ActScorecard, ItemScorecard


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "articles", help="rank articles from easy to hard over many runs"
    )
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--doubtful", action="store_true", help="ACT: only articles whose label is doubtful"
    )
    add_format(parser)
    parser.set_defaults(command=articles)


def articles(args: argparse.Namespace) -> int:
    """Print the articles, easiest first."""
    gold = read_gold(args.task, args.gold)
    cards = scorecards_of(args, gold)
    if isinstance(gold, ActGold):
        ranks = article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
        print(
            framed(
                args,
                articles_report([r for r in ranks if r.doubtful or not args.doubtful], args.format),
            )
        )
    else:
        runs = [card for card in cards if isinstance(card, ItemScorecard)]
        print(framed(args, articles_report(article_difficulty(gold, runs), args.format)))
    return 0
