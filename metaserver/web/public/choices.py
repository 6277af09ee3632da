"""Choices of a board's viewer: the view, the runs, and their order; as in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from metaserver.base.boards import RAW, Column
from metaserver.base.plans import ArticlePolicy
from metaserver.web.ui.paging import first_row


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
        """Return the order that a click on the column's heading asks for: first the best on top."""
        if self.key == column.key:
            return Sort(key=column.key, descending=not self.descending)
        return Sort(key=column.key, descending=not column.rising)


class Show(StrEnum):
    """The runs that are shown."""

    ALL = "all"
    ONLINE = "online"  # those of annotation servers, not those uploaded as files
    BEST = "best"  # the best run of each team


class Charted(StrEnum):
    """The runs that the charts show."""

    PLACED = "placed"  # those with a place
    ALL = "all"  # those below the least coverage too


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A viewer's choice; `str` is its query, without what is chosen by default."""

    view: str = RAW
    articles: ArticlePolicy | None = None  # those that count; None: as the phase says
    show: Show = Show.ALL
    chart: Charted = Charted.PLACED
    sort: Sort = Sort()
    rows: int = 1  # the number of the first row of the page of the table

    @classmethod
    def parse(
        cls,
        query: Mapping[str, str],
        views: Sequence[str],
        columns: Sequence[Column],
        policies: Sequence[ArticlePolicy] = (),
    ) -> Choice:
        """Read a query; raises ValueError that names what could be chosen."""
        return cls(
            view=_one_of(views, query.get("view") or views[0], "view"),
            articles=_policy(query.get("articles", ""), policies),
            show=Show(_one_of(tuple(Show), query.get("show") or Show.ALL, "choice of runs")),
            chart=Charted(
                _one_of(tuple(Charted), query.get("chart") or Charted.PLACED, "choice of charts")
            ),
            sort=Sort.parse(query.get("sort", ""), columns),
            rows=first_row(query),
        )

    def but(self, **changes: Any) -> Choice:
        """Return the choice with some of it chosen otherwise, and then from row 1 on."""
        return replace(self, **({"rows": 1} | changes)) if changes else self

    @property
    def unordered(self) -> Choice:
        """The choice without what only orders the rows: all else makes a row look otherwise."""
        return replace(self, sort=Sort(), rows=1)

    def query(self, **changes: Any) -> str:
        """Return the choice as a query, with some of it changed."""
        return str(self.but(**changes))

    def __str__(self) -> str:
        chosen = {
            "view": self.view, "articles": self.articles or "", "show": self.show,
            "chart": self.chart, "sort": str(self.sort), "rows": self.rows,
        }  # fmt: skip
        usual = {
            "view": RAW, "articles": "", "show": Show.ALL, "chart": Charted.PLACED,
            "sort": str(Sort()), "rows": 1,
        }  # fmt: skip
        return urlencode({key: text for key, text in chosen.items() if text != usual[key]})


def _policy(text: str, policies: Sequence[ArticlePolicy]) -> ArticlePolicy | None:
    return ArticlePolicy(_one_of(policies, text, "choice of articles")) if text else None


def _one_of(choices: Sequence[str], text: str, what: str) -> str:
    if text not in choices:
        raise ValueError(f"There is no {what} {text}: use one of {', '.join(choices)}.")
    return text
