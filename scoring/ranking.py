"""Measures of one ranked list against its gold: curves, areas, precision at k, reciprocal ranks.

Every measure is a function of `Matches`: the ranks of the correct hits, the length of the list and
the size of the gold. Ranks are places in the list, counted from 1 without gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import NamedTuple, TypeAlias

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Steps (recall, precision), recall rising: the precision holds up to and at that recall."""


class Matches(NamedTuple):
    """A ranked list reduced to what its measures need.

    `ranks` are the ranks of the correct hits, rising; `hits` is the length of the list; `gold` is
    how many items there are to find.
    """

    ranks: tuple[int, ...]
    hits: int
    gold: int

    def cut(self, cutoff: int | None) -> Matches:
        """Return the list's first `cutoff` hits; all of them where there is no cutoff."""
        if cutoff is None or cutoff >= self.hits:
            return self
        return Matches(self.ranks[: bisect_right(self.ranks, cutoff)], cutoff, self.gold)


def added(values: Iterable[float]) -> float:
    """Return the sum of values added one after the other: the same bits on every Python.

    From Python 3.12 on `sum` makes up for what rounding lost, which a column's sum does not.
    """
    return reduce(add, values, 0.0)


def f_beta(correct: int, hits: int, gold: int, beta: float = 1.0) -> float:
    """Return F_beta = (1 + b²)PR / (b²P + R) from counts, in [0, 1]; 0 where nothing is correct.

    The BC II.5 overview prints the denominator b²(P + R), a misprint: it contradicts its own
    tables. van Rijsbergen 1979, chapter 7.
    """
    weight = beta * beta
    return (1 + weight) * correct / (weight * gold + hits) if correct else 0.0


def precision(matches: Matches) -> float:
    """Return the fraction of the hits that are correct, in [0, 1]; 0 for an empty list."""
    return len(matches.ranks) / matches.hits if matches.hits else 0.0


def recall(matches: Matches) -> float:
    """Return the fraction of the gold that was found, in [0, 1]; 0 for an empty gold."""
    return len(matches.ranks) / matches.gold if matches.gold else 0.0


def interpolated(ranks: Sequence[int]) -> list[float]:
    """Return, for each correct hit, the best precision at its rank or any later one.

    Interpolated precision iP after BC II.5, section 4: the printed `r' > r` is read as `≥`
    (docs/scoring.md), since only then does the section's own example come out.
    """
    steps = [0.0] * len(ranks)
    best = 0.0
    for index in range(len(ranks) - 1, -1, -1):
        best = max(best, (index + 1) / ranks[index])
        steps[index] = best
    return steps


def auc_ipr(matches: Matches) -> float | None:
    """Return AUC iP/R, the area under the interpolated precision/recall curve, in [0, 1].

    (1/|gold|) · Σ over correct hits of the best precision at that rank or later: BC II.5's primary
    measure. 0 where nothing is correct; None (undefined) for an empty gold.
    """
    if not matches.gold:
        return None
    return added(interpolated(matches.ranks)) / matches.gold


def curve(matches: Matches) -> Curve:
    """Return the interpolated precision/recall curve, a step where precision falls.

    Empty where nothing is correct; the area under it is `auc_ipr`.
    """
    steps = interpolated(matches.ranks)
    return tuple(
        (found / matches.gold, step)
        for found, (step, following) in enumerate(zip_longest(steps, steps[1:], fillvalue=0.0), 1)
        if step > following
    )


def average_precision(matches: Matches) -> float | None:
    """Return AP, the mean over the gold of the precision at each correct hit, in [0, 1].

    The area under the uninterpolated curve (Buckley and Voorhees 2000). None for an empty gold.
    """
    if not matches.gold:
        return None
    return added(k / rank for k, rank in enumerate(matches.ranks, start=1)) / matches.gold


def precision_at(matches: Matches, k: int) -> float:
    """Return P@k: correct hits among the first `k`, divided by `k` even in a shorter list."""
    return bisect_right(matches.ranks, k) / k


def recall_at(matches: Matches, k: int) -> float:
    """Return R@k: the fraction of the gold found in the first `k` hits; 0 for an empty gold."""
    return bisect_right(matches.ranks, k) / matches.gold if matches.gold else 0.0


def precision_at_full_recall(matches: Matches) -> float | None:
    """Return the precision at the rank that completes the gold; None where that never happens."""
    if not matches.gold or len(matches.ranks) < matches.gold:
        return None
    return matches.gold / matches.ranks[-1]


def reciprocal_rank(matches: Matches) -> float:
    """Return 1/rank of the first correct hit, in [0, 1]; 0 without one. Its mean is the MRR."""
    return 1 / matches.ranks[0] if matches.ranks else 0.0


def total_reciprocal_rank(matches: Matches) -> float:
    """Return TRR, the sum of 1/rank over the correct hits; 0 without one, unbounded above.

    Radev et al. 2002, "Evaluating web-based question answering systems".
    """
    return added(1 / rank for rank in matches.ranks)


def roc_auc(matches: Matches) -> float | None:
    """Return the area under the ROC curve of the listed items, in [0, 1].

    The chance that a correct item of the list ranks above a wrong one; None where the list has
    only one kind. It is defined for ACT only: INT and IPT have no finite set of wrong answers to
    be right about (docs/scoring.md, "Why not ROC").
    """
    correct = len(matches.ranks)
    wrong = matches.hits - correct
    if not correct or not wrong:
        return None
    below = sum(matches.ranks) - correct * (correct + 1) // 2  # wrong items above correct ones
    return 1 - below / (correct * wrong)
