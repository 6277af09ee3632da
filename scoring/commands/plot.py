"""`scoring plot`: draw curves, AUC against F, intervals, or the difficulty of articles."""

from __future__ import annotations

import argparse

from scoring import figures
from scoring.analysis import ArticleDifficulty, ArticleRank, article_difficulty, article_ranks
from scoring.charts import Chart
from scoring.errors import OptionError
from scoring.files import read_gold
from scoring.gold import ActGold, Gold
from scoring.options import (
    add_policy,
    add_resampling,
    add_runs,
    add_task_and_gold,
    add_team,
    scorecards_of,
)
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.scorecard import ActScorecard, ItemScorecard, Scorecard
from scoring.significance import compare
from scoring.teams import best_of_teams


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("plot", help="draw runs as SVG, PNG, PDF or HTML")
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--kind",
        choices=["curves", "scatter", "intervals", "articles"],
        default="curves",
        help="curves (default): interpolated precision against recall; scatter: AUC against F;"
        " intervals: confidence intervals of a score; "
        "articles: their difficulty",
    )
    add_team(parser, "only each team's best run is drawn")
    parser.add_argument(
        "--measure",
        default="auc_ipr",
        metavar="M",
        help="measure of --kind intervals (default auc_ipr)",
    )
    add_resampling(parser)
    add_pictures(parser)
    parser.set_defaults(command=plot)


def plot(args: argparse.Namespace) -> int:
    """Write the figure."""
    check_pictures(args)
    if not args.out and not args.html:
        raise OptionError("nothing to write; expected --out or --html")
    gold = read_gold(args.task, args.gold)
    cards = scorecards_of(args, gold)
    if args.team:
        cards = best_of_teams(cards, args.team)
    save_pictures(args, _chart(args, gold, cards))
    return 0


def _chart(args: argparse.Namespace, gold: Gold, cards: list[Scorecard]) -> Chart:
    if args.kind == "curves":
        return figures.curves(cards)
    if args.kind == "scatter":
        return figures.scatter(cards)
    if args.kind == "intervals":
        comparison = compare(
            gold,
            cards,
            measure=args.measure,
            resamples=args.resamples,
            seed=args.seed,
            pairs=False,
        )
        return figures.intervals(comparison)
    articles: list[ArticleRank] | list[ArticleDifficulty]
    if isinstance(gold, ActGold):
        articles = article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
        positives = gold.positives
    else:
        runs = [card for card in cards if isinstance(card, ItemScorecard)]
        articles, positives = article_difficulty(gold, runs), 0
    signature = str(cards[0].signature)
    return figures.difficulty(articles, positives=positives, signature=signature)
