"""The chart of quality against cost: a board's runs by their score, and by what they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaserver.base.boards import BoardRow, Column
from metaserver.base.usage import tokens_text
from metaserver.web.ui.charts import Axis, LogAxis, Point


@dataclass(frozen=True, kw_only=True)
class UsageRow:
    """A run of the chart's table; `efficient`: no other is as good for as little."""

    name: str
    row: BoardRow
    score: str
    tokens_in: str
    tokens_out: str
    cost: str
    efficient: bool


@dataclass(frozen=True, kw_only=True)
class UsageChart:
    """Runs that declare what they took, by the ranking measure (`column`).

    The horizontal axis has the cost if any run declares it, else the tokens; it is logarithmic, so
    a run that takes nothing is only in the table. `names` are the charts' names.
    """

    rows: Sequence[BoardRow]
    column: Column
    series: Mapping[str, int]
    names: Mapping[str, str]

    @property
    def priced(self) -> bool:
        """True if the horizontal axis has costs."""
        return any(row.usage is not None and row.usage.cost for row in self.rows)

    def _taken(self, row: BoardRow) -> float | None:
        if row.usage is None:
            return None
        return row.usage.cost if self.priced else row.usage.tokens

    def _placed(self) -> Sequence[tuple[BoardRow, float, float]]:
        """Return the chart's runs with what they took and their score."""
        placed = [(row, self._taken(row), row.values.get(self.column.key)) for row in self.rows]
        return [
            (row, amount, score) for row, amount, score in placed if amount and score is not None
        ]

    def points(self) -> Sequence[Point]:
        """Return the chart's runs."""
        return [
            Point(
                name=self.names[row.run],
                x=amount,
                y=score,
                series=self.series.get(self.names[row.run]),
                said=f"{row.text(self.column)}, {self._words(row)}",
            )
            for row, amount, score in self._placed()
        ]

    def legend(self) -> Mapping[str, int]:
        """Return the series that have a point, by name."""
        names_shown = {point.name for point in self.points()}
        return {name: number for name, number in self.series.items() if name in names_shown}

    def _words(self, row: BoardRow) -> str:
        if self.priced:
            return row.usage.amount if row.usage else "n/a"
        return f"{tokens_text(self._taken(row))} tokens"

    def axes(self) -> tuple[LogAxis, Axis]:
        """Return the axes; there is a point at least."""
        points = self.points()
        currency = next((row.usage.currency for row, *_ in self._placed() if row.usage), "")
        what = f"Cost of an article, {currency}" if self.priced else "Tokens of an article"
        return (
            LogAxis.over(f"{what} (declared by the team)", [point.x for point in points]),
            Axis.over(self.column.heading, [point.y for point in points]),
        )

    def frontier(self) -> Sequence[tuple[float, float]]:
        """Return the efficient runs, those that take least first."""
        efficient = self._efficient()
        placed = self._placed()
        return sorted((amount, score) for row, amount, score in placed if row.run in efficient)

    def _efficient(self) -> frozenset[str]:
        sign = -1 if self.column.rising else 1
        best, efficient = None, set[str]()
        for row, _, score in sorted(self._placed(), key=lambda entry: (entry[1], -sign * entry[2])):
            if best is None or sign * score > best:
                best = sign * score
                efficient.add(row.run)
        return frozenset(efficient)

    def table(self) -> Sequence[UsageRow]:
        """Return all runs that declare something, in the board's order."""
        efficient = self._efficient()
        return [
            UsageRow(
                name=self.names[row.run],
                row=row,
                score=row.text(self.column),
                tokens_in=tokens_text(row.usage.tokens_in),
                tokens_out=tokens_text(row.usage.tokens_out),
                cost=row.usage.amount,
                efficient=row.run in efficient,
            )
            for row in self.rows
            if row.usage is not None
        ]
