"""The leaderboard of one task as one viewer sees it: rows, cells and charts.

What differs between tasks (columns, order, help) comes from the task plug-in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from metaserver.model.boards import Board, BoardRow, FrozenBoard
from metaserver.model.records import TaskName
from metaserver.model.scores import Column
from metaserver.web.public.choices import Choice, Show
from metaserver.web.ui.paging import Page
from metaserver.web.ui.plots import SERIES, Axis, Curve, Point

FEW = 0.5
"""A run that answered less than this share of the gold articles is tagged."""

POINTS = 200
"""Best runs of teams that the scatter shows: more would hide one another."""

OWN_COLUMNS = (
    Column(key="place", heading="#", count=True, help="Place on the board; ties share a place"),
    Column(key="run", heading="Run", help="The team and its annotation server, or its file"),
    Column(key="mode", heading="Mode", help="online: answered as a server; offline: as a file"),
    Column(key="articles", heading="Articles", count=True, help="Articles scored / in the gold"),
)
VIEW_HELP = {
    "raw": "Hits as they were sent",
    "mapped": "An accession that stands for a gold accession of another species becomes it",
    "filtered": "Hits of species that the article's gold has not are dropped",
    "both": "Mapped, then filtered",
}


class ShowWords(NamedTuple):
    """Names of a choice of runs: on its link, and above the table."""

    pill: str
    heading: str


SHOWS = {
    Show.ALL: ShowWords("all", "All runs"),
    Show.ONLINE: ShowWords("online", "Online runs"),
    Show.BEST: ShowWords("best of team", "Best run of each team"),
}


class ShownTask(Protocol):
    """A task as a board shows it: that of a plug-in, or of a frozen board."""

    @property
    def name(self) -> TaskName:
        """Its name in addresses."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns beside `OWN_COLUMNS`."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which the board is ordered."""


class IntervalStatus(Enum):
    """Status of a run's interval."""

    CURRENT = "current"
    OLD = "old"  # of an earlier score of the run
    PENDING = "pending"  # not computed yet
    NONE = "n/a"  # the run has no score


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """A board as one viewer sees it."""

    board: Board
    task: ShownTask
    choice: Choice
    phase: str
    base: str  # the beginning of the addresses of the phase's pages
    views: Sequence[str] = ("raw",)
    frozen: FrozenBoard | None = None
    key: str = ""  # of the frozen board's link

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        return columns(self.task)

    def address(self, suffix: str = "", **changes: Any) -> str:
        """Return the path and query of the page, or of its table, with something else chosen."""
        query = str(self.choice.but(**changes))
        return self.path + suffix + (f"?{query}" if query else "")

    def rows(self) -> list[BoardRow]:
        """Return the chosen rows in order; ties keep the board's, those without value come last."""
        sort = self.choice.sort
        keyed = [(value(row, sort.key), row) for row in self._chosen]
        known = [pair for pair in keyed if pair[0] is not None]
        known.sort(key=lambda pair: pair[0], reverse=sort.descending)
        return [row for _, row in known] + [row for found, row in keyed if found is None]

    @cached_property
    def part(self) -> Page:
        """The page of the table that is shown."""
        return Page(first=self.choice.rows, total=len(self._chosen))

    def shown_rows(self) -> Sequence[BoardRow]:
        """Return the rows of that page."""
        return self.part.of(self.rows())

    @property
    def path(self) -> str:
        """The path of the board's page."""
        return f"/b/{self.key}" if self.frozen else f"{self.base}/t/{self.task.name}"

    @cached_property
    def _chosen(self) -> Sequence[BoardRow]:
        if self.board.hidden:
            return ()
        match self.choice.show:
            case Show.ONLINE:
                return [row for row in self.board.rows if not row.offline]
            case Show.BEST:
                return _best_of_teams(self.board.rows)
        return self.board.rows

    @cached_property
    def leaders(self) -> Sequence[BoardRow]:
        """The best run of each team among the chosen rows."""
        return _best_of_teams(self._chosen)

    @cached_property
    def _best(self) -> frozenset[str]:
        """The best runs of the teams that have more than one."""
        teams = Counter(row.team for row in self.board.rows)
        best = _best_of_teams(self.board.rows)
        return frozenset(row.run for row in best if row.team and teams[row.team] > 1)

    @property
    def teams(self) -> bool:
        """True where a team has more than one run, so that some are its best."""
        return bool(self._best)

    def best(self, row: BoardRow) -> bool:
        """Return whether the run is the best of its team, where that is worth a word."""
        return row.place is not None and row.run in self._best

    def text(self, row: BoardRow, column: Column) -> str:
        """Return a cell's text; `n/a` where the value is undefined."""
        if column.key == "articles":
            return f"{row.articles_scored}/{row.articles_in_gold}"
        found = value(row, column.key)
        if found is None:
            return "n/a"
        if isinstance(found, str) or column.count:
            return str(found)
        return f"{found:.{column.decimals}f}"

    def few(self, row: BoardRow) -> bool:
        """Return whether the run answered too few articles to be compared with the others."""
        return row.articles_scored < FEW * row.articles_in_gold

    def share(self, row: BoardRow) -> float | None:
        """Return the value of the board's first measure for a bar, if it lies in [0, 1]."""
        found = row.values.get(self.main)
        return float(found) if found is not None and 0 <= found <= 1 else None

    @property
    def main(self) -> str:
        """The column by which the board is ordered."""
        return self.task.order[0]

    @property
    def main_column(self) -> Column:
        """The same, with its heading and decimals."""
        return next(column for column in self.task.columns if column.key == self.main)

    def interval_status(self, row: BoardRow) -> IntervalStatus:
        """Return the status of the run's interval."""
        score = row.values.get(self.main)
        if score is None or not self.board.resampling:
            return IntervalStatus.NONE
        if row.interval is None:
            return IntervalStatus.PENDING
        same = math.isclose(row.interval.score, score, rel_tol=1e-9, abs_tol=1e-12)
        return IntervalStatus.CURRENT if same else IntervalStatus.OLD

    def bounds(self, row: BoardRow) -> tuple[str, str]:
        """Return the ends of the run's interval, a digit shorter than its score; or empty."""
        if row.interval is None or self.interval_status(row) is IntervalStatus.NONE:
            return "", ""
        decimals = max(self.main_column.decimals - 1, 1)
        return f"{row.interval.low:.{decimals}f}", f"{row.interval.high:.{decimals}f}"

    def ranks(self, row: BoardRow) -> str:
        """Return the ranks that the run's interval spans: 1-3, or 2; empty without one."""
        if row.interval is None or self.interval_status(row) is IntervalStatus.NONE:
            return ""
        best, worst = row.interval.best_rank, row.interval.worst_rank
        return f"{best}\N{EN DASH}{worst}" if best < worst else str(best)

    def series(self) -> Mapping[str, int]:
        """Number the best runs for colour and dash, by name: a change of place keeps them."""
        best = sorted(name(row) for row in self.leaders[:SERIES] if row.place is not None)
        return {run: number for number, run in enumerate(best)}

    @property
    def crowded(self) -> bool:
        """True where the scatter has not all teams."""
        return len(self.leaders) > POINTS

    def points(self) -> list[Point]:
        """Return the teams' best runs by the second and first measure, where both are defined."""
        if len(self.task.order) < 2:
            return []
        series, found = self.series(), []
        for row in self.leaders[:POINTS]:
            x, y = (row.values.get(key) for key in (self.task.order[1], self.main))
            if x is not None and y is not None:
                found.append(Point(name=name(row), x=x, y=y, series=series.get(name(row))))
        return found

    def axes(self) -> tuple[Axis, Axis]:
        """Return the scatter's axes."""
        points, heading = self.points(), {column.key: column.heading for column in self.columns}
        return (
            Axis.over(heading[self.task.order[1]], [point.x for point in points]),
            Axis.over(heading[self.main], [point.y for point in points]),
        )

    @property
    def curved(self) -> bool:
        """True where the task has runs with curves."""
        return bool(self.board.resampling) or any(row.curve for row in self.board.rows)

    def curves(self) -> list[Curve]:
        """Return the precision/recall curves of the best runs that have one."""
        series = self.series()
        return [
            Curve(name=name(row), steps=row.curve, series=series[name(row)])
            for row in self.leaders
            if name(row) in series and row.curve
        ]


def columns(task: ShownTask) -> tuple[Column, ...]:
    """Return all columns of a task's table, left to right."""
    return (*OWN_COLUMNS, *task.columns)


def name(row: BoardRow) -> str:
    """Return what a run is called: with its team, unless its name begins with that already."""
    return f"{row.team} · {row.run}" if not row.run.startswith(row.team) else row.run


def value(row: BoardRow, key: str) -> Any:
    """Return what a row is sorted by in a column, or None."""
    match key:
        case "place":
            return row.place
        case "run":
            return name(row)
        case "mode":
            return "offline" if row.offline else "online"
        case "articles":
            return row.articles_scored
    return row.values.get(key)


def _best_of_teams(rows: Sequence[BoardRow]) -> Sequence[BoardRow]:
    """Return each team's first row; a run without a team is a team of its own."""
    first: dict[tuple[str, str], BoardRow] = {}
    for row in rows:
        first.setdefault(("team", row.team) if row.team else ("run", row.run), row)
    return list(first.values())
