"""IPT by co-occurrence: two proteins in a sentence that states an interaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from annotators.baselines.dictionary import in_sentences, normalizations, protein_scores
from annotators.baselines.sentences import INTERACTION, REGULATION, SELF
from annotators.contract import Answer, Pair
from annotators.matching import Found, ProteinNames

MAX_PAIRS = 10
MIN_CONFIDENCE = 0.5
MAX_NAMES = 50  # in a sentence; a table read as one "sentence" has thousands

AccessionPair: TypeAlias = tuple[str, str]


def pair_scores(text: str, found: Sequence[Found]) -> dict[AccessionPair, float]:
    """Return a score > 0 for each pair of accessions that share a sentence.

    A sentence counts by its words (between the two names most), less the more proteins it lists;
    the title counts twice.
    """
    title_end = len(text.partition("\n")[0])
    scores: defaultdict[AccessionPair, float] = defaultdict(float)
    for start, end, inside in in_sentences(text, found):
        factor = 2.0 if start < title_end else 1.0
        for pair, score in _sentence_pairs(text, start, end, inside):
            scores[pair] += factor * score
    return dict(scores)


def _sentence_pairs(
    text: str, start: int, end: int, found: Sequence[Found]
) -> Iterator[tuple[AccessionPair, float]]:
    found = found[:MAX_NAMES]
    proteins = {accession for match in found for accession in match.weights}
    best: defaultdict[AccessionPair, float] = defaultdict(float)
    for (place, first), (other, second) in combinations(enumerate(found), 2):
        apart = (other - place) ** 0.5  # neighbours count most
        worth = _worth(text, start, end, first, second) / (len(proteins) - 1 or 1) / apart
        for a, weight_a in first.weights.items():
            for b, weight_b in second.weights.items():
                pair = (a, b) if a <= b else (b, a)
                if a != b:
                    best[pair] = max(best[pair], worth * weight_a * weight_b)
    if len(proteins) == 1 and SELF.search(text, start, end):
        (alone,) = proteins
        best[alone, alone] = max(match.weights[alone] for match in found)
    yield from best.items()


def _worth(text: str, start: int, end: int, first: Found, second: Found) -> float:
    if INTERACTION.search(text, first.end, second.start):
        return 2.0
    if INTERACTION.search(text, start, end):
        return 1.0
    return 0.5 if REGULATION.search(text, start, end) else 0.25


def pairs(scores: Mapping[AccessionPair, float]) -> list[Pair]:
    """Return the best pairs as IPT hits; confidence is score / (1 + score)."""
    ordered = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:MAX_PAIRS]
    return [
        {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": score / (1 + score)}
        for rank, ((a, b), score) in enumerate(ordered, start=1)
        if rank == 1 or score / (1 + score) >= MIN_CONFIDENCE
    ]


def annotate(dictionary: ProteinNames, text: str) -> Answer:
    """Answer all three tasks.

    INT: a protein counts in full where it is in a pair that is sent, and for a quarter elsewhere.
    ACT: relevant if the best pair's confidence is above 0.5.
    """
    found = dictionary.find(text)
    hits = pairs(pair_scores(text, found))
    in_pairs = {accession for hit in hits for accession in (hit["dbid_a"], hit["dbid_b"])}
    scores = {
        accession: score if accession in in_pairs else score / 4
        for accession, score in protein_scores(text, found).items()
    }
    confidence = max((hit["confidence"] for hit in hits), default=0.0)
    return {
        "interaction": [confidence > 0.5, max(confidence, 1 - confidence)],
        "normalizations": normalizations(scores),
        "pairs": hits,
    }
