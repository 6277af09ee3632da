"""A model's names and quotes against the article and the dictionary: what is in neither is dropped.

The model writes no accession: a name has to be in the article, and the dictionary says which
proteins it may denote. A quote that is not in the article costs half the confidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from annotators.contract import Answer, Mention, Normalization, Pair
from annotators.llm.output import Output, clamped
from annotators.matching import Dictionary

MAX_NAME = 200
MAX_EVIDENCE = 500
MAX_MENTIONS = 1000
MAX_HITS = 100
MAX_MEANINGS = 3  # proteins that one name may denote; more are no finding
SPACES = re.compile(r"\s+")

Item = TypeVar("Item", str, tuple[str, str])


@dataclass(slots=True)
class KeptHit:
    """An accession, or two of them, with the best confidence and its quote."""

    confidence: float
    evidence: str


@dataclass(slots=True)
class Grounded:
    """The findings that are kept, of all parts of an article."""

    text: str
    known: Dictionary
    proteins: dict[str, KeptHit] = field(default_factory=dict)
    pairs: dict[tuple[str, str], KeptHit] = field(default_factory=dict)
    names: dict[str, float] = field(default_factory=dict)
    relevant: bool = False
    relevance: float = 0.0
    irrelevance: float = 0.0
    dropped: int = 0
    _flat: str = ""

    def __post_init__(self) -> None:
        self._flat = SPACES.sub(" ", self.text)

    def add(self, output: Output) -> None:
        """Keep what one part's answer has."""
        relevance = clamped(output.relevance)
        if output.relevant:
            self.relevant = True
            self.relevance = max(self.relevance, relevance)
        else:
            self.irrelevance = max(self.irrelevance, relevance)
        for protein in output.proteins:
            confidence, evidence = self._trusted(protein.confidence, protein.quote)
            meanings = self._meanings(protein.name)
            self.dropped += not meanings
            for accession, weight in meanings.items():
                _keep(self.proteins, accession, confidence * weight, evidence)
            if meanings:
                self.names[protein.name] = max(confidence, self.names.get(protein.name, 0.0))
        for pair in output.pairs:
            confidence, evidence = self._trusted(pair.confidence, pair.quote)
            first, second = self._meanings(pair.a), self._meanings(pair.b)
            self.dropped += not (first and second)
            for a, weight_a in first.items():
                for b, weight_b in second.items():
                    both = (a, b) if a <= b else (b, a)
                    _keep(self.pairs, both, confidence * weight_a * weight_b, evidence)

    def _trusted(self, confidence: float, quote: str) -> tuple[float, str]:
        """Return a confidence and its evidence: halved and empty for a quote of no article."""
        flat = SPACES.sub(" ", quote).strip()
        if flat and flat in self._flat:
            return clamped(confidence), flat[:MAX_EVIDENCE]
        return clamped(clamped(confidence) / 2), ""

    def _meanings(self, name: str) -> Mapping[str, float]:
        """Return the accessions of a name that is in the article and in the dictionary."""
        if not 1 < len(name) <= MAX_NAME or name not in self.text:
            return {}
        for found in self.known.find(name):
            if (found.start, found.end) == (0, len(name)):
                return found.weights if len(found.weights) <= MAX_MEANINGS else {}
        return {}

    def answer(self) -> Answer:
        """Return the answer for the whole article."""
        confidence = self.relevance if self.relevant else self.irrelevance
        return {
            "interaction": [self.relevant, clamped(confidence)],
            "normalizations": _normalizations(self.proteins),
            "pairs": _pairs(self.pairs),
            "mentions": _mentions(self.text, self.names),
        }


def _keep(hits: dict[Item, KeptHit], item: Item, confidence: float, evidence: str) -> None:
    if item not in hits or confidence > hits[item].confidence:
        hits[item] = KeptHit(clamped(confidence), evidence)


def _ordered(hits: Mapping[Item, KeptHit]) -> Sequence[tuple[Item, KeptHit]]:
    """Return hits by falling confidence, equal ones by name."""
    return sorted(hits.items(), key=lambda one: (-one[1].confidence, one[0]))[:MAX_HITS]


def _normalizations(hits: Mapping[str, KeptHit]) -> list[Normalization]:
    found: list[Normalization] = []
    for rank, (accession, hit) in enumerate(_ordered(hits), start=1):
        one: Normalization = {"dbid": accession, "rank": rank, "confidence": hit.confidence}
        if hit.evidence:
            one["evidence"] = hit.evidence
        found.append(one)
    return found


def _pairs(hits: Mapping[tuple[str, str], KeptHit]) -> list[Pair]:
    found: list[Pair] = []
    for rank, ((a, b), hit) in enumerate(_ordered(hits), start=1):
        one: Pair = {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": hit.confidence}
        if hit.evidence:
            one["evidence"] = hit.evidence
        found.append(one)
    return found


def _mentions(text: str, names: Mapping[str, float]) -> list[Mention]:
    """Return where the names stand as whole words: the longest where several overlap."""
    found: dict[int, tuple[int, float]] = {}
    for name, confidence in sorted(names.items(), key=lambda one: -len(one[0])):
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            if len(found) < MAX_MENTIONS:
                found.setdefault(match.start(), (match.end(), confidence))
    mentions: list[Mention] = []
    covered = 0
    for start, (end, confidence) in sorted(found.items()):
        if start >= covered:
            covered = end
            words = text[start:end]
            mentions.append(
                {"offset": start, "mention": words, "type": "protein", "confidence": confidence}
            )
    return mentions
