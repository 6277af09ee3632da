"""`scoring articles`: easy and hard articles, and likely errors of the gold standard."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from scoring.analysis import ArticleRank, article_difficulty, article_ranks
from scoring.doubtful import DoubtfulItem, changed_gold, doubtful_items
from scoring.errors import OptionError
from scoring.evaluation import in_view
from scoring.files import gold_lines, read_gold, read_run
from scoring.gold import ActGold, Gold, ItemGold
from scoring.options import (
    add_format,
    add_policy,
    add_runs,
    add_task_and_gold,
    add_team,
    check_names,
    framed,
    scorecards_of,
    views_of,
    warn,
)
from scoring.report import articles_report, doubtful_report
from scoring.scorecard import ActScorecard, ItemScorecard
from scoring.teams import best_of_teams, team_of


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "articles", help="rank articles from easy to hard by the scores of many runs"
    )
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--doubtful",
        action="store_true",
        help="show only articles (ACT) or items (INT, IPT) whose annotation is doubtful",
    )
    parser.add_argument(
        "--doubt",
        choices=["missing", "unsupported"],
        help="INT, IPT: only items missing from the gold, or only items that no team supports",
    )
    add_team(
        parser,
        "ACT: only a team's best run counts; else with --doubtful: what any run of a team has",
    )
    parser.add_argument(
        "--gold-out",
        type=Path,
        metavar="FILE",
        help="write a gold file in which the doubtful annotations are changed",
    )
    add_format(parser)
    parser.set_defaults(command=articles)


def articles(args: argparse.Namespace) -> int:
    """Print the articles, easiest first, or what is doubtful."""
    gold = read_gold(args.task, args.gold)
    if not args.doubtful and (args.gold_out or args.doubt):
        raise OptionError("--gold-out and --doubt need --doubtful")
    if args.team and not args.doubtful and isinstance(gold, ItemGold):
        raise OptionError("--team needs --doubtful for INT and IPT")
    if isinstance(gold, ItemGold) and args.doubtful:
        return _doubtful_items(args, gold)
    cards = scorecards_of(args, gold)
    if isinstance(gold, ActGold):
        if args.doubt:
            raise OptionError("--doubt does not apply to ACT")
        cards = best_of_teams(cards, args.team) if args.team else cards
        ranks = article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
        found = [rank for rank in ranks if rank.doubtful or not args.doubtful]
        _write(args, _relabelled(gold, found))
        print(framed(args, articles_report(found, args.format)))
    else:
        runs = [card for card in cards if isinstance(card, ItemScorecard)]
        print(framed(args, articles_report(article_difficulty(gold, runs), args.format)))
    return 0


def _doubtful_items(args: argparse.Namespace, gold: ItemGold) -> int:
    check_names(args.runs)
    (view,) = views_of(args, gold)
    runs = [read_run(args.task, path, lenient_ranks=args.lenient_ranks) for path in args.runs]
    warn(warning for run in runs for warning in run.warnings)
    found: list[DoubtfulItem] = doubtful_items(
        gold,
        [in_view(gold, run, view) for run in runs],
        teams=[team_of(args.team, run.name) for run in runs],
        cutoff=args.cutoff,
    )
    found = [one for one in found if args.doubt in (None, one.doubt)]
    _write(args, changed_gold(gold, found))
    print(framed(args, doubtful_report(found, args.format)))
    return 0


def _relabelled(gold: ActGold, found: list[ArticleRank]) -> Gold:
    doubtful = {one.article: True for one in found if one.doubtful}
    return replace(gold, relevant={**gold.relevant, **doubtful})


def _write(args: argparse.Namespace, gold: Gold) -> None:
    if args.gold_out:
        args.gold_out.write_text("".join(gold_lines(gold)), encoding="utf-8")
