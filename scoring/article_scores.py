"""The scores of a run's articles, in columns: each is computed from the matches when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.columns import Places, Truths
from scoring.match_lists import MatchLists, Values
from scoring.ranking import Matches


class ArticleScore(NamedTuple):
    """One article's score; `auc_ipr` is None where the article's gold is empty."""

    matches: Matches
    precision: float
    recall: float
    f_score: float
    auc_ipr: float | None


class ArticleScores(Mapping[str, ArticleScore]):
    """The scores of articles by their ids, in the order of the gold.

    `articles` are the ids of the gold's articles and `sizes` their numbers of items; `lists` has
    some of these articles.
    """

    def __init__(
        self, articles: Sequence[str], sizes: Places, lists: MatchLists, beta: float
    ) -> None:
        self.lists = lists
        self._articles, self._sizes, self._beta = articles, sizes, beta

    @property
    def gold(self) -> Places:
        """The number of items that each list has to find."""
        return self._sizes[self.lists.places]

    def within(self, places: Truths) -> ArticleScores:
        """Return the scores of some articles: those of the gold whose place is True."""
        lists = self.lists.where(places[self.lists.places])
        return ArticleScores(self._articles, self._sizes, lists, self._beta)

    def column(self, measure: str) -> Values:
        """Return a measure of each article, NaN where it is undefined: no sum is rounded twice.

        To the last bit, these are the measures of `scoring.ranking`.
        """
        correct, hits, gold = self._counts()
        match measure:
            case "precision":
                return _ratio(correct, hits)
            case "recall":
                return _ratio(correct, gold)
            case "f_score":
                weight = self._beta * self._beta
                return _ratio((1 + weight) * correct, np.where(correct, weight * gold + hits, 0))
            case "auc_ipr":
                areas = self.lists.summed(self.lists.interpolated())
                return np.where(gold > 0, _ratio(areas, gold), np.nan)
        raise ValueError(f"measure {measure!r}")

    def counted(self, measure: str) -> Values:
        """Return a measure of each article that means count: those with gold items."""
        return self.column(measure)[self.gold > 0]

    def _counts(self) -> tuple[Places, Places, Places]:
        return self.lists.counts.astype(np.int64), self.lists.hits.astype(np.int64), self.gold

    @cached_property
    def _scores(self) -> dict[str, ArticleScore]:
        measures = (self.column(one).tolist() for one in ("precision", "recall", "f_score"))
        areas = (None if area != area else area for area in self.column("auc_ipr").tolist())
        return {
            self._articles[place]: ArticleScore(matches, *values)
            for (place, matches), *values in zip(
                self.lists.rows(self.gold.tolist()), *measures, areas, strict=True
            )
        }

    def __len__(self) -> int:
        return len(self.lists)

    def __iter__(self) -> Iterator[str]:
        return iter([self._articles[place] for place in self.lists.places.tolist()])

    def __getitem__(self, article: str) -> ArticleScore:
        return self._scores[article]


def _ratio(parts: NDArray[Any], wholes: NDArray[Any]) -> Values:
    """Return parts / wholes, 0 where the whole is 0."""
    ratio: Values = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
    return ratio
