"""INT by dictionary: every protein whose name is in the text, the ones it is about first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from annotators.baselines.sentences import INTERACTION, sentences
from annotators.contract import Normalization
from annotators.matching import Found

MAX_HITS = 10
MIN_CONFIDENCE = 0.5


def in_sentences(text: str, found: Sequence[Found]) -> Iterator[tuple[int, int, list[Found]]]:
    """Yield each sentence's start and end with the names that start in it, all by position."""
    place = 0
    for start, end in sentences(text):
        first = place
        while place < len(found) and found[place].start < end:
            place += 1
        yield start, end, list(found[first:place])


def protein_scores(text: str, found: Sequence[Found]) -> dict[str, float]:
    """Return a score > 0 for each accession found.

    Adds up its mentions, more for the title (the first line) and for sentences that state an
    interaction; each further mention counts less.
    """
    title_end = len(text.partition("\n")[0])
    mentions: defaultdict[str, list[float]] = defaultdict(list)
    for start, end, inside in in_sentences(text, found):
        stated = bool(inside) and INTERACTION.search(text, start, end)
        worth = (2.0 if start < title_end else 1.0) * (2.0 if stated else 1.0)
        for match in inside:
            for accession, weight in match.weights.items():
                mentions[accession].append(worth * weight)
    return {accession: _diminishing(worths) for accession, worths in mentions.items()}


def _diminishing(worths: Iterable[float]) -> float:
    return sum(worth / place for place, worth in enumerate(sorted(worths, reverse=True), start=1))


def normalizations(scores: Mapping[str, float]) -> list[Normalization]:
    """Return the best accessions as INT hits; confidence is score / (1 + score)."""
    ordered = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:MAX_HITS]
    return [
        {"dbid": accession, "dbname": "UniProt", "rank": rank, "confidence": score / (1 + score)}
        for rank, (accession, score) in enumerate(ordered, start=1)
        if rank == 1 or score / (1 + score) >= MIN_CONFIDENCE
    ]
