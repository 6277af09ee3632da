"""Ranked lists of many articles in columns: the matches of a run, in as few bytes as hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.columns import Places, Truths
from scoring.ranking import Matches

Counts: TypeAlias = NDArray[np.unsignedinteger]
Values: TypeAlias = NDArray[np.float64]


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

    def updated(self, others: MatchLists) -> MatchLists:
        """Return these lists and others, which replace those of the same places."""
        if not len(self):
            return others
        columns = zip(self._columns(), others._columns(), strict=True)
        return self.packed(*(np.concatenate(pair) for pair in columns))

    def where(self, chosen: Truths) -> MatchLists:
        """Return some of the lists: those where `chosen`, of the same length, is True."""
        if chosen.all():
            return self
        members = np.repeat(chosen, self.counts)
        return self.packed(
            self.places[chosen], self.hits[chosen], self.counts[chosen], self.ranks[members]
        )

    def _columns(self) -> tuple[Counts, Counts, Counts, Counts]:
        return self.places, self.hits, self.counts, self.ranks

    def interpolated(self) -> Values:
        """Return, for each correct hit, the best precision at its rank or any later one.

        As `ranking.interpolated`, to the last bit.
        """
        steps = np.empty(len(self.ranks))
        for _, members in self._by_length():
            precisions = np.arange(1, members.shape[1] + 1) / self.ranks[members]
            steps[members] = np.maximum.accumulate(precisions[:, ::-1], axis=1)[:, ::-1]
        return steps

    def summed(self, values: Values) -> Values:
        """Return the sum of the values of each list, one a correct hit, added from left to right.

        As `sum` adds, to the last bit; numpy's own sums add in pairs.
        """
        sums = np.zeros(len(self))
        for rows, members in self._by_length():
            sums[rows] = np.add.accumulate(values[members], axis=1)[:, -1]
        return sums

    def _by_length(self) -> Iterator[tuple[Places, Places]]:
        """Yield the lists with equally many correct hits, and where in `ranks` these are."""
        counts = self.counts.astype(np.int64)
        firsts = np.cumsum(counts) - counts
        for count in np.unique(counts).tolist():
            if count:
                rows = np.flatnonzero(counts == count)
                yield rows, firsts[rows, None] + np.arange(count)

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
