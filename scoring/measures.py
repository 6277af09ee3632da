"""Further measures of a run, by the names under which reports and `--measures` have them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from scoring import ranking
from scoring.errors import OptionError
from scoring.ranking import Matches
from scoring.scorecard import ActScorecard, Scorecard

Measure: TypeAlias = Callable[[Matches], float | None]

CONFIDENCE = "confidence"
MEASURES: Mapping[str, str] = {
    "AP": "average precision (its mean is MAP)",
    "RR": "reciprocal rank of the first correct hit (its mean is MRR)",
    "TRR": "total reciprocal rank",
    "P@k": "precision at rank k, such as P@5",
    "R@k": "recall at rank k, such as R@30",
    "ROC": "area under the ROC curve, ACT only",
    CONFIDENCE: "average confidence, of whole runs only",
}
"""The names that `mean_of` knows, with a line of help each; k is any integer from 1."""

_FIXED: Mapping[str, Measure] = {
    "AP": ranking.average_precision,
    "RR": ranking.reciprocal_rank,
    "TRR": ranking.total_reciprocal_rank,
    "ROC": ranking.roc_auc,
    CONFIDENCE: lambda _: None,
}
_AT_RANK = re.compile(r"([PR])@([1-9]\d{0,8})")


def measure_named(name: str) -> Measure:
    """Return the measure of a ranked list that a name stands for."""
    if name in _FIXED:
        return _FIXED[name]
    found = _AT_RANK.fullmatch(name)
    if not found:
        raise OptionError(f"measure {name!r}; expected one of {', '.join(MEASURES)}")
    at_rank = ranking.precision_at if found[1] == "P" else ranking.recall_at
    return lambda matches: at_rank(matches, int(found[2]))


def mean_of(name: str, scorecard: Scorecard) -> float | None:
    """Return a measure's mean over a run's scored articles; of an ACT run's one list, itself.

    Articles for which the measure is undefined are left out; None where no article is left.
    """
    if name == CONFIDENCE:
        return scorecard.confidence
    measure = measure_named(name)
    if isinstance(scorecard, ActScorecard):
        return measure(scorecard.matches)
    if name == "ROC":
        raise OptionError(f"ROC is not defined for {scorecard.task}: wrong answers are countless")
    values = [measure(score.matches) for score in scorecard.articles.values()]
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None
