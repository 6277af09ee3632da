"""Features of candidates: three of each member (Table 5 of the overview), seven of the panel.

Panel features are means over the servers that answered, so that they mean the same for three
answers as for twelve, and need not know who a server is. Each is divided among the servers that
named the candidate, so that what a server adds to a candidate's log-odds is exact: sums go to
their terms; products and maxima by their Shapley values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scoring.consensus.votes import Floats, Votes

MEMBER_FEATURES = ("named", "1/rank", "confidence")
PANEL_FEATURES = (
    "share of votes",
    "mean 1/rank",
    "mean 11/(10 + rank)",
    "mean confidence",
    "best 1/rank",
    "best confidence",
    "share of votes × mean scaled confidence",
)


def member_features(votes: Votes) -> Floats:
    """Return each vote's three features: 1, 1/rank, confidence."""
    return np.column_stack([np.ones(len(votes.row)), 1 / votes.place, votes.confidence])


def panel_features(votes: Votes, weights: Floats) -> Floats:
    """Return each candidate's seven features; `weights` has the weight of each server.

    A server of half the weight counts as half a server, in numerators and denominators alike.
    """
    terms = _terms(votes, weights)
    sums = [votes.sums(term) for term in terms.means]
    best = [votes.best(term) for term in terms.best]
    product = sums[0] * votes.sums(terms.scaled)
    return np.column_stack([*sums, *best, product])


def panel_parts(votes: Votes, weights: Floats, coefficients: Floats) -> Floats:
    """Return what each vote adds to the panel's part of its candidate's log-odds.

    The votes of a candidate sum to `panel_features(...) @ coefficients`.
    """
    terms = _terms(votes, weights)
    parts = sum(w * term for w, term in zip(coefficients[:4], terms.means, strict=True))
    for coefficient, term in zip(coefficients[4:6], terms.best, strict=True):
        parts = parts + coefficient * _shares_of_best(votes, term)
    # V·S, a product of two sums over the same servers: half of what each sum owes to the server.
    named, scaled = terms.means[0], terms.scaled
    of_named, of_scaled = votes.sums(named)[votes.row], votes.sums(scaled)[votes.row]
    return np.asarray(parts + coefficients[6] * (named * of_scaled + scaled * of_named) / 2)


class _Terms(NamedTuple):
    """The terms of the panel's features, a value a vote."""

    means: tuple[Floats, Floats, Floats, Floats]
    best: tuple[Floats, Floats]
    scaled: Floats


def _terms(votes: Votes, weights: Floats) -> _Terms:
    weight = weights[votes.server]
    answered = (votes.answered * weights).sum(axis=1)[votes.article_of[votes.row]]
    share = np.divide(weight, answered, out=np.zeros_like(weight), where=answered > 0)
    confidence = votes.confidence
    return _Terms(
        (share, share / votes.place, share * 11 / (10 + votes.place), share * confidence),
        (weight / votes.place, weight * confidence),
        share * votes.scaled,
    )


def _shares_of_best(votes: Votes, values: Floats) -> Floats:
    """Return each vote's Shapley value in the greatest value of its candidate.

    A step from one value to the next higher one is shared by all votes that reach it (the airport
    game of Littlechild & Owen 1973).
    """
    order = np.lexsort((values, votes.row))
    rows, rising = votes.row[order], values[order]
    first = np.append(True, rows[1:] != rows[:-1]) if len(rows) else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(rows)))
    steps = rising - np.where(first, 0.0, np.append(0.0, rising[:-1])[: len(rows)])
    reaching = np.repeat(starts + sizes, sizes) - np.arange(len(rows))
    sums = np.cumsum(steps / reaching) if len(rows) else steps
    before = np.repeat(sums[starts] - (steps / reaching)[starts], sizes)
    shares = np.empty(len(rows))
    shares[order] = sums - before
    return shares
