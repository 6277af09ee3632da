"""Sentences that name both proteins of a pair, which are offered as its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from annotators.baselines.sentences import INTERACTION, sentences
from metaserver.curation.mentions import CandidateSpan

MOST_SENTENCES = 5
"""The most sentences of a pair."""
LONGEST = 1_000
"""The characters of the longest sentence that is offered; a longer one is a table."""

Place: TypeAlias = tuple[int, int]


class Together:
    """The sentences of a text, by the accessions that they name."""

    def __init__(self, text: str, spans: Iterable[CandidateSpan]) -> None:
        self._text = text
        self._known: dict[str, dict[Place, Place]] = {}
        """By accession and sentence: the end of its first mention, the start of its last."""
        places = [one for one in sentences(text) if one[1] - one[0] <= LONGEST]
        number = 0
        for span in sorted(spans, key=lambda one: (one.start, one.end)):
            while number < len(places) and places[number][1] <= span.start:
                number += 1
            if number == len(places):
                break
            sentence = places[number]
            if sentence[0] <= span.start and span.end <= sentence[1]:
                known = self._known.setdefault(span.accession, {})
                end, _ = known.get(sentence, (span.end, 0))
                known[sentence] = (min(end, span.end), span.start)

    def of(self, item: Sequence[str]) -> Sequence[Place]:
        """Return the sentences in which both stand at places of their own, at most five.

        Those with a word for an interaction come first, then those earlier in the text.
        """
        one, other = (self._of(accession) for accession in item)
        shared = [
            sentence
            for sentence in one.keys() & other.keys()
            if one[sentence][0] <= other[sentence][1] or other[sentence][0] <= one[sentence][1]
        ]
        shared.sort(key=lambda place: (INTERACTION.search(self._text, *place) is None, place))
        return shared[:MOST_SENTENCES]

    def _of(self, accession: str) -> Mapping[Place, Place]:
        return self._known.get(accession, {})
