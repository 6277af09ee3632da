"""Scorecards for people and programs: a text table, JSON, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scoring.scorecard import ItemScorecard, Scorecard

_ITEM_COLUMNS = {
    "tp": "TP",
    "fp": "FP",
    "fn": "FN",
    "macro.precision": "P",
    "macro.recall": "R",
    "macro.f_score": "F",
    "macro.auc_ipr": "AUC iP/R",
    "micro.precision": "micro P",
    "micro.recall": "micro R",
    "micro.f_score": "micro F",
    "micro.auc_ipr": "micro AUC",
}
_ACT_COLUMNS = {
    "tp": "TP",
    "fp": "FP",
    "fn": "FN",
    "tn": "TN",
    "specificity": "spec.",
    "sensitivity": "sens.",
    "accuracy": "acc.",
    "mcc": "MCC",
    "precision_at_full_recall": "P at full R",
    "auc_ipr": "AUC iP/R",
}


def as_json(scorecards: Sequence[Scorecard]) -> str:
    """Return the scorecards as a JSON list, one object a run, every digit kept."""
    return json.dumps([scorecard.to_dict() for scorecard in scorecards], indent=2)


def as_text(scorecards: Sequence[Scorecard]) -> str:
    """Return an aligned table, a line a run, with the signatures below it."""
    table = _table(scorecards)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    signatures = dict.fromkeys(str(scorecard.signature) for scorecard in scorecards)
    return "\n".join([*lines, "", *signatures])


def as_csv(scorecards: Sequence[Scorecard]) -> str:
    """Return a CSV table of every value of the scorecards, a line a run, every digit kept."""
    rows = [_flat(scorecard.to_dict()) for scorecard in scorecards]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def as_latex(scorecards: Sequence[Scorecard]) -> str:
    """Return a LaTeX tabular of the text table, with the signatures as comments."""
    header, *rows = ([_escaped(cell) for cell in row] for row in _table(scorecards))
    signatures = dict.fromkeys(f"% {scorecard.signature}" for scorecard in scorecards)
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\hline",
        " & ".join(header) + r" \\",
        r"\hline",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join([*signatures, *lines])


FORMATS: Mapping[str, Callable[[Sequence[Scorecard]], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "latex": as_latex,
}


def _table(scorecards: Sequence[Scorecard]) -> list[list[str]]:
    """Return the rows of the printed table, header first; scores have three decimals."""
    items = isinstance(scorecards[0], ItemScorecard)
    columns = _ITEM_COLUMNS if items else _ACT_COLUMNS
    views = len({scorecard.signature.view for scorecard in scorecards}) > 1
    rows = [["run", *["view"] * views, "articles", *columns.values()]]
    for scorecard in scorecards:
        values = _flat(scorecard.to_dict())
        counted = f"{scorecard.articles_scored}/{scorecard.articles_in_gold}"
        view = [scorecard.signature.view] * views
        rows.append([scorecard.run, *view, counted, *(_cell(values[key]) for key in columns)])
    return rows


def _cell(value: float | None) -> str:
    if value is None:
        return "n/a"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested objects as `outer.inner` columns."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        flat.update({f"{key}.{name}": number for name, number in inner} or {key: value})
    return flat


def _escaped(cell: str) -> str:
    return "".join("\\" + char if char in "&%$#_{}" else char for char in cell)
