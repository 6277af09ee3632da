"""The two-by-two table of a classifier, and what follows from it."""

from __future__ import annotations

import math
from typing import NamedTuple


class Confusion(NamedTuple):
    """Counts of true and false positives, false and true negatives.

    Every ratio lies in [0, 1] (MCC in [-1, 1]) and is 0 where its denominator is 0.
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def sensitivity(self) -> float:
        """Relevant articles classified as relevant, TP / (TP + FN): the recall."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> float:
        """Irrelevant articles classified as irrelevant, TN / (TN + FP)."""
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def accuracy(self) -> float:
        """Articles classified correctly, (TP + TN) / all."""
        return _ratio(self.tp + self.tn, sum(self))

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient (Matthews 1975), the phi of the table."""
        tp, fp, fn, tn = self
        square = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return _ratio(tp * tn - fp * fn, math.sqrt(square))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
