"""A task's leaderboard as a viewer sees it: rows, cells and charts.

What differs between tasks (columns, order, help) comes from the task plug-in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from metaserver.base.boards import (
    OWN_COLUMNS,
    USAGE_COLUMNS,
    Board,
    BoardRow,
    Column,
    FrozenBoard,
    MethodDescription,
    board_columns,
    column_named,
)
from metaserver.base.plans import ArticlePolicy, in_percent
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.tasks.plugin import ComparedTask, ShownTask
from metaserver.web.public.choices import Charted, Choice, Show, Sort
from metaserver.web.public.usage_chart import UsageChart
from metaserver.web.ui.charts import SERIES, Axis, Curve, Point
from metaserver.web.ui.paging import Page
from metaserver.web.ui.pictures import BARS

POINTS = 200
"""Best runs of teams that the scatter shows: more would hide one another."""

VIEW_HELP = {
    "raw": "Hits as they were sent",
    "mapped": "An accession that stands for a gold accession of another species becomes it",
    "filtered": "Hits of species that the article's gold has not are dropped",
    "both": "Mapped, then filtered",
    "public": "The articles of the gold that scores used while the phase was open",
}


class ShowWords(NamedTuple):
    """Names for a choice of runs: on its link, and above the table."""

    pill: str
    heading: str


SHOWS = {
    Show.ALL: ShowWords("all", "All runs"),
    Show.ONLINE: ShowWords("online", "Online runs"),
    Show.BEST: ShowWords("best of team", "Best run of each team"),
}


class PolicyWords(NamedTuple):
    """Names for a choice of counted articles: on its link, and their help."""

    pill: str
    help: str


POLICIES = {
    ArticlePolicy.ALL: PolicyWords("all articles", "An article without an answer counts as zero"),
    ArticlePolicy.ANSWERED: PolicyWords(
        "as BioCreative II.5 published (answered articles only)",
        "Only the articles that a run has hits for count",
    ),
}


class IntervalStatus(Enum):
    """Status of a run's interval."""

    CURRENT = "current"
    PENDING = "pending"  # not computed yet, or that of an earlier score
    NONE = "n/a"  # the run has no place


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """A board as a viewer sees it."""

    board: Board
    task: ShownTask
    choice: Choice
    phase: str
    base: str  # the beginning of the addresses of the phase's pages
    views: Sequence[str] = ("raw",)
    viewer: Viewer = ANYBODY
    frozen: FrozenBoard | None = None
    key: str = ""  # of the frozen board's link
    compared: bool = False  # two of its runs can be ticked, to compare them

    @property
    def gone(self) -> Sequence[str]:
        """The runs of a frozen board that were deleted since: they have no page any more."""
        return self.frozen.gone if self.frozen else ()

    @cached_property
    def measures(self) -> tuple[Column, ...]:
        """The columns of its task, with the decimals that its scores have."""
        return self.board.columns(self.task.columns)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        return board_columns(self.measures)

    @cached_property
    def table(self) -> tuple[Column, ...]:
        """The page's columns: place, run and score come first.

        A measure that no run has a value of is left out.
        """
        place, run, *own_columns = OWN_COLUMNS
        rows = self.board.rows
        known = {key for row in rows for key, value in row.values.items() if value is not None}
        other_columns = [
            column
            for column in self.measures
            if column.key != self.main and (column.key in known or not rows)
        ]
        declared = USAGE_COLUMNS if self.declared else ()
        return (place, run, self.main_column, *other_columns, *own_columns, *declared)

    @cached_property
    def declared(self) -> Sequence[BoardRow]:
        """The chosen rows whose teams declare what they took."""
        return [row for row in self._chosen if row.usage is not None]

    @property
    def usage(self) -> UsageChart:
        """The chart of quality against cost; with runs below the least coverage on request."""
        show_all = self.choice.chart is Charted.ALL
        return UsageChart(
            rows=[row for row in self.declared if show_all or not row.below][:POINTS],
            column=self.main_column,
            series=self.series(),
            names={row.run: self.charted_name(row) for row in self.declared},
        )

    def address(self, suffix: str = "", **changes: Any) -> str:
        """Return the page's (or its table's) path and query, with something else chosen."""
        query = str(self.choice.but(**changes))
        return self.path + suffix + (f"?{query}" if query else "")

    def rows(self) -> list[BoardRow]:
        """Return the chosen rows in order; ties keep the board's.

        By place or measure, those below the least coverage come after the others; those without a
        value come last.
        """
        sort = self.choice.sort
        keyed = [(row.value(sort.key), row) for row in self._chosen]
        with_value = [pair for pair in keyed if pair[0] is not None]
        with_value.sort(key=lambda pair: pair[0], reverse=sort.descending)
        if sort.key in {column.key for column in self.task.columns}:
            with_value.sort(key=lambda pair: pair[1].below)
        return [row for _, row in with_value] + [row for key, row in keyed if key is None]

    @cached_property
    def part(self) -> Page:
        """The table's page that is shown."""
        return Page(first=self.choice.rows, total=len(self._chosen))

    def shown_rows(self) -> Sequence[BoardRow]:
        """Return the rows of that page."""
        return self.part.of(self.rows())

    @property
    def moves(self) -> bool:
        """True if rows move on an open page: it is whole, and the viewer has chosen no order."""
        return self.choice.sort == Sort() and not self.part.several

    @property
    def path(self) -> str:
        """The path of the board's page."""
        return f"/b/{self.key}" if self.frozen else f"{self.base}/board/{self.task.name}"

    @property
    def methods(self) -> Sequence[tuple[str, str, MethodDescription]]:
        """The described methods on a frozen board, best run first."""
        described = self.frozen.methods if self.frozen else {}
        return [
            (row.run, row.title or row.team, described[row.run])
            for row in self.board.rows
            if row.run in described
        ]

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
        """The best run of each team among the chosen rows, as for the choice of the chart."""
        show_all = self.choice.chart is Charted.ALL
        return _best_of_teams([row for row in self._chosen if show_all or not row.below])

    @property
    def below(self) -> bool:
        """True if a chosen run is below the least coverage."""
        return any(row.below for row in self._chosen)

    @cached_property
    def _best(self) -> frozenset[str]:
        """The best runs of teams that have several."""
        teams = Counter(row.team for row in self.board.rows)
        best = _best_of_teams(self.board.rows)
        return frozenset(row.run for row in best if row.team and teams[row.team] > 1)

    @property
    def teams(self) -> bool:
        """True if a team has several runs, so that some are its best."""
        return bool(self._best)

    def own(self, row: BoardRow) -> bool:
        """Return whether the run is of the viewer's team."""
        return bool(row.team) and row.team == self.viewer.team

    @property
    def own_rows(self) -> Sequence[BoardRow]:
        """The chosen rows of the viewer's team, in the board's order."""
        return [row for row in self._chosen if self.own(row)]

    @property
    def ticks(self) -> bool:
        """True if rows have boxes to tick."""
        return self.compared and len(self.board.rows) > 1

    def best(self, row: BoardRow) -> bool:
        """Return whether the run is its team's best, if that is worth a word."""
        return row.place is not None and row.run in self._best

    def progress(self, row: BoardRow) -> str:
        """Return how many articles are over for a run of an open phase; empty once all are."""
        if not self.board.provisional or row.counted >= row.articles_in_gold:
            return ""
        return f"so far {row.counted:,}/{row.articles_in_gold:,}"

    @property
    def least(self) -> str:
        """The least coverage that a place needs, in words; or empty."""
        ranking = self.board.ranking
        return in_percent(ranking.min_coverage) if ranking and ranking.min_coverage else ""

    def share(self, row: BoardRow) -> float | None:
        """Return the value of the board's first measure for a bar, if it lies in [0, 1].

        An error rate has none: the longest bar would be the worst.
        """
        score = None if self.main_column.rising else row.values.get(self.main)
        return float(score) if score is not None and 0 <= score <= 1 else None

    @property
    def shares(self) -> Sequence[float]:
        """The same of the teams' best runs with a place, as many as a picture has bars."""
        placed = [self.share(row) for row in self.leaders if row.place is not None]
        return [share for share in placed[:BARS] if share is not None]

    @property
    def main(self) -> str:
        """The column by which the board is ordered."""
        return self.order[0]

    @property
    def order(self) -> Sequence[str]:
        """The columns by which the board is ordered."""
        return self.board.order or self.task.order

    @property
    def main_column(self) -> Column:
        """The same, with its heading and decimals."""
        return column_named(self.measures, self.main)

    def interval_status(self, row: BoardRow) -> IntervalStatus:
        """Return the status of the run's interval."""
        score = row.values.get(self.main)
        if score is None or row.place is None or not self.board.resampling:
            return IntervalStatus.NONE
        if row.interval is None:
            return IntervalStatus.PENDING
        same = math.isclose(row.interval.score, score, rel_tol=1e-9, abs_tol=1e-12)
        return IntervalStatus.CURRENT if same else IntervalStatus.PENDING

    def bounds(self, row: BoardRow) -> tuple[str, str]:
        """Return the ends of the run's interval, a digit shorter than its score; or empty."""
        if row.interval is None or self.interval_status(row) is not IntervalStatus.CURRENT:
            return "", ""
        decimals = max(self.main_column.decimals - 1, 1)
        return f"{row.interval.low:.{decimals}f}", f"{row.interval.high:.{decimals}f}"

    def ranks(self, row: BoardRow) -> str:
        """Return the ranks that the run's interval spans: 1-3, or 2; or empty."""
        if row.interval is None or self.interval_status(row) is not IntervalStatus.CURRENT:
            return ""
        best, worst = row.interval.best_rank, row.interval.worst_rank
        return f"{best}\N{EN DASH}{worst}" if best < worst else str(best)

    def series(self) -> Mapping[str, int]:
        """Number the best runs for colour and dash, by name: a change of place keeps them."""
        placed = [row for row in self.leaders if row.place is not None or row.below]
        best = sorted(self.charted_name(row) for row in placed[:SERIES])
        return {run: number for number, run in enumerate(best)}

    def charted_name(self, row: BoardRow) -> str:
        """Return the name of a run in the charts, which marks those without a place."""
        return f"{row.name} (below {self.least})" if row.below else row.name

    @property
    def crowded(self) -> bool:
        """True if the scatter has not all teams."""
        return len(self.leaders) > POINTS

    def points(self) -> list[Point]:
        """Return the teams' best runs by the second and first measure, if both are defined."""
        if len(self.order) < 2:
            return []
        series, points = self.series(), []
        shown = [column_named(self.measures, key) for key in (self.order[1], self.main)]
        for row in self.leaders[:POINTS]:
            x, y = (row.values.get(column.key) for column in shown)
            if x is not None and y is not None:
                run, said = self.charted_name(row), ", ".join(map(row.text, shown))
                points.append(Point(name=run, x=x, y=y, series=series.get(run), said=said))
        return points

    def axes(self) -> tuple[Axis, Axis]:
        """Return the scatter's axes."""
        points, heading = self.points(), {column.key: column.heading for column in self.columns}
        return (
            Axis.over(heading[self.order[1]], [point.x for point in points]),
            Axis.over(heading[self.main], [point.y for point in points]),
        )

    @property
    def curved(self) -> bool:
        """True if the task's runs have curves, and its articles levels."""
        leveled = isinstance(self.task, ComparedTask) and bool(self.task.level)
        return leveled or any(row.curve for row in self.board.rows)

    def curves(self) -> list[Curve]:
        """Return the best runs' precision/recall curves."""
        series = self.series()
        return [
            Curve(name=run, steps=row.curve, series=series[run])
            for row in self.leaders
            if (run := self.charted_name(row)) in series and row.curve
        ]


def sortable(task: ShownTask) -> tuple[Column, ...]:
    """Return all columns by which a task's table can be sorted."""
    return (*board_columns(task.columns), *USAGE_COLUMNS)


def _best_of_teams(rows: Sequence[BoardRow]) -> Sequence[BoardRow]:
    """Return each team's first row; a run without a team is a team of its own."""
    first: dict[tuple[str, str], BoardRow] = {}
    for row in rows:
        first.setdefault(("team", row.team) if row.team else ("run", row.run), row)
    return list(first.values())
