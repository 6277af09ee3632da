"""Ranked lists of many articles in columns: the matches of a run, in as few bytes as hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.columns import Places
from scoring.ranking import Matches

Counts: TypeAlias = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True, eq=False)
class MatchLists:
    """The matches of some articles of a gold standard, in the order of the gold.

    `places` are the articles' places in the gold, rising; `hits` and `counts` are the lengths of
    their lists and the numbers of correct hits; `ranks` are the ranks of the correct hits, list
    after list. Each column has the smallest unsigned integers that hold it.
    """

    places: Counts
    hits: Counts
    counts: Counts
    ranks: Counts

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Matches]]) -> MatchLists:
        """Return the lists of articles, given with their places; the last of a place counts."""
        given = list(rows)
        return cls.packed(
            [place for place, _ in given],
            [matches.hits for _, matches in given],
            [len(matches.ranks) for _, matches in given],
            [rank for _, matches in given for rank in matches.ranks],
        )

    @classmethod
    def packed(
        cls, places: ArrayLike, hits: ArrayLike, counts: ArrayLike, ranks: ArrayLike
    ) -> MatchLists:
        """Return the lists in columns; the last of a place counts."""
        at, number, found = (np.asarray(one, dtype=np.int64) for one in (places, counts, ranks))
        length = np.asarray(hits, dtype=np.int64)
        if (at[1:] <= at[:-1]).any():
            order = np.argsort(at, kind="stable")
            order = order[np.append(at[order[1:]] != at[order[:-1]], True)]
            found = found[_members(number, order)]
            at, length, number = at[order], length[order], number[order]
        return cls(*map(_smallest, (at, length, number, found)))

    def rows(self, gold: Iterable[int]) -> Iterator[tuple[int, Matches]]:
        """Yield the place and matches of each article; `gold` are the sizes of their gold."""
        ranks, start = self.ranks.tolist(), 0
        columns = (self.places.tolist(), self.hits.tolist(), self.counts.tolist(), gold)
        for place, hits, count, size in zip(*columns, strict=True):
            yield place, Matches(tuple(ranks[start : start + count]), hits, size)
            start += count

    def require_valid(self, gold: Places) -> None:
        """Raise `ValueError` where these cannot be lists for a gold with so many items an article.

        Columns that were stored are checked by this before they are used.
        """
        places, hits, counts, ranks = (
            column.astype(np.int64) for column in (self.places, self.hits, self.counts, self.ranks)
        )
        if not len(places) == len(hits) == len(counts):
            raise ValueError("columns of different lengths")
        if counts.sum() != len(ranks):
            raise ValueError(f"{len(ranks)} ranks, expected {counts.sum()}")
        if (places[1:] <= places[:-1]).any() or (places >= len(gold)).any():
            raise ValueError("places that are not rising, or not of the gold")
        rising = ranks[1:] > ranks[:-1]
        rising[(np.cumsum(counts)[counts > 0] - 1)[:-1]] = True  # from one list to the next
        if (ranks < 1).any() or (ranks > np.repeat(hits, counts)).any() or not rising.all():
            raise ValueError("ranks that are not rising, or beyond the end of their list")
        if (counts > gold[places]).any():
            raise ValueError("more correct hits than the gold has items")


def _members(counts: Places, rows: Places) -> Places:
    """Return where the members of some rows are, in a column with `counts` members a row."""
    chosen = counts[rows]
    shift = (np.cumsum(counts) - counts)[rows] - (np.cumsum(chosen) - chosen)
    members: Places = np.repeat(shift, chosen) + np.arange(chosen.sum())
    return members


def _smallest(column: Places) -> Counts:
    return column.astype(np.min_scalar_type(int(column.max(initial=0))))
