"""Means over articles: macro, micro, and their curves.

Every sum is exact before it is rounded once (`math.fsum`, integers), so no result depends on the
order in which articles were scored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from scoring.columns import Places
from scoring.match_lists import MatchLists
from scoring.ranking import Curve


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 for no values."""
    return math.fsum(values) / len(values) if values else 0.0


def deviation(values: Sequence[float], mean: float) -> float:
    """Return the population standard deviation from the values' mean; 0 for no values."""
    if not values:
        return 0.0
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def micro_auc(lists: MatchLists, gold: int) -> float:
    """Return the micro-averaged AUC iP/R, in [0, 1], as the official BC II.5 program has it.

    At rank k every list's k-th hit is added, then one precision/recall point is recorded. 0 where
    nothing is correct. `gold` is how many items the lists have to find.
    """
    if not gold:
        return 0.0
    ranks, correct_at = np.unique(lists.ranks.astype(np.int64), return_counts=True)
    precisions = np.cumsum(correct_at) / _pooled_lengths(lists, ranks)
    # Between two ranks with correct hits precision only falls, so these ranks suffice.
    best = np.maximum.accumulate(precisions[::-1])
    areas = np.add.accumulate(correct_at[::-1] * best)  # in this order, one after another
    return float(areas[-1]) / gold if len(areas) else 0.0


def _pooled_lengths(lists: MatchLists, ranks: Places) -> Places:
    """Return how many hits all lists have up to each rank."""
    ordered = np.sort(lists.hits).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    short = np.searchsorted(ordered, ranks, side="right")
    lengths: Places = sums[short] + (len(ordered) - short) * ranks
    return lengths


def macro_curve(lists: MatchLists, gold: Places) -> Curve:
    """Return the mean of the lists' interpolated curves; empty where nothing is correct.

    The mean is exact: a step at every recall where any list has one. `gold` has the number of items
    that each list has to find; lists with none have no curve and do not count.
    """
    counts = lists.counts.astype(np.int64)
    ends = np.cumsum(counts)
    steps = lists.interpolated()
    following = np.append(steps[1:], 0.0)
    following[ends[counts > 0] - 1] = 0.0
    found = np.arange(1, len(steps) + 1) - np.repeat(ends - counts, counts)
    falls = np.flatnonzero(steps > following)
    recalls, drops = (found / np.repeat(gold, counts))[falls], (steps - following)[falls]
    order = np.argsort(-recalls, kind="stable")
    recalls, drops = recalls[order], drops[order].tolist()
    bounds = [*np.flatnonzero(np.diff(recalls, prepend=np.inf)).tolist(), len(recalls)]
    counted = int(np.count_nonzero(gold))
    height, curve = 0.0, []
    for start, end in pairwise(bounds):
        height += math.fsum(drops[start:end])
        curve.append((float(recalls[start]), height / counted))
    return tuple(reversed(curve))
