"""Annotations without ranks, as the contract's values: mentions, accessions, pairs.

If nothing has a score, an accession's confidence is 0.5 + 0.5 times its mentions by the most
mentions of any, a pair's likewise; a mention's is 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.json_body import clean
from metaserver.exchange.protocols.options import aligned
from metaserver.exchange.wire.contract import META, Report
from metaserver.exchange.wire.values import Limits
from metaserver.uniprot.codec import PATTERN
from metaserver.uniprot.verdicts import MENDABLE, guess

LOWEST: Final = 0.5
"""The lowest confidence, for what was found once."""
PAIR: Final = 8
"""Annotations or names that a pair counts as: it takes their memory, and may take no bytes."""
FEW: Final = 8_000
"""Annotations and names that an answer may have, however small it is."""
COVERS: Final = 4
"""Times that mentions may cover the text, or as many characters as the answer has bytes."""

K = TypeVar("K", bound=Hashable)


def gene_name(gene: int) -> str:
    """Return an NCBI Gene id as a vocabulary reads it."""
    return f"NCBIGene:{gene}"


class FoundItems(Generic[K]):
    """Items with how often each was found, and its best score."""

    def __init__(self) -> None:
        self._times: Counter[K] = Counter()
        self._scores: dict[K, float] = {}

    def add(self, item: K, score: float | None) -> None:
        """Count an item once more."""
        self._times[item] += 1
        if score is not None:
            self._scores[item] = max(score, self._scores.get(item, score))

    @property
    def derived(self) -> bool:
        """True where an item has no score."""
        return len(self._scores) < len(self._times)

    def __iter__(self) -> Iterator[tuple[K, float]]:
        """Yield each item with its confidence, in the order of first occurrence."""
        most_times = max(self._times.values(), default=1)
        for item, times in self._times.items():
            yield item, self._scores.get(item, LOWEST + (1 - LOWEST) * times / most_times)

    def __len__(self) -> int:
        return len(self._times)


class Findings:
    """A text's annotations; `report` gets a note for everything that is read otherwise.

    They are bounded by `limits`, and by `size`, the answer's bytes: a relation's pairs multiply its
    ends' accessions, and a mention's words need not be sent.
    """

    def __init__(self, text: str, report: Report, limits: Limits) -> None:
        self._text = text
        self._report = report
        self._limits = limits
        self._counted = 0
        self._covered = 0  # characters
        self._mentions: dict[tuple[int, int, str], dict[str, Any]] = {}
        self._accessions: FoundItems[str] = FoundItems()
        self._pairs: FoundItems[tuple[str, str]] = FoundItems()
        self.interaction: tuple[bool, float] | None = None
        self.meta: Mapping[str, Any] | None = None
        self.begin = 0  # the offset of the part of the text that is read
        self.size = 0  # of all parts that have come

    def accession(self, text: str, pointer: str) -> str | None:
        """Return the accession in a text, or None.

        An NCBI Gene id is returned in a canonical form, for the phase's release to map.
        """
        self._count()
        if PATTERN.fullmatch(text):
            return text
        guessed = guess(text)
        if guessed.gene:
            return gene_name(guessed.gene)
        if guessed.intent not in MENDABLE:
            return None
        self._report.note(pointer, f"{clean(text)} read as {guessed.accession}")
        return guessed.accession

    def mention(
        self,
        pointer: str,
        begin: int,
        end: int,
        kind: str,
        score: float | None = None,
        words: str | None = None,
    ) -> tuple[int, int]:
        """Add a mention at a place in code points; return where it begins and ends.

        `words` are those that the server sent. The place is in the part of the text that begins at
        `begin`. A place with two accessions is one mention.
        """
        self._count()
        begin, end = begin + self.begin, end + self.begin
        if words:
            begin, end = self._at(pointer, begin, end, words)
        words_found = self._text[max(0, begin) : max(0, end)] or clean(words or "")
        self._covered += len(words_found)
        limit = min(self._limits.bytes, COVERS * (len(self._text) + self.size))
        if self._covered > limit:
            message = f"{pointer}: the mentions have more than {limit:,} characters"
            raise PeerError(Outcome.TOO_LARGE, message)
        confidence = 1.0 if score is None else score
        mention = self._mentions.setdefault(
            (begin, end, kind),
            {
                "offset": begin,
                "mention": words_found,
                "type": clean(kind),
                "confidence": confidence,
            },
        )
        mention["confidence"] = max(confidence, mention["confidence"])
        return begin, end

    def _at(self, pointer: str, begin: int, end: int, words: str) -> tuple[int, int]:
        place = aligned(self._text, begin, words)
        if place is None:
            if self._text[begin:end] != words:
                self._report.note(pointer, "the words do not stand there")
            return begin, end
        if place != begin:
            self._report.note(pointer, f"moved by {place - begin}")
        return place, place + len(words)

    def normalization(self, accession: str, score: float | None) -> None:
        """Count an accession."""
        self._count()
        self._accessions.add(accession, score)

    def pair(self, first: str, second: str, score: float | None) -> None:
        """Count a pair; it has no direction."""
        self._count(PAIR)
        self._pairs.add((first, second) if first <= second else (second, first), score)

    def _count(self, number: int = 1) -> None:
        self._counted += number
        limit = min(self._limits.values, max(FEW, self.size))
        if self._counted > limit:
            message = f"more than {limit:,} annotations and names in {self.size:,} bytes"
            raise PeerError(Outcome.TOO_LARGE, f"{message}; a pair counts as {PAIR}")

    def answer(self) -> Mapping[str, Any]:
        """Return the contract's values."""
        if self._accessions.derived or self._pairs.derived:
            self._report.note("confidence", "derived from counts")
        answer: dict[str, Any] = {
            "normalizations": [
                {"dbid": accession, "confidence": confidence}
                for accession, confidence in self._accessions
            ],
            "pairs": [
                {"dbid_a": first, "dbid_b": second, "confidence": confidence}
                for (first, second), confidence in self._pairs
            ],
            "mentions": list(self._mentions.values()),
        }
        if self.meta:
            answer[META] = dict(self.meta)
        if self.interaction is not None:
            answer["interaction"] = list(self.interaction)
        elif len(self._pairs):
            answer["interaction"] = [True, max(confidence for _, confidence in self._pairs)]
        return answer
