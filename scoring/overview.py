"""The tables of a challenge's overview: one per task, and one of the views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scoring.frames import flat
from scoring.report import BETTER_HIGH, score_table
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.tables import Cell, Table, best_cells, latex_float, latex_table
from scoring.tasks import Task
from scoring.teams import best_first
from scoring.views import VIEWS

_CAPTIONS = {
    Task.ACT: "ACT: article classification",
    Task.INT: "INT: interactor normalization",
    Task.IPT: "IPT: interaction pairs",
}
_VIEWS_CAPTION = "The best raw run in each view, and the best run of each view"


@dataclass(frozen=True, kw_only=True)
class OverviewTable:
    """A table of an overview, the cells of its best values, and its names for people and files."""

    name: str
    caption: str
    table: Table
    values: Sequence[dict[str, Any]]
    best: set[tuple[int, int]]
    signatures: Sequence[str]


def task_table(task: Task, cards: Sequence[Scorecard]) -> OverviewTable:
    """Return the raw scores of a task's runs (Tables 1 to 3 of the BC II.5 overview)."""
    raw = [card for card in cards if card.signature.view == "raw"]
    table = score_table(raw, [flat(card.to_dict()) for card in raw])
    return OverviewTable(
        name=task.lower(),
        caption=_CAPTIONS[task],
        table=table,
        values=[card.to_dict() for card in raw],
        best=best_cells(table, dict.fromkeys(BETTER_HIGH, False)),
        signatures=list(dict.fromkeys(str(card.signature) for card in raw)),
    )


def views_table(cards: Sequence[ItemScorecard]) -> OverviewTable:
    """Return the best runs by F and by AUC iP/R in each task and view (Table 4).

    The best raw runs come first and are followed through the other views; then come the runs that
    are best after each step. `chosen_in` of the values is the view in which a row's runs are best.
    A score is None if there is no card of the run in that view.
    """
    header = ["view", "best F: run", "F", "best AUC iP/R: run", "AUC iP/R"]
    rows: list[list[Cell]] = [[*header]]
    values: list[dict[str, Any]] = []
    best: set[tuple[int, int]] = set()
    for task in dict.fromkeys(card.task for card in cards):
        first = len(rows)
        by_view = {
            view: {c.run: c for c in cards if c.task is task and c.signature.view == view}
            for view in VIEWS
        }
        views = [view for view in VIEWS if by_view[view]]
        followed = [("raw", view) for view in views if by_view["raw"]]
        chosen = [(view, view) for view in views if view != "raw"]
        for chosen_in, view in [*followed, *chosen]:
            candidates, shown = by_view[chosen_in].values(), by_view[view]
            f_run = min(
                candidates, key=lambda card: (-card.macro.f_score, *best_first(card)[1:])
            ).run
            auc_run = min(candidates, key=best_first).run
            f_score = shown[f_run].macro.f_score if f_run in shown else None
            auc_ipr = shown[auc_run].macro.auc_ipr if auc_run in shown else None
            name = view if view == "raw" else f"{'raw' if chosen_in == 'raw' else 'best'} {view}"
            rows.append([f"{task} {name}", f_run, f_score, auc_run, auc_ipr])
            runs = {"f_run": f_run, "f_score": f_score, "auc_run": auc_run, "auc_ipr": auc_ipr}
            values.append({"task": str(task), "view": view, "chosen_in": chosen_in, **runs})
        of_task = [rows[0], *rows[first:]]
        cells = best_cells(of_task, {"F": False, "AUC iP/R": False})
        best |= {(row + first - 1, column) for row, column in cells}
    in_order = sorted(cards, key=lambda card: (card.task, VIEWS.index(card.signature.view)))
    return OverviewTable(
        name="views",
        caption=_VIEWS_CAPTION,
        table=rows,
        values=values,
        best=best,
        signatures=list(dict.fromkeys(str(card.signature) for card in in_order)),
    )


def overview_latex(part: OverviewTable, label: str) -> str:
    """Return a table as a LaTeX float, its best values in bold; `label` begins its label."""
    tabular = latex_table(part.table, part.best)
    signatures = "\n".join(f"% {one}" for one in part.signatures)
    return f"{signatures}\n{latex_float(tabular, part.caption, f'{label}:{part.name}')}"
