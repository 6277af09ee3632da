"""Scorecards as rows and data frames: a row an article, or a row a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from scoring.tables import Cell, shown

if TYPE_CHECKING:
    from scoring.scorecard import ActScorecard, ItemScorecard, Scorecard

Row: TypeAlias = dict[str, Cell]
Frame: TypeAlias = Any
"""A `pandas.DataFrame` where pandas is installed, else a list of rows (`Row`)."""

HEADLINE = {
    "macro.precision": "P",
    "macro.recall": "R",
    "macro.f_score": "F",
    "macro.auc_ipr": "AUC iP/R",
    "specificity": "spec.",
    "sensitivity": "sens.",
    "accuracy": "acc.",
    "mcc": "MCC",
    "auc_ipr": "AUC iP/R",
}
"""The measures by which a run is known at a glance, by their names in `flat`."""


def leaderboard(scorecards: Sequence[Scorecard]) -> Frame:
    """Return runs as a frame, a row a scorecard, best AUC iP/R first, `rank` in front.

    The columns are those of `Scorecard.to_dict()`, nested ones as `macro.f_score`. Runs of equal
    AUC iP/R have one rank.
    """
    rows = sorted((flat(card.to_dict()) for card in scorecards), key=_area, reverse=True)
    areas = [_area(row) for row in rows]
    ranked = [{"rank": areas.index(area) + 1, **row} for area, row in zip(areas, rows, strict=True)]
    return framed(ranked)


def _area(row: Mapping[str, Any]) -> float:
    return float(row.get("macro.auc_ipr", row.get("auc_ipr", 0.0)))


def framed(rows: list[Row]) -> Frame:
    """Return rows as a data frame where pandas is installed, else as they are."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested objects as `outer.inner` columns."""
    columns: dict[str, Any] = {}
    for key, value in values.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        columns.update({f"{key}.{name}": number for name, number in inner} or {key: value})
    return columns


def item_rows(card: ItemScorecard) -> list[Row]:
    """Return a row for each scored article of an INT or IPT run, in gold order."""
    return [
        {
            "run": card.run,
            "view": card.signature.view,
            "article": article,
            "hits": score.matches.hits,
            "gold": score.matches.gold,
            "correct": len(score.matches.ranks),
            "precision": score.precision,
            "recall": score.recall,
            "f_score": score.f_score,
            "auc_ipr": score.auc_ipr,
        }
        for article, score in card.articles.items()
    ]


def act_rows(card: ActScorecard) -> list[Row]:
    """Return a row for each article that an ACT run classified, in the order of its list."""
    relevant = set(card.matches.ranks)
    return [
        {
            "run": card.run,
            "article": card.articles[place],
            "rank": rank,
            "relevant": rank in relevant,
            "called": called,
            "correct": called == (rank in relevant),
        }
        for rank, (place, called) in enumerate(
            zip(card.ranked.tolist(), card.called.tolist(), strict=True), start=1
        )
    ]


def headline(card: Scorecard) -> dict[str, float]:
    """Return the measures by which a run is known at a glance."""
    values = flat(card.to_dict())
    return {name: values[key] for key, name in HEADLINE.items() if key in values}


def line_of(card: Scorecard) -> str:
    """Return a scorecard in one line: run, task, view, articles, measures."""
    measures = ", ".join(f"{name} {shown(value)}" for name, value in headline(card).items())
    view = "" if card.signature.view == "raw" else f", {card.signature.view}"
    return f"{card.run or 'run'} ({card.task}{view}, {_articles(card)} articles): {measures}"


def html_of(card: Scorecard) -> str:
    """Return a scorecard as a small HTML table, its signature below; for notebooks."""
    cells = {
        "run": card.run or "run",
        "task": str(card.task),
        "view": card.signature.view,
        "articles": _articles(card),
        **{name: shown(value) for name, value in headline(card).items()},
    }
    names = "".join(f"<th>{escape(name)}</th>" for name in cells)
    values = "".join(f"<td>{escape(value)}</td>" for value in cells.values())
    return (
        f"<table><thead><tr>{names}</tr></thead><tbody><tr>{values}</tr></tbody></table>"
        f"<small><code>{escape(str(card.signature))}</code></small>"
    )


def _articles(card: Scorecard) -> str:
    return f"{card.articles_scored}/{card.articles_in_gold}"
