"""`scoring plot`: draw curves, F against AUC, or article difficulty."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring import plots
from scoring.analysis import ArticleDifficulty, ArticleRank, article_difficulty, article_ranks
from scoring.files import read_gold
from scoring.gold import ActGold
from scoring.options import add_policy, add_runs, add_task_and_gold, scorecards_of
from scoring.scorecard import ActScorecard, ItemScorecard


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("plot", help="draw runs as SVG, PNG or PDF")
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--kind",
        choices=["curves", "scatter", "articles"],
        default="curves",
        help="curves (default): iP/R; scatter: F against AUC; articles: their difficulty",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.set_defaults(command=plot)


def plot(args: argparse.Namespace) -> int:
    """Write the figure."""
    plots.check(args.out)
    gold = read_gold(args.task, args.gold)
    cards = scorecards_of(args, gold)
    if args.kind == "articles":
        articles: list[ArticleRank] | list[ArticleDifficulty]
        if isinstance(gold, ActGold):
            articles = article_ranks(gold, [c for c in cards if isinstance(c, ActScorecard)])
        else:
            runs = [card for card in cards if isinstance(card, ItemScorecard)]
            articles = article_difficulty(gold, runs)
        figure = plots.difficulty(articles)
    else:
        figure = plots.curves(cards) if args.kind == "curves" else plots.scatter(cards)
    plots.save(figure, args.out)
    return 0
