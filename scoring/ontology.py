"""A concept hierarchy and the similarity of its concepts.

OBO files need no library here: the measure uses identifiers and `is_a` only. The tests compare this
reader with pronto.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from scoring.errors import Problems
from scoring.text import Source, read_lines, rereadable

WANG_WEIGHT = 0.65
"""The weight of an is_a link in the Bacteria Biotope tasks (Deléger et al. 2016)."""

_TAG = re.compile(r"(id|is_a|alt_id|is_obsolete):\s*(\S+)")


class Ontology:
    """Concepts and their parents; a concept that is not in it has no parent and is its own root."""

    def __init__(
        self,
        parents: Mapping[str, Collection[str]],
        *,
        alternatives: Mapping[str, str] | None = None,
    ) -> None:
        self._parents = parents
        self._alternatives = alternatives or {}
        self._contributions: dict[str, dict[str, float]] = {}
        self._similarities: dict[tuple[str, str], float] = {}

    def afresh(self) -> Ontology:
        """Return the same hierarchy without what was computed of it so far, which is kept."""
        return Ontology(self._parents, alternatives=self._alternatives)

    def current(self, concept: str) -> str:
        """Return the concept that an alternative identifier stands for; else the same."""
        return self._alternatives.get(concept, concept)

    def contributions(self, concept: str) -> dict[str, float]:
        """Return S of the concept (1) and of each ancestor: 0.65 ^ links on the shortest path.

        Wang et al. 2007 (doi:10.1093/bioinformatics/btm087), equation 1: S of a parent is the
        largest 0.65 · S of its children on the way; all links are is_a here.
        """
        if concept not in self._contributions:
            values: dict[str, float] = {}
            level, value = {concept}, 1.0
            while level and value:  # beyond 1,700 links it is 0
                values.update(dict.fromkeys(level, value))
                level = {
                    parent for child in level for parent in self._parents.get(child, ())
                } - values.keys()
                value *= WANG_WEIGHT
            self._contributions[concept] = values
        return self._contributions[concept]

    def similarity(self, a: str, b: str) -> float:
        """Return the similarity of two concepts, in [0, 1]: 1 for the same, 0 without an ancestor.

        Wang et al. 2007, equation 3: the contributions to both over the common ancestors, divided
        by all contributions to either.
        """
        a, b = sorted((self.current(a), self.current(b)))
        if (a, b) not in self._similarities:
            one, other = self.contributions(a), self.contributions(b)
            common = math.fsum(one[name] + other[name] for name in one.keys() & other.keys())
            total = math.fsum([*one.values(), *other.values()])
            self._similarities[a, b] = 1.0 if a == b else common / total
        return self._similarities[a, b]

    def set_similarity(self, a: Collection[str], b: Collection[str]) -> float:
        """Return the similarity of two sets of concepts, in [0, 1]; 0 where either is empty.

        Each concept's best match in the other set, averaged over both sets (best-match average).
        """
        if not a or not b:
            return 0.0
        best = math.fsum(max(self.similarity(x, y) for y in b) for x in a)
        best += math.fsum(max(self.similarity(x, y) for x in a) for y in b)
        return best / (len(a) + len(b))


def read_ontology(path: Source | str) -> Ontology:
    r"""Read `child<TAB>parent` lines or an OBO file, recognized by content; either may be gzip.

    Raises `FormatError` with every line that is neither.

    >>> _ = Path("habitats.tsv").write_text("OBT:2\tOBT:1\nOBT:3\tOBT:2\n")
    >>> round(read_ontology("habitats.tsv").similarity("OBT:3", "OBT:2"), 2)
    0.73
    """
    lines = list(read_lines(rereadable(path)))
    if any(line.strip() == "[Term]" for line in lines):
        return _read_obo(lines)
    return Ontology(_grouped(_read_pairs(str(path), lines)))


def _read_pairs(path: str, lines: Iterable[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    problems = Problems()
    for number, line in enumerate(lines, start=1):
        match line.split("\t"):
            case [child, parent] if child and parent and child != parent:
                pairs.append((child, parent))
            case _:
                expected = "expected child<TAB>parent, or an OBO file"
                problems.add(path, number, 0, f"{line[:60]!r}; {expected}")
    if not pairs and not problems:
        problems.add(path, 0, 0, "empty; expected child<TAB>parent, or an OBO file")
    problems.finish()
    return pairs


def _read_obo(lines: Iterable[str]) -> Ontology:
    """Take `is_a` and `alt_id` of the terms that are not obsolete (OBO format 1.2 and 1.4)."""
    pairs: list[tuple[str, str]] = []
    alternatives: dict[str, str] = {}
    for term in _terms(lines):
        if term["is_obsolete"] == ["true"] or not term["id"]:
            continue
        [concept] = term["id"][:1]
        pairs += [(concept, parent) for parent in term["is_a"]]
        alternatives.update(dict.fromkeys(term["alt_id"], concept))
    return Ontology(_grouped(pairs), alternatives=alternatives)


def _terms(lines: Iterable[str]) -> Iterator[defaultdict[str, list[str]]]:
    term: defaultdict[str, list[str]] = defaultdict(list)
    inside = False
    for line in [*lines, "[End]"]:
        if line.startswith("["):
            if inside:
                yield term
            term, inside = defaultdict(list), line.strip() == "[Term]"
        elif found := _TAG.match(line):
            term[found[1]].append(found[2])


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    parents: defaultdict[str, set[str]] = defaultdict(set)
    for child, parent in pairs:
        parents[child].add(parent)
    return dict(parents)
