"""Gold standards: the curators' annotations of each article."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TypeAlias

import numpy as np

from scoring.bulk import GoldIndex
from scoring.columns import Places, Truths
from scoring.tasks import Item, Task


class _Numbering:
    """Numbers of the articles that are not in the gold, given when they are first seen.

    The scorers of all runs share them, so that each keeps numbers instead of texts.
    """

    @cached_property
    def _others(self) -> tuple[dict[str, int], Iterator[int]]:
        return {}, count()

    def other(self, article: str) -> int:
        """Return the number of an article that is not in the gold; may be called in any thread."""
        numbers, unused = self._others
        found = numbers.get(article)
        return numbers.setdefault(article, next(unused)) if found is None else found

    def others(self, numbers: Iterable[int]) -> list[str]:
        """Return the articles of some numbers."""
        articles = {number: article for article, number in self._others[0].copy().items()}
        return [articles[number] for number in numbers]


@dataclass(frozen=True, kw_only=True)
class ItemGold(_Numbering):
    """The gold standard of INT or IPT: the items of each article, articles in file order.

    What is computed is of the articles in the order of their ids (`articles`): articles that are
    drawn or dealt by a seed are the same ones whatever the order of the file.
    """

    task: Task
    items: Mapping[str, frozenset[Item]]

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def articles(self) -> Sequence[str]:
        """The articles' ids, sorted."""
        return sorted(self.items)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place of each article among the sorted ones, from 0."""
        return {article: place for place, article in enumerate(self.articles)}

    @cached_property
    def sizes(self) -> Places:
        """The number of items of each of the sorted articles."""
        return np.array([len(self.items[article]) for article in self.articles], dtype=np.int64)

    @cached_property
    def accessions(self) -> frozenset[str]:
        """The accessions of all items."""
        found = (item for items in self.items.values() for item in items)
        return frozenset(
            name for item in found for name in ((item,) if isinstance(item, str) else item)
        )

    @cached_property
    def index(self) -> GoldIndex:
        """The gold as the bulk reader looks it up."""
        return GoldIndex(self.items)

    @cached_property
    def digest(self) -> str:
        """The gold's version: 12 hexadecimal digits that depend on its content, not its order."""
        return _digest(
            "\t".join((article, item) if isinstance(item, str) else (article, *item))
            for article, items in self.items.items()
            for item in items
        )


@dataclass(frozen=True, kw_only=True)
class ActGold(_Numbering):
    """The gold standard of ACT: whether each article is relevant, articles in file order."""

    relevant: Mapping[str, bool]
    task: Task = field(default=Task.ACT, init=False)

    def __len__(self) -> int:
        return len(self.relevant)

    @cached_property
    def articles(self) -> list[str]:
        """The articles' ids, sorted."""
        return sorted(self.relevant)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place of each article among the sorted ones, from 0."""
        return {article: place for place, article in enumerate(self.articles)}

    @cached_property
    def truth(self) -> Truths:
        """The relevance (True or False) of each of the sorted articles."""
        return np.array([self.relevant[article] for article in self.articles], dtype=bool)

    @cached_property
    def positives(self) -> int:
        """The number of relevant articles."""
        return sum(self.relevant.values())

    @cached_property
    def digest(self) -> str:
        """The gold's version: 12 hexadecimal digits that depend on its content, not its order."""
        return _digest(f"{article}\t{relevant:d}" for article, relevant in self.relevant.items())


Gold: TypeAlias = ItemGold | ActGold


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:12]
