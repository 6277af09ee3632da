"""The progressive test: what a consensus is worth while only some servers have answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.averages import mean
from scoring.consensus.logistic import logistic
from scoring.consensus.measures import article_values, calibration_error, macro
from scoring.consensus.validation import CrossValidation

DRAWS = 10


@dataclass(frozen=True, kw_only=True)
class PartialPanel:
    """The quality of a consensus of `answered` of the servers that answered an article.

    Means over draws of servers, drawn for each article by itself; `calibration_error` is None of a
    method without probabilities.
    """

    answered: int
    auc_ipr: float
    f_score: float
    calibration_error: float | None


def progressive(
    validated: CrossValidation, counts: Sequence[int], *, draws: int = DRAWS, seed: int = 2009
) -> list[PartialPanel]:
    """Return the quality at each number of servers, the same draws for every method.

    Lists of a method with probabilities end at the least probability where F_10 is computed.
    """
    votes, scorer = validated.votes, validated.scorer
    found = []
    for count in counts:
        rng = np.random.default_rng([seed, count])
        values: list[tuple[float, float, float]] = []
        for _ in range(draws):
            drawn = np.where(votes.answered, rng.random(votes.answered.shape), 2.0)
            some = votes.of_servers(drawn.argsort(axis=1).argsort(axis=1) < count)
            scores = scorer.scores(some)
            auc = article_values(some, validated.sizes, scores, "auc_ipr")
            f_score = article_values(
                some, validated.sizes, scores, "f_score", least=validated.least
            )
            error = calibration_error(logistic(scores), some.correct.astype(float))
            values.append((macro(auc), macro(f_score), error))
        auc_ipr, f_10, calibration = (mean(column) for column in zip(*values, strict=True))
        found.append(
            PartialPanel(
                answered=count,
                auc_ipr=auc_ipr,
                f_score=f_10,
                calibration_error=calibration if scorer.weights else None,
            )
        )
    return found
