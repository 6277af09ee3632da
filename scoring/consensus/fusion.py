"""Fusions: scores of candidates from the ranks and confidences of servers, without training.

All of them trust each server as much as any other. A score orders the candidates of an article;
it is no probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from scoring.consensus.votes import CUTOFF, Floats, Votes


def votes(of: Votes, weights: Floats) -> Floats:
    """Return the sum of the weights of the servers that name a candidate."""
    return of.sums(weights[of.server])


def borda(of: Votes, weights: Floats) -> Floats:
    """Return Borda counts: a server gives its first `CUTOFF` points, each next one point less."""
    return of.sums(weights[of.server] * np.maximum(CUTOFF + 1 - of.place, 0))


def rrf(k: int) -> Fusion:
    """Return reciprocal rank fusion, the sum of 1/(k + rank) (Cormack et al. 2009, k = 60)."""
    return lambda of, weights: of.sums(weights[of.server] / (k + of.place))


def combsum(of: Votes, weights: Floats) -> Floats:
    """Return CombSUM: the sum of the confidences (Fox & Shaw 1994), which lie in ]0, 1] already."""
    return of.sums(weights[of.server] * of.confidence)


def combmnz(of: Votes, weights: Floats) -> Floats:
    """Return CombMNZ: CombSUM times the number of servers that name the candidate."""
    return combsum(of, weights) * np.bincount(of.row, minlength=len(of))


Fusion = Callable[[Votes, Floats], Floats]
"""A score of each candidate, from votes and a weight for each server."""

FUSIONS: Mapping[str, Fusion] = {
    "votes": votes,
    "borda": borda,
    "rrf60": rrf(60),
    "rrf10": rrf(10),
    "rrf1": rrf(1),
    "combsum": combsum,
    "combmnz": combmnz,
}
"""Fusions by the names that options and models use."""
