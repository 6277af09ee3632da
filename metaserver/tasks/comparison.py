"""Comparison of runs of ranked lists: intervals by resampling the articles, levels of articles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaserver.base.boards import ArticleLevel, RunIntervals
from metaserver.base.records import ArticleId
from scoring import ActGold, ActScorecard, Gold, ItemScorecard, Scorecard
from scoring.analysis import (
    ArticleDifficulty,
    ArticleRank,
    article_difficulty,
    article_ranks,
)
from scoring.significance import compare

RESAMPLES, SEED = 10_000, 2009
"""The values of `scoring compare`, so that both give the same digits."""
RESAMPLING = f"{RESAMPLES:,} resamples of the articles, seed {SEED}, expanded intervals"


def intervals(
    gold: Gold, cards: Mapping[str, Scorecard], measure: str
) -> Mapping[str, RunIntervals]:
    """Return each run's 95 % intervals of a measure and of its rank by it."""
    named_cards = [replace(card, run=run) for run, card in cards.items()]
    compared = compare(
        gold, named_cards, measure=measure, resamples=RESAMPLES, seed=SEED, level=0.95, pairs=False
    )
    return {
        run_intervals.run: RunIntervals(
            score=run_intervals.score,
            low=run_intervals.low,
            high=run_intervals.high,
            best_rank=run_intervals.best_rank,
            worst_rank=run_intervals.worst_rank,
        )
        for run_intervals in compared.intervals
    }


def levels(gold: Gold, cards: Mapping[str, Scorecard]) -> Sequence[ArticleLevel]:
    """Return the articles' levels: mean ranks (ACT) or mean AUC iP/R (INT, IPT), easiest first.

    Only the moments are returned: the relevance of an article stays in the gold.
    """
    runs: dict[str, set[str]] = {}
    for run, card in cards.items():
        for article in _answered(gold, card):
            runs.setdefault(article, set()).add(run)
    return [
        ArticleLevel(
            article=ArticleId(moments.article),
            mean=moments.mean,
            deviation=moments.deviation,
            runs=frozenset(runs[moments.article]),
        )
        for moments in _moments(gold, list(cards.values()))
    ]


def _moments(
    gold: Gold, cards: Sequence[Scorecard]
) -> Sequence[ArticleRank] | Sequence[ArticleDifficulty]:
    if isinstance(gold, ActGold):
        return article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
    return article_difficulty(gold, [card for card in cards if isinstance(card, ItemScorecard)])


def _answered(gold: Gold, card: Scorecard) -> Sequence[str]:
    if isinstance(gold, ActGold):
        assert isinstance(card, ActScorecard)
        return [gold.articles[place] for place in card.ranked.tolist()]
    assert isinstance(card, ItemScorecard)
    return [article for article, score in card.articles.items() if score.auc_ipr is not None]
