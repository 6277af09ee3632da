"""Probabilities and what adds to them, in the words of the curators' pages."""

from __future__ import annotations

from typing import NamedTuple

UNLIKELY = 0.05
"""The probability below which a candidate is very unlikely; as near to 1 it is very likely."""
SOME, MUCH = 0.1, 1.0
"""The log-odds from which a server speaks somewhat, and strongly, for or against a candidate."""


class Likelihood(NamedTuple):
    """A likelihood in words, and the same as a sentence."""

    words: str
    sentence: str


def likelihood(probability: float) -> Likelihood:
    """Return a probability as a word and a whole number of such candidates that were right."""
    if probability < UNLIKELY:
        return _likelihood("very unlikely: under 1 of 20", "was")
    if probability > 1 - UNLIKELY:
        return _likelihood("very likely: over 19 of 20", "were")
    tenths = min(9, max(1, int(10 * probability + 0.5)))
    word = "unlikely" if tenths < 4 else "uncertain" if tenths < 7 else "likely"
    return _likelihood(f"{word}: {tenths} of 10", "was" if tenths == 1 else "were")


def _likelihood(words: str, verb: str) -> Likelihood:
    return Likelihood(words, f"{words} such {verb} right")


def speaks(part: float) -> str:
    """Return how a part of the log-odds speaks for a candidate."""
    if abs(part) < SOME:
        return "hardly either way"
    side = "for it" if part > 0 else "against it"
    return f"{side}, {'strongly' if abs(part) >= MUCH else 'somewhat'}"
