"""Pages of a long table: so many rows at a time, chosen by the address (`?rows=101`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar
from urllib.parse import urlencode

T = TypeVar("T")
ROWS = 100
"""Rows of a page."""
NEAR = 2
"""Pages before and after the present one that are linked, besides the first and the last."""
MOST_DIGITS = 9


def first_row(query: Mapping[str, str]) -> int:
    """Read the number of a page's first row, from 1; raises ValueError for what is none."""
    text = query.get("rows", "") or "1"
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS and int(text)):
        raise ValueError("rows is the number of the first row that is shown, from 1.")
    return int(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What a page's address chooses: fields; empty values and defaults are left out of it."""

    def query(self, **changes: object) -> str:
        """Return the choice as a query, with some of it changed: `state=up&rows=101`."""
        usual = {field.name: field.default for field in fields(self)}
        values = {name: getattr(self, name) for name in usual} | changes
        return urlencode(
            {
                name: str(value)
                for name, value in values.items()
                if value not in ("", None, usual[name])
            }
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page of a table of `total` rows that begins with row `first`, or the last page."""

    first: int
    total: int

    @property
    def start(self) -> int:
        """The index of its first row, from 0."""
        last = max(self.total - 1, 0) // ROWS
        return min((self.first - 1) // ROWS, last) * ROWS

    def of(self, rows: Sequence[T]) -> Sequence[T]:
        """Return its rows."""
        return rows[self.start : self.start + ROWS]

    @property
    def number(self) -> int:
        """The number of its first row, from 1."""
        return self.start + 1

    @property
    def several(self) -> bool:
        """True if one page does not hold all rows."""
        return self.total > ROWS

    @property
    def linked(self) -> Sequence[tuple[int, int]]:
        """The first and last row of the pages that are linked, in order."""
        pages, here = range((self.total + ROWS - 1) // ROWS), self.start // ROWS
        near = {0, len(pages) - 1, *range(here - NEAR, here + NEAR + 1)} & set(pages)
        return [(at * ROWS + 1, min((at + 1) * ROWS, self.total)) for at in sorted(near)]
