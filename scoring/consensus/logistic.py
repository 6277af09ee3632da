"""Logistic regression with a ridge penalty, by Newton's method: exact to rounding, no chance in it.

The objective is that of scikit-learn's `LogisticRegression`: C times the sum of the log losses plus
half the squared coefficients, the intercept not penalised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scoring.columns import Truths
from scoring.consensus.votes import Floats

if TYPE_CHECKING:  # scipy takes a moment to load: only when training
    from scipy.sparse import csr_array

_STEPS = 100
_TOLERANCE = 1e-10  # of the gradient, a row
_HALVINGS = 30


def fit(features: csr_array, labels: Truths, strength: float) -> tuple[Floats, float]:
    """Return the coefficients and the intercept; `strength` is C, the inverse of the penalty.

    Needs labels of both kinds.
    """
    count = features.shape[1]
    penalty = np.append(np.full(count, 1 / strength), 0.0)
    labelled = labels.astype(np.float64)
    weights = np.zeros(count + 1)
    loss = _loss(features, labelled, weights, penalty)
    for _ in range(_STEPS):
        probability = logistic(features @ weights[:-1] + weights[-1])
        residual = probability - labelled
        slope = np.append(features.T @ residual, residual.sum()) + penalty * weights
        if np.abs(slope).max() <= _TOLERANCE * len(labels):
            break
        step = np.linalg.solve(_curvature(features, probability, penalty), slope)
        for _ in range(_HALVINGS):
            lower = _loss(features, labelled, weights - step, penalty)
            if lower <= loss:
                break
            step = step / 2
        if lower >= loss:  # what is left is rounding
            break
        weights, loss = weights - step, lower
    return weights[:-1], float(weights[-1])


def logistic(scores: Floats) -> Floats:
    """Return 1 / (1 + exp(-score)), without overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1 / (1 + small), small / (1 + small))


def _loss(features: csr_array, labels: Floats, weights: Floats, penalty: Floats) -> float:
    scores = features @ weights[:-1] + weights[-1]
    return float((np.logaddexp(0, scores) - labels * scores).sum() + penalty @ weights**2 / 2)


def _curvature(features: csr_array, probability: Floats, penalty: Floats) -> Floats:
    """Return the matrix of second derivatives.

    The product is sparse on purpose: that of full matrices takes ten times as long on a machine
    whose cores are busy, since its threads wait for one another.
    """
    spread = probability * (1 - probability)
    weighed = features.copy()
    weighed.data *= np.repeat(spread, np.diff(features.indptr))
    count = features.shape[1]
    matrix = np.empty((count + 1, count + 1))
    matrix[:count, :count] = (features.T @ weighed).toarray()
    matrix[count, :count] = matrix[:count, count] = features.T @ spread
    matrix[count, count] = spread.sum()
    return matrix + np.diag(penalty)
