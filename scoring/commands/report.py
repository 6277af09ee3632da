"""`scoring report`: the tables of a challenge's overview, the best in bold."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.gold import ItemGold
from scoring.options import add_articles, add_format, add_lenient_ranks, check_names, warn
from scoring.overview import OverviewTable, overview_latex, task_table, views_table
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.tables import csv_table, starred_table
from scoring.tasks import Task
from scoring.teams import best_first
from scoring.text import rereadable
from scoring.views import RAW, VIEWS, select_views


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "report", help="print the tables of a challenge's overview paper"
    )
    for task in Task:
        parser.add_argument(
            f"--{task.lower()}",
            nargs="+",
            type=Path,
            metavar="FILE",
            help=f"{task}: the gold file, then the result files",
        )
    parser.add_argument(
        "--map",
        type=Path,
        metavar="FILE",
        help="homologs, per line: gold accession<TAB>accession,...",
    )
    parser.add_argument(
        "--taxa", type=Path, metavar="FILE", help="organisms, per line: accession<TAB>taxon"
    )
    parser.add_argument(
        "--label",
        default="tab",
        metavar="NAME",
        help="prefix of the LaTeX tables' labels (default tab)",
    )
    add_articles(parser)
    add_lenient_ranks(parser)
    add_format(parser, captions=False)
    parser.set_defaults(command=report)


def report(args: argparse.Namespace) -> int:
    """Print a table a task, then the best run of each view, all sorted by AUC iP/R."""
    files = {task: getattr(args, task.lower()) for task in Task}
    if not any(files.values()):
        raise OptionError("nothing to report; expected --act, --int or --ipt")
    for task, given in files.items():
        if given and len(given) < 2:
            raise OptionError(f"--{task.lower()} has a gold file alone; expected result files")
    args.map, args.taxa = (path and rereadable(path) for path in (args.map, args.taxa))
    cards = {task: _score(args, task, given) for task, given in files.items() if given}
    warn(dict.fromkeys(one for found in cards.values() for card in found for one in card.warnings))
    parts = [task_table(task, found) for task, found in cards.items()]
    items = [card for found in cards.values() for card in found if isinstance(card, ItemScorecard)]
    if items:
        parts.append(views_table(items))
    if args.format == "json":
        print(json.dumps({part.name: part.values for part in parts}, indent=2))
    elif args.format == "csv":
        print("\n\n".join(csv_table(part.table) for part in parts))
    elif args.format == "latex":
        print("\n\n".join(overview_latex(part, args.label) for part in parts))
    else:
        print("\n\n".join(_text(part) for part in parts))
    return 0


def _score(args: argparse.Namespace, task: Task, given: Sequence[Path]) -> list[Scorecard]:
    """Return a task's scorecards, best first, in every view whose files are there."""
    check_names(given[1:])
    gold = read_gold(task, given[0])
    views = [RAW]
    if isinstance(gold, ItemGold):
        needs = {"mapped": [args.map], "filtered": [args.taxa], "both": [args.map, args.taxa]}
        names = [view for view in VIEWS if all(needs.get(view, ()))]
        views = select_views(gold, names, homologs=args.map, taxa=args.taxa)
    cards = evaluate_runs(
        task,
        gold,
        given[1:],
        articles=args.articles,
        lenient_ranks=args.lenient_ranks,
        views=tuple(views),
    )
    return sorted(cards, key=best_first)


def _text(part: OverviewTable) -> str:
    lines = [part.caption, starred_table(part.table, part.best), "* the best", *part.signatures]
    return "\n".join(lines)
