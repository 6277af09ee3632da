"""Clusters of ACT articles by their ranks in many runs: easy, middling, hard and disputed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scoring.analysis import ArticleRank

DISPUTED = 0.75
"""The share of the deviation of random ranks from which on runs are said to disagree."""


class Cluster(StrEnum):
    """The difficulty of an article, whatever its label."""

    EASY = "easy"  # on the right side of the line between relevant and irrelevant, clearly
    MIDDLING = "middling"
    HARD = "hard"  # on the wrong side
    DISPUTED = "disputed"  # some runs rank it high, others low


@dataclass(frozen=True, kw_only=True)
class Borders:
    """The borders between clusters in a gold of `articles` articles, `positives` of them relevant.

    A relevant article is easy where its mean rank is among the first `positives`, and hard where
    it is worse than the `middle`, the mean rank of a random list. An irrelevant one is hard
    among the first `positives`, and easy from the middle on. `disputed` is the deviation from which
    on an article is neither.
    """

    articles: int
    positives: int

    @property
    def middle(self) -> float:
        """The mean rank of random lists."""
        return (self.articles + 1) / 2

    @property
    def disputed(self) -> float:
        """`DISPUTED` of the standard deviation of a random rank, √((N² - 1)/12)."""
        return DISPUTED * math.sqrt((self.articles**2 - 1) / 12)

    def cluster(self, article: ArticleRank) -> Cluster:
        """Return the cluster of an article."""
        if article.deviation >= self.disputed and self.disputed > 0:
            return Cluster.DISPUTED
        first, last = article.mean <= self.positives, article.mean > self.middle
        if first or last:
            return Cluster.EASY if first == article.relevant else Cluster.HARD
        return Cluster.MIDDLING


def cluster_articles(
    articles: Sequence[ArticleRank], borders: Borders
) -> dict[Cluster, list[ArticleRank]]:
    """Return the articles of each cluster, in the order given."""
    found: dict[Cluster, list[ArticleRank]] = {cluster: [] for cluster in Cluster}
    for article in articles:
        found[borders.cluster(article)].append(article)
    return found
