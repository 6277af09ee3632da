"""A task's articles by how hard they are, as a viewer sees them: a scatter and a table.

After Fig. 4 of the BC II.5 overview (Leitner et al. 2010): an article's mean rank over the runs
against its standard deviation. Only several teams' means are shown: no gold, no single answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metaserver.base.boards import ArticleBoard, ArticleLevel, Column
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.public.choices import Choice
from metaserver.web.ui.charts import Axis, Point
from metaserver.web.ui.paging import Page
from metaserver.web.ui.tables import lines

COLUMNS = (
    Column(key="place", heading="#", count=True, rising=True, help="The easiest article first"),
    Column(key="article", heading="Article", rising=True, help="The article's id"),
    Column(key="mean", heading="Mean", help="Mean over the runs, each weighted by its AUC iP/R"),
    Column(key="deviation", heading="SD", help="Standard deviation: how far the runs disagree"),
    Column(key="runs", heading="Runs", count=True, help="Runs that answered it"),
)
LEVEL_HELP = {
    "rank": "A low mean rank: most runs put the article on top.",
    "AUC iP/R": "A high mean: most runs find what is to be found in the article.",
}


@dataclass(frozen=True, kw_only=True)
class ArticleRow:
    """One line of the table."""

    place: int
    level: ArticleLevel

    def value(self, key: str) -> Any:
        """Return what the row is sorted by in a column."""
        match key:
            case "place":
                return self.place
            case "runs":
                return len(self.level.runs)
        return getattr(self.level, key)

    def text(self, column: Column) -> str:
        """Return a cell's text."""
        return column.text(self.value(column.key))


@dataclass(frozen=True, kw_only=True)
class Articles:
    """A task's articles as a viewer sees them."""

    board: ArticleBoard
    task: TaskPlugin
    choice: Choice
    views: Sequence[str]
    base: str  # the beginning of the addresses of the phase's pages

    columns = COLUMNS

    def address(self, suffix: str = "", **changes: Any) -> str:
        """Return the page's (or its table's) path and query, with something else chosen."""
        query = str(self.choice.but(**changes))
        return self.path + suffix + (f"?{query}" if query else "")

    @property
    def path(self) -> str:
        """The page's path."""
        return f"{self.base}/board/{self.task.name}/articles"

    @property
    def part(self) -> Page:
        """The table's page that is shown."""
        return Page(first=self.choice.rows, total=len(self.levels))

    def rows(self) -> list[ArticleRow]:
        """Return the rows in the chosen order."""
        sort = self.choice.sort
        rows = [ArticleRow(place=i + 1, level=level) for i, level in enumerate(self.levels)]
        return sorted(rows, key=lambda row: row.value(sort.key), reverse=sort.descending)

    @property
    def levels(self) -> Sequence[ArticleLevel]:
        """The levels the viewer may see."""
        return () if self.board.hidden else self.board.levels

    @cached_property
    def points(self) -> list[Point]:
        """Return the articles by mean and deviation."""
        return [
            Point(name=level.article, x=level.mean, y=level.deviation, series=None)
            for level in self.levels
        ]

    def axes(self) -> tuple[Axis, Axis]:
        """Return the scatter's axes."""
        return (
            Axis.over(f"Mean {self.board.measure}", [point.x for point in self.points]),
            Axis.over("Standard deviation", [point.y for point in self.points]),
        )

    def to_csv(self) -> str:
        """Return the table as CSV: the shown rows, order and decimals."""
        rows = ([row.text(column) for column in COLUMNS] for row in self.rows())
        return lines([column.key for column in COLUMNS], rows)
