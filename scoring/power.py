"""The number of articles that would separate two runs, by simulation from what they scored.

Power is the share of campaigns in which the two are found different. A campaign of n articles is
drawn with replacement from the articles' differences, and tested by sign flips as
`scoring.sign_flips` does (one pair, not corrected for others). No distribution is assumed, but
that further articles are like these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scoring.bounds import Floats

POWER = 0.8
"""The power at which two runs count as separated, by convention (Cohen 1988)."""
MOST_ARTICLES = 20_000
"""More articles than this are not simulated."""
MOST_PAIRS = 200
"""Pairs that are simulated at most: each takes up to a second."""
_CAMPAIGNS, _FLIPS = 500, 499
_FEWEST = 6  # 2^(1 - 5) is above 0.05


def articles_needed(differences: Floats, *, alpha: float = 0.05, seed: int = 2009) -> int | None:
    """Return how many articles give `POWER` at `alpha`, to two digits; None beyond `MOST_ARTICLES`.

    `differences` has one number an article: the score of one run less that of the other.
    """
    if not len(differences) or not differences.any():
        return None
    return _least(lambda articles: power(differences, articles, alpha=alpha, seed=seed))


def power(differences: Floats, articles: int, *, alpha: float = 0.05, seed: int = 2009) -> float:
    """Return the share of simulated campaigns of so many articles that separate the two runs."""
    rng = np.random.default_rng([seed, articles])
    drawn = differences[rng.integers(0, len(differences), (_CAMPAIGNS, articles))]
    flips = 1.0 - 2.0 * rng.integers(0, 2, (articles, _FLIPS)).astype(np.float64)
    observed = np.abs(drawn.sum(axis=1))
    reached = np.count_nonzero(np.abs(drawn @ flips) >= observed[:, None] - 1e-9, axis=1)
    p = (reached + 1) / (_FLIPS + 1)
    return float(((p <= alpha) & (observed > 0)).mean())


def articles_needed_of(
    difference: float, resamples: Floats, articles: int, *, alpha: float = 0.05
) -> int | None:
    """Return how many articles give `POWER`, for a measure of whole lists.

    `resamples` are differences on resamples of the `articles` that there are. With n articles they
    would stray from `difference` by the root of articles/n of what they do.
    """
    strays = resamples - difference
    limit = np.quantile(np.abs(strays), 1 - alpha)
    if not difference or not limit:
        return None

    def power_of(n: int) -> float:
        part = np.sqrt(articles / n)
        return float((np.abs(difference + strays * part) >= limit * part).mean())

    return _least(power_of)


def _least(power_of: Callable[[int], float]) -> int | None:
    """Return the least number of articles whose power reaches `POWER`, rounded up to two digits."""
    high = _FEWEST
    while power_of(high) < POWER:
        if high == MOST_ARTICLES:
            return None
        high = min(2 * high, MOST_ARTICLES)
    low = max(_FEWEST, high // 2)
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= POWER else (middle, high)
    digit = 10 ** max(0, len(str(high)) - 2)
    return int(-(-high // digit) * digit)
