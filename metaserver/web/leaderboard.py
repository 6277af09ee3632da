"""The leaderboard of one task: rows in the reader's order, charts, and the rows as CSV and JSON.

What differs between tasks (columns, order, help) comes from the task plug-in.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaserver.services.snapshots import Board, BoardRow
from metaserver.tasks.plugin import Column, TaskPlugin
from metaserver.web.plots import SERIES, Axis, Curve, Point

FEW = 0.5
"""A run that answered less than this share of the gold articles is tagged."""

OWN_COLUMNS = (
    Column(key="place", heading="#", count=True, help="Place on the board; ties share a place"),
    Column(key="run", heading="Run", help="The annotation server's name"),
    Column(key="articles", heading="Articles", count=True, help="Articles scored / in the gold"),
)
RISING = frozenset({"place", "run"})
"""Columns that are first sorted upwards: the others have their best values on top."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sort:
    """The order of the rows: a column's key, descending or not; written `-f_score` or `run`."""

    key: str = "place"
    descending: bool = False

    @classmethod
    def parse(cls, text: str, columns: Sequence[Column]) -> Sort:
        """Read what `str` wrote; raises ValueError for a column that is not there."""
        if not text:
            return cls()
        sort = cls(key=text.removeprefix("-"), descending=text.startswith("-"))
        if sort.key not in (keys := [column.key for column in columns]):
            raise ValueError(f"Cannot sort by {sort.key}: use one of {', '.join(keys)}.")
        return sort

    def __str__(self) -> str:
        return f"-{self.key}" if self.descending else self.key

    def on(self, column: Column) -> Sort:
        """Return the order that a click on the column's heading asks for."""
        if self.key == column.key:
            return Sort(key=column.key, descending=not self.descending)
        return Sort(key=column.key, descending=column.key not in RISING)


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaderboard:
    """A board as one reader sees it."""

    board: Board
    task: TaskPlugin
    sort: Sort

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        return columns(self.task)

    def rows(self) -> list[BoardRow]:
        """Return the rows in order; ties keep the board's order, rows without a value come last."""
        keyed = [(_value(row, self.sort.key), row) for row in self.board.rows]
        known = [pair for pair in keyed if pair[0] is not None]
        known.sort(key=lambda pair: pair[0], reverse=self.sort.descending)
        return [row for _, row in known] + [row for value, row in keyed if value is None]

    def text(self, row: BoardRow, column: Column) -> str:
        """Return a cell's text; `n/a` where the value is undefined."""
        if column.key == "articles":
            return f"{row.score.articles_scored}/{row.score.articles_in_gold}"
        value = _value(row, column.key)
        if value is None:
            return "n/a"
        if isinstance(value, str) or column.count:
            return str(value)
        return f"{value:.{column.decimals}f}"

    def few(self, row: BoardRow) -> bool:
        """Tell whether the run answered too few articles to be compared with the others."""
        return row.score.articles_scored < FEW * row.score.articles_in_gold

    def share(self, row: BoardRow) -> float | None:
        """Return the value of the board's first measure for a bar, if it lies in [0, 1]."""
        value = row.score.values.get(self.main)
        return float(value) if value is not None and 0 <= value <= 1 else None

    @property
    def main(self) -> str:
        """The column by which the board is ordered."""
        return self.task.order[0]

    def series(self) -> Mapping[str, int]:
        """Number the best runs for colour and dash, by name: a change of place keeps them."""
        best = sorted(row.run for row in self.board.rows[:SERIES] if row.place is not None)
        return {run: number for number, run in enumerate(best)}

    def points(self) -> list[Point]:
        """Return the runs by the board's second and first measure, where both are defined."""
        if len(self.task.order) < 2:
            return []
        series, found = self.series(), []
        for row in self.board.rows:
            x, y = (row.score.values.get(key) for key in (self.task.order[1], self.main))
            if x is not None and y is not None:
                found.append(Point(name=row.run, x=x, y=y, series=series.get(row.run)))
        return found

    def axes(self) -> tuple[Axis, Axis]:
        """Return the scatter's axes."""
        points, heading = self.points(), {column.key: column.heading for column in self.columns}
        return (
            Axis.over(heading[self.task.order[1]], [point.x for point in points]),
            Axis.over(heading[self.main], [point.y for point in points]),
        )

    def curves(self) -> list[Curve]:
        """Return the precision/recall curves of the best runs that have one."""
        series = self.series()
        return [
            Curve(name=row.run, steps=row.score.curve, series=series[row.run])
            for row in self.board.rows
            if row.run in series and row.score.curve
        ]

    def to_csv(self) -> str:
        """Return the table as CSV (RFC 4180): the shown rows, columns, order and decimals."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(column.key for column in self.columns)
        for row in self.rows():
            writer.writerow(_inert(self.text(row, column)) for column in self.columns)
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON-ready values: what the CSV has, numbers as numbers."""
        return {
            "task": self.board.task,
            "signature": self.board.signature,
            "sort": str(self.sort),
            "runs": [
                {
                    "articles_scored": row.score.articles_scored,
                    "articles_in_gold": row.score.articles_in_gold,
                }
                | {
                    column.key: _rounded(_value(row, column.key), column)
                    for column in self.columns
                    if column.key != "articles"
                }
                for row in self.rows()
            ],
        }


def columns(task: TaskPlugin) -> tuple[Column, ...]:
    """Return all columns of a task's table, left to right."""
    return (*OWN_COLUMNS, *task.columns)


def _value(row: BoardRow, key: str) -> Any:
    """Return what a row is sorted by in a column, or None."""
    match key:
        case "place":
            return row.place
        case "run":
            return row.run
        case "articles":
            return row.score.articles_scored
    return row.score.values.get(key)


def _rounded(value: Any, column: Column) -> Any:
    return round(value, column.decimals) if isinstance(value, float) else value


def _inert(text: str) -> str:
    """Keep a run's name from being run as a formula by a spreadsheet (OWASP: CSV injection)."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True
