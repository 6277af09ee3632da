"""Answers of several servers in columns: which server names which candidate, and how highly.

Everything that a consensus computes is computed from these columns, of one article or of many.
Servers are in the order of their names and candidates in that of their items, so that nothing
depends on the order in which answers were given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.columns import Places, Truths
from scoring.tasks import Hit, Item, by_rank

Floats: TypeAlias = NDArray[np.float64]
Hits: TypeAlias = Mapping[str, Sequence[Hit]]
"""The hits of each article that a server answered; an answer without a hit is an empty one."""

CUTOFF = 30
"""The overview's cutoff: candidates that a server ranks below it are not used."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """The votes of servers for the candidates of some articles.

    A row is a candidate of an article, rows article after article: `items` and `article_of` have
    its item and its article's place. A vote is a hit: `row`, `server` and `place` (from 1) say for
    what, by whom and where in the server's list; `confidence` is the server's own, and `scaled` the
    same between the least (0) and the most (1) of its list (1 where all are equal). Votes are in
    the order of rows, then of servers. `answered` has a row an article and a column a server: a
    server that answered without a hit has answered. `correct` says which candidates the gold has.
    """

    servers: tuple[str, ...]
    articles: tuple[str, ...]
    answered: Truths
    items: Sequence[Item]
    article_of: Places
    correct: Truths
    row: Places
    server: Places
    place: Floats
    confidence: Floats
    scaled: Floats

    @classmethod
    def of(
        cls,
        answers: Mapping[str, Hits],
        articles: Sequence[str],
        *,
        gold: Mapping[str, frozenset[Item]] | None = None,
        cutoff: int = CUTOFF,
    ) -> Votes:
        """Return the `cutoff` best ranks of each server's answers to some articles.

        A server whose answers lack an article did not answer it. An item that a list has again
        counts once, where it is best. Without gold nothing is correct.
        """
        servers = tuple(sorted(answers))
        answered = np.zeros((len(articles), len(servers)), dtype=bool)
        items: list[Item] = []
        correct: list[bool] = []
        sizes: list[int] = []
        votes: list[tuple[int, int, int, float, float]] = []
        for number, article in enumerate(articles):
            lists = []
            for column, server in enumerate(servers):
                hits = answers[server].get(article)
                if hits is not None:
                    answered[number, column] = True
                    lists.append((column, _best(hits, cutoff)))
            named = sorted({hit.item for _, hits in lists for hit in hits})
            rows = {item: row for row, item in enumerate(named, start=len(items))}
            for column, hits in lists:
                least, span = _range(hits)
                votes += [
                    (
                        rows[hit.item],
                        column,
                        place,
                        hit.confidence,
                        (hit.confidence - least) / span if span else 1.0,
                    )
                    for place, hit in enumerate(hits, start=1)
                ]
            right = gold.get(article, frozenset()) if gold else frozenset[Item]()
            correct += [item in right for item in named]
            items += named
            sizes.append(len(named))
        votes.sort(key=lambda vote: vote[:2])
        columns = np.array(votes, dtype=np.float64).reshape(-1, 5).T
        return cls(
            servers=servers,
            articles=tuple(articles),
            answered=answered,
            items=items,
            article_of=np.repeat(np.arange(len(articles)), sizes),
            correct=np.array(correct, dtype=bool),
            row=columns[0].astype(np.int64),
            server=columns[1].astype(np.int64),
            place=columns[2],
            confidence=columns[3],
            scaled=columns[4],
        )

    def __len__(self) -> int:
        return len(self.items)

    def of_articles(self, chosen: Truths) -> Votes:
        """Return the votes on some articles, in which the others have no candidates."""
        return self.of_servers(chosen[:, None])

    def of_servers(self, kept: Truths) -> Votes:
        """Return the votes as if only some servers had answered: a row an article, as `answered`.

        Candidates that no server names any more are left out.
        """
        answered = self.answered & kept
        kept = answered[self.article_of[self.row], self.server]
        rows, row = np.unique(self.row[kept], return_inverse=True)
        return replace(
            self,
            answered=answered,
            items=[self.items[one] for one in rows.tolist()],
            article_of=self.article_of[rows],
            correct=self.correct[rows],
            row=row.astype(np.int64),
            server=self.server[kept],
            place=self.place[kept],
            confidence=self.confidence[kept],
            scaled=self.scaled[kept],
        )

    @cached_property
    def firsts(self) -> Places:
        """The first row of each article, and the number of rows."""
        return np.searchsorted(self.article_of, np.arange(len(self.articles) + 1))

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the votes' values of each candidate."""
        return np.bincount(self.row, values, minlength=len(self)).astype(np.float64)

    def best(self, values: Floats) -> Floats:
        """Return the greatest of the votes' values (0 or more) of each candidate."""
        best = np.zeros(len(self))
        np.maximum.at(best, self.row, values)
        return best

    def order(self, scores: Floats) -> Places:
        """Return the rows by article and falling score, equal scores by item.

        Scores that differ by rounding alone are equal: sums depend on the order of their parts.
        """
        return np.lexsort((np.arange(len(self)), -np.round(scores, 12), self.article_of))


def _best(hits: Sequence[Hit], cutoff: int) -> list[Hit]:
    """Return the hits of the best ranks, each item once."""
    first: dict[Item, Hit] = {}
    for hit in sorted(hits, key=by_rank):
        first.setdefault(hit.item, hit)
    return list(first.values())[:cutoff]


def _range(hits: Sequence[Hit]) -> tuple[float, float]:
    """Return the least confidence of a list, and the difference to the most."""
    confidences = [hit.confidence for hit in hits]
    least = min(confidences, default=0.0)
    return least, max(confidences, default=0.0) - least
