"""Measures of ranked candidates in columns: thousands of consensus lists are scored a second."""

from __future__ import annotations

import numpy as np

from scoring.article_scores import ArticleScores
from scoring.averages import mean
from scoring.columns import Places
from scoring.consensus.votes import CUTOFF, Floats, Votes
from scoring.match_lists import MatchLists

BETA = 10.0
"""The overview's: a curator prefers removing a candidate to searching for one."""

BINS = 10
LIKELY = 0.1
"""Calibration is also measured above this probability: most candidates are near 0."""


def ranked_rows(
    votes: Votes, scores: Floats, *, cutoff: int | None = None, least: Floats | None = None
) -> Places:
    """Return the rows that are listed: by article and falling score, at most `cutoff` an article.

    `least` has the least score of each article. The best candidate stays, however low its score.
    """
    order = votes.order(scores)
    place = np.arange(len(order)) - votes.firsts[votes.article_of[order]]
    listed = np.ones(len(order), dtype=bool) if cutoff is None else place < cutoff
    if least is not None:
        listed &= (scores[order] >= least[votes.article_of[order]]) | (place == 0)
    return order[listed]


def article_values(
    votes: Votes,
    sizes: Places,
    scores: Floats,
    measure: str,
    *,
    cutoff: int | None = CUTOFF,
    least: Floats | None = None,
) -> Floats:
    """Return a measure of each article (`ArticleScores.column`); no candidates is 0.

    `sizes` are the articles' numbers of gold items, one or more.
    """
    listed = ranked_rows(votes, scores, cutoff=cutoff, least=least)
    of = votes.article_of[listed]
    hits = np.bincount(of, minlength=len(votes.articles))
    rank = np.arange(len(listed)) - (np.cumsum(hits) - hits)[of] + 1
    correct = votes.correct[listed]
    counts = np.bincount(of[correct], minlength=len(votes.articles))
    lists = MatchLists.packed(np.arange(len(votes.articles)), hits, counts, rank[correct])
    return ArticleScores(votes.articles, sizes, lists, BETA).column(measure)


def macro(values: Floats) -> float:
    """Return the macro-average of a measure."""
    return mean(values.tolist())


def calibration_error(probabilities: Floats, correct: Floats, *, least: float = 0.0) -> float:
    """Return the expected calibration error over ten bins of equal width (Guo et al. 2017).

    It is the mean distance of what was said from what was right, candidates weighted equally; 0
    without candidates. Only those of at least a probability of `least` count.
    """
    counted = probabilities >= least
    probabilities, correct = probabilities[counted], correct[counted]
    if not len(probabilities):
        return 0.0
    bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, probabilities - correct, minlength=BINS)
    return float(np.abs(gaps).sum() / len(probabilities))
