"""`scoring report`: the tables of a challenge's overview, the best in bold."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.frames import flat
from scoring.gold import ItemGold
from scoring.options import add_articles, add_format, add_lenient_ranks, check_names, warn
from scoring.report import BETTER_HIGH, score_table
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.tables import (
    Cell,
    Table,
    best_cells,
    csv_table,
    latex_float,
    latex_table,
    starred_table,
)
from scoring.tasks import Task
from scoring.teams import main_score
from scoring.views import RAW, VIEWS, select_views

_CAPTIONS = {
    Task.ACT: "ACT: article classification",
    Task.INT: "INT: interactor normalization",
    Task.IPT: "IPT: interaction pairs",
}
_VIEWS_CAPTION = "The best run of each view"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("report", help="print the tables of an overview")
    for task in Task:
        parser.add_argument(
            f"--{task.lower()}",
            nargs="+",
            type=Path,
            metavar="FILE",
            help=f"gold and result files of {task}",
        )
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="homologs: gold accession<TAB>accession,..."
    )
    parser.add_argument("--taxa", type=Path, metavar="FILE", help="organisms: accession<TAB>taxon")
    parser.add_argument("--label", default="tab", metavar="NAME", help="of the LaTeX tables: tab")
    add_articles(parser)
    add_lenient_ranks(parser)
    add_format(parser, captions=False)
    parser.set_defaults(command=report)


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One table of the report, the cells of its best values, and what it is called."""

    name: str
    caption: str
    table: Table
    values: Sequence[dict[str, Any]]
    best: set[tuple[int, int]]
    signatures: Sequence[str]


def report(args: argparse.Namespace) -> int:
    """Print a table a task, then the best run of each view, all sorted by AUC iP/R."""
    files = {task: getattr(args, task.lower()) for task in Task}
    if not any(files.values()):
        raise OptionError("nothing to report; expected --act, --int or --ipt")
    for task, given in files.items():
        if given and len(given) < 2:
            raise OptionError(f"--{task.lower()} has a gold file alone; expected result files")
    cards = {task: _score(args, task, given) for task, given in files.items() if given}
    warn(dict.fromkeys(one for found in cards.values() for card in found for one in card.warnings))
    parts = [_task_part(task, found) for task, found in cards.items()]
    items = [card for found in cards.values() for card in found if isinstance(card, ItemScorecard)]
    if items:
        parts.append(_views_part(items))
    if args.format == "json":
        print(json.dumps({part.name: part.values for part in parts}, indent=2))
    elif args.format == "csv":
        print("\n\n".join(csv_table(part.table) for part in parts))
    elif args.format == "latex":
        print("\n\n".join(_latex(part, args.label) for part in parts))
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
    return sorted(cards, key=lambda card: (-main_score(card), card.run))


def _task_part(task: Task, cards: Sequence[Scorecard]) -> _Part:
    """Return the raw scores of a task's runs (Tables 1 to 3 of the BC II.5 overview)."""
    raw = [card for card in cards if card.signature.view == "raw"]
    table = score_table(raw, [flat(card.to_dict()) for card in raw])
    return _Part(
        name=task.lower(),
        caption=_CAPTIONS[task],
        table=table,
        values=[card.to_dict() for card in raw],
        best=best_cells(table, dict.fromkeys(BETTER_HIGH, False)),
        signatures=list(dict.fromkeys(str(card.signature) for card in raw)),
    )


def _views_part(cards: Sequence[ItemScorecard]) -> _Part:
    """Return the best runs by F and by AUC iP/R in each task and view (Table 4)."""
    header = ["view", "best F: run", "F", "best AUC iP/R: run", "AUC iP/R"]
    rows: list[list[Cell]] = [[*header]]
    values: list[dict[str, Any]] = []
    best: set[tuple[int, int]] = set()
    for task in dict.fromkeys(card.task for card in cards):
        first = len(rows)
        for view in VIEWS:
            found = [c for c in cards if c.task is task and c.signature.view == view]
            if not found:
                continue
            by_f = min(found, key=lambda card: (-card.macro.f_score, card.run))
            by_auc = min(found, key=lambda card: (-card.macro.auc_ipr, card.run))
            f_score, auc_ipr = by_f.macro.f_score, by_auc.macro.auc_ipr
            rows.append([f"{task} {view}", by_f.run, f_score, by_auc.run, auc_ipr])
            runs = {"f_run": by_f.run, "f_score": f_score, "auc_run": by_auc.run}
            values.append({"task": str(task), "view": view, **runs, "auc_ipr": auc_ipr})
        of_task = [rows[0], *rows[first:]]
        cells = best_cells(of_task, {"F": False, "AUC iP/R": False})
        best |= {(row + first - 1, column) for row, column in cells}
    by_view = sorted(cards, key=lambda card: (card.task, VIEWS.index(card.signature.view)))
    return _Part(
        name="views",
        caption=_VIEWS_CAPTION,
        table=rows,
        values=values,
        best=best,
        signatures=list(dict.fromkeys(str(card.signature) for card in by_view)),
    )


def _text(part: _Part) -> str:
    lines = [part.caption, starred_table(part.table, part.best), "* the best", *part.signatures]
    return "\n".join(lines)


def _latex(part: _Part, label: str) -> str:
    tabular = latex_table(part.table, part.best)
    signatures = "\n".join(f"% {one}" for one in part.signatures)
    return f"{signatures}\n{latex_float(tabular, part.caption, f'{label}:{part.name}')}"
