"""Proteins and mutations of a text: masked, and counted by sentence for the relevance baseline."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

from annotators.baselines.sentences import INTERACTION, REGULATION, sentences
from annotators.matching import Dictionary

PROTEIN, MUTATION = "geneprot", "mutprot"  # what stands in a masked text

_LETTER = "[ACDEFGHIKLMNPQRSTVWY]"
_CODE = "(?:Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val)"
SUBSTITUTION = re.compile(
    rf"\b(?:p\.)?(?:{_LETTER}[1-9]\d{{0,3}}(?:{_LETTER}|X)|{_CODE}-?\d{{1,4}}-?(?:{_CODE}|Ter|Stop))\b"
)
"""A substitution as it is written: `R175H`, `p.Arg175His`."""
CHANGE = re.compile(
    r"\b(?:mutat|mutant|variant|polymorphi|substitut|delet|truncat|missense|allele|knock)\w*",
    re.IGNORECASE,
)
"""Words that state a changed protein."""


class TextEntity(NamedTuple):
    """A protein or a mutation, from `start` up to `end`."""

    start: int
    end: int
    kind: str


Key: TypeAlias = tuple[str, int, int, int]
BODY: list[Key] = [("sentence", *places) for places in product(range(3), range(3), range(3))]
TITLE: list[Key] = [("title", *places) for places in product(range(3), range(3), range(2))]
WHOLE: list[Key] = [(name, 0, 0, 0) for name in ("between", "names", "mutations")]
COUNTED = {key: place for place, key in enumerate([*BODY, *TITLE, *WHOLE])}
"""The counts, each with its place: sentences of the article and of its title by three marks.

The marks are the proteins in it (none, one, more), its words (none, regulation, interaction), and
mutations (none, a word, a substitution). Besides: interactions stated between two proteins, the
names, the substitutions.
"""


def entities(known: Dictionary, text: str) -> list[TextEntity]:
    """Return proteins and mutations by position, without overlaps."""
    found = [TextEntity(match.start, match.end, PROTEIN) for match in known.find(text)]
    found += [TextEntity(*match.span(), MUTATION) for match in SUBSTITUTION.finditer(text)]
    found.sort(key=lambda one: (one.start, one.kind == PROTEIN, -one.end))
    kept: list[TextEntity] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def masked(text: str, found: Sequence[TextEntity]) -> str:
    """Return a text with a word of its kind for each entity."""
    parts: list[str] = []
    before = 0
    for start, end, kind in found:
        parts += (text[before:start], " ", kind, " ")
        before = end
    return "".join((*parts, text[before:]))


def sentence_counts(text: str, found: Sequence[TextEntity]) -> Counter[int]:
    """Count what `COUNTED` has, by its place there."""
    title_end = len(text.partition("\n")[0])
    counts: Counter[Key] = Counter()
    for start, end, inside in _by_sentence(text, found):
        proteins = [one for one in inside if one.kind == PROTEIN]
        several = min(len({text[one.start : one.end].lower() for one in proteins}), 2)
        words = _words(text, start, end)
        changed = 2 if len(proteins) < len(inside) else int(bool(CHANGE.search(text, start, end)))
        counts["sentence", several, words, changed] += 1
        if start < title_end:
            counts["title", several, words, min(changed, 1)] += 1
        if several == 2 and any(
            INTERACTION.search(text, one.end, other.start) for one, other in pairwise(proteins)
        ):
            counts["between", 0, 0, 0] += 1
    names = {text[one.start : one.end].lower() for one in found if one.kind == PROTEIN}
    counts["names", 0, 0, 0] = len(names)
    counts["mutations", 0, 0, 0] = sum(one.kind == MUTATION for one in found)
    return Counter({COUNTED[key]: count for key, count in counts.items() if count})


def _by_sentence(
    text: str, found: Sequence[TextEntity]
) -> Iterator[tuple[int, int, list[TextEntity]]]:
    starts = [one.start for one in found]
    for start, end in sentences(text):
        inside = slice(bisect_left(starts, start), bisect_left(starts, end))
        yield start, end, list(found[inside])


def _words(text: str, start: int, end: int) -> int:
    if INTERACTION.search(text, start, end):
        return 2
    return int(bool(REGULATION.search(text, start, end)))
