"""Means over articles: macro, micro, and their curves.

Every sum is exact before it is rounded once (`math.fsum`, integers), so no result depends on the
order in which articles were scored.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, zip_longest

from scoring.ranking import Curve, Matches, interpolated


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the population standard deviation; (0, 0) for no values."""
    if not values:
        return 0.0, 0.0
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def micro_auc(lists: Sequence[Matches]) -> float:
    """Return the micro-averaged AUC iP/R, in [0, 1], as the official BC II.5 program has it.

    At rank k every list's k-th hit is added, then one precision/recall point is recorded. 0 where
    nothing is correct.
    """
    gold = sum(matches.gold for matches in lists)
    correct_at = Counter(rank for matches in lists for rank in matches.ranks)
    ranks = sorted(correct_at)
    correct = list(accumulate(correct_at[rank] for rank in ranks))
    pooled = _pooled_lengths([matches.hits for matches in lists], ranks)
    area = best = 0.0
    for rank, found, length in zip(ranks[::-1], correct[::-1], pooled[::-1], strict=True):
        # Between two ranks with correct hits precision only falls, so these ranks suffice.
        best = max(best, found / length)
        area += correct_at[rank] * best
    return area / gold if gold else 0.0


def _pooled_lengths(lengths: Sequence[int], ranks: Sequence[int]) -> list[int]:
    """Return how many hits all lists have up to each rank."""
    ordered = sorted(lengths)
    sums = [0, *accumulate(ordered)]
    pooled = []
    for rank in ranks:
        short = bisect_right(ordered, rank)
        pooled.append(sums[short] + (len(ordered) - short) * rank)
    return pooled


def macro_curve(lists: Sequence[Matches]) -> Curve:
    """Return the mean of the lists' interpolated curves; empty where nothing is correct.

    The mean is exact: a step at every recall where any list has one. Lists with an empty gold have
    no curve and do not count.
    """
    drops: defaultdict[float, list[float]] = defaultdict(list)
    counted = 0
    for ranks, _, gold in lists:
        counted += bool(gold)
        steps = interpolated(ranks)
        for found, (step, following) in enumerate(zip_longest(steps, steps[1:], fillvalue=0.0), 1):
            if step > following:
                drops[found / gold].append(step - following)
    height = 0.0
    curve = []
    for recall in sorted(drops, reverse=True):
        height += math.fsum(drops[recall])
        curve.append((recall, height / counted))
    return tuple(reversed(curve))
