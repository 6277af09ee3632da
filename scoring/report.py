"""Scorecards and articles for people and programs: text, JSON, CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Protocol, TypeAlias

from scoring.analysis import ArticleDifficulty, ArticleRank
from scoring.doubtful import DoubtfulItem
from scoring.frames import flat
from scoring.measures import mean_of
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.sign_flips import PairTest
from scoring.significance import Interval
from scoring.strata import StratumDifference
from scoring.tables import (
    Cell,
    Table,
    best_cells,
    csv_table,
    latex_table,
    styled_table,
    table_of,
    text_table,
)


class Counted(Protocol):
    """A result that is scored on some articles of a gold."""

    @property
    def articles_scored(self) -> int:
        """The number of articles of the gold that were scored."""
        ...

    @property
    def articles_in_gold(self) -> int:
        """The number of articles of the gold."""
        ...


Records: TypeAlias = Sequence[
    Interval | PairTest | ArticleRank | ArticleDifficulty | StratumDifference
]

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

BETTER_HIGH = {*_ITEM_COLUMNS.values(), *_ACT_COLUMNS.values()} - {"TP", "FP", "FN", "TN"}
"""The columns of scores, of which the highest is the best."""

FORMATS = ("text", "json", "csv", "latex")


def scores_report(
    scorecards: Sequence[Scorecard],
    style: str,
    measures: Sequence[str] = (),
    extra: Sequence[Mapping[str, Cell]] = (),
) -> str:
    """Return scorecards, with `measures` besides, in one of `FORMATS`.

    `extra` has further columns, a row a scorecard.
    JSON is a list of `Scorecard.to_dict()` objects. JSON and CSV have every value and digit; text
    and LaTeX have three decimals, and the signatures below or above the table.
    """
    values = [_values(scorecard, measures) for scorecard in scorecards]
    for one, more in zip(values, extra, strict=False):
        one.update(more)
    if style == "json":
        return json.dumps(values, indent=2)
    if style == "csv":
        return csv_table(table_of([flat(one) for one in values]))
    columns = {f"measures.{name}": name for name in measures}
    columns |= {name: name for more in extra for name in more}
    table = score_table(scorecards, [flat(one) for one in values], columns)
    signatures = list(dict.fromkeys(str(scorecard.signature) for scorecard in scorecards))
    if style == "latex":
        best = best_cells(table, dict.fromkeys(BETTER_HIGH | set(measures), False))
        tabular = latex_table(table, best)
        return "\n".join([*(f"% {signature}" for signature in signatures), tabular])
    return "\n".join([text_table(table), "", *signatures])


def doubtful_report(items: Sequence[DoubtfulItem], style: str) -> str:
    """Return doubtful items in one of `FORMATS`; pairs are two accessions with a space between."""
    rows = [asdict(one) | {"accessions": " ".join(one.accessions)} for one in items]
    if style == "json":
        return json.dumps([asdict(one) for one in items], indent=2)
    if not rows:
        return "none" if style == "text" else ""
    return styled_table(table_of(rows), style)


def articles_report(records: Sequence[ArticleRank | ArticleDifficulty], style: str) -> str:
    """Return article analyses in one of `FORMATS`."""
    if style == "json":
        return json.dumps([asdict(record) for record in records], indent=2)
    if not records:
        return "none" if style == "text" else ""
    return styled_table(record_table(records), style)


def record_table(records: Records, *, counted: bool = False) -> Table:
    """Return dataclass records of one kind as a table, their fields' names as its header.

    With `counted`, the articles that were scored and those of the gold are one column, n/N.
    """
    names = [field.name for field in fields(records[0])]
    if counted:
        names = ["articles" if name == "articles_scored" else name for name in names]
        names.remove("articles_in_gold")
    return [names, *([_cell(record, name) for name in names] for record in records)]


def _cell(record: Any, name: str) -> Cell:
    if name == "articles":
        return n_of_gold(record)
    value: Cell = getattr(record, name)
    return value


def n_of_gold(scored: Counted) -> str:
    """Return n/N: the articles that were scored, of those in the gold."""
    return f"{scored.articles_scored}/{scored.articles_in_gold}"


def _values(scorecard: Scorecard, measures: Sequence[str]) -> dict[str, Any]:
    values = scorecard.to_dict()
    if measures:
        values["measures"] = {name: mean_of(name, scorecard) for name in measures}
    return values


def score_table(
    scorecards: Sequence[Scorecard],
    values: Sequence[Mapping[str, Any]],
    more: Mapping[str, str] | None = None,
) -> Table:
    """Return scorecards of one task as a table; `values` are their flat values.

    `more` maps further keys of the values to the names of their columns.
    """
    items = isinstance(scorecards[0], ItemScorecard)
    columns = {**(_ITEM_COLUMNS if items else _ACT_COLUMNS), **(more or {})}
    views = len({scorecard.signature.view for scorecard in scorecards}) > 1
    table = [["run", *["view"] * views, "articles", *columns.values()]]
    for scorecard, one in zip(scorecards, values, strict=True):
        view = [scorecard.signature.view] * views
        counts = n_of_gold(scorecard)
        table.append([scorecard.run, *view, counts, *(one[key] for key in columns)])
    return table
