"""Organisms that a text names: scientific and common names, mnemonics, a few further words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

HUMAN = 9606
MANY = 500
"""Entries that an organism has whose common name is one word: `Cat` is hardly ever the animal."""
MOST_WORDS = 3  # of a name in a text
MOST_NAMED = 50  # organisms that are considered for a mention, so that none takes long

WORD = re.compile(r"[^\W_]+")
ENTRY_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Z0-9]{1,10}_([A-Z0-9]{3,5})(?![A-Za-z0-9])")
"""An entry's name in a text, such as `P53_MOUSE`: what follows the line is the mnemonic."""
BRACKETS = re.compile(r" ?\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
NO_NAMES = ("strain", "isolate", "serotype", "serovar", "subsp", "biovar", "pathovar", "type")
"""First words of brackets that have no name of an organism."""


class KnownOrganism(NamedTuple):
    """An organism of a release: `entries` is how many of its proteins the release has."""

    taxon: int
    name: str
    mnemonic: str
    entries: int


class OrganismWord(NamedTuple):
    """A place in a text that names an organism, from `start` up to `end`."""

    start: int
    end: int
    taxon: int


class OrganismWords:
    """The words that name the organisms of a release, looked for in texts.

    Of the organisms that share a word, such as the strains of a species, it names the one with most
    entries.
    """

    def __init__(self, organisms: Iterable[KnownOrganism]) -> None:
        known = sorted(organisms, key=lambda one: (-one.entries, one.taxon))
        self._taxa: dict[str, int] = {}
        self._mnemonics: dict[str, int] = {}
        for one in known:
            if one.mnemonic:
                self._mnemonics.setdefault(one.mnemonic, one.taxon)
        present = {one.taxon for one in known}
        for word, taxa in _further_words():
            if taxon := next((taxon for taxon in taxa if taxon in present), 0):
                self._taxa.setdefault(word, taxon)
        for one in known:
            for name in _names(one):
                if key := _key(WORD.findall(name)):
                    self._taxa.setdefault(key, one.taxon)

    def find(self, text: str) -> list[OrganismWord]:
        """Return the organisms that a text names by position, the longest name of several."""
        found = [
            OrganismWord(match.start(1), match.end(1), self._mnemonics[match[1]])
            for match in ENTRY_NAME.finditer(text)
            if match[1] in self._mnemonics
        ]
        end = 0
        for first in WORD.finditer(text):
            if first.start() < end:
                continue
            if longest := self._longest(text, first.start()):
                found.append(longest)
                end = longest.end
        return sorted(set(found))

    def _longest(self, text: str, start: int) -> OrganismWord | None:
        words: list[str] = []
        longest = None
        end = start
        for match in islice(WORD.finditer(text, start), MOST_WORDS):
            if words and text[end : match.start()] not in {" ", "-", ". ", "\n", ".", "'"}:
                break
            words.append(match[0])
            end = match.end()
            if taxon := self._taxa.get(_key(words)):
                longest = OrganismWord(start, end, taxon)
        return longest


class SpeciesOfText:
    """The species of a text's mentions: what is named nearest before them, else most often.

    `default` is taken for what neither decides.
    """

    def __init__(
        self, named: Sequence[OrganismWord], sentences: Sequence[int], default: int
    ) -> None:
        self._named = named
        self._starts = [word.start for word in named]
        self._sentences = sentences
        counts = Counter(word.taxon for word in named)
        named_most = (taxon for taxon, _ in counts.most_common(MOST_NAMED))
        self.taxa = tuple(dict.fromkeys((*named_most, default)))
        """The species that a mention may be of, the likeliest first."""

    def choose(self, start: int, taxa: Mapping[int, object]) -> int:
        """Return which of `taxa` a mention at `start` is of; 0 for none of them.

        An organism named before it in its sentence comes first, the nearest one; then those of the
        whole text, the one named most often first; then the default.
        """
        sentence = self._sentences[bisect_left(self._sentences, start + 1) - 1]
        place = bisect_left(self._starts, start)
        for word in reversed(self._named[max(0, place - MOST_NAMED) : place]):
            if word.start < sentence:
                break
            if word.taxon in taxa:
                return word.taxon
        return next((taxon for taxon in self.taxa if taxon in taxa), 0)


def _names(organism: KnownOrganism) -> Iterator[str]:
    """Yield an organism's scientific name, its short form, and its common names."""
    scientific = organism.name.partition(" (")[0]
    genus, _, species = scientific.partition(" ")
    if species:
        yield scientific
        if species.isalpha() and len(species) > 3:
            yield f"{genus[:1]}. {species}"
    for inside in BRACKETS.findall(organism.name):
        one_word = " " not in inside
        if inside.partition(" ")[0] not in NO_NAMES and (not one_word or organism.entries >= MANY):
            yield inside


def _key(words: Sequence[str]) -> str:
    return " ".join(words).casefold()


def _further_words() -> Iterator[tuple[str, list[int]]]:
    lines = (files("annotators") / "data" / "organism_words.tsv").read_text("utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            word, *taxa = line.split("\t")
            yield _key(WORD.findall(word)), [int(taxon) for taxon in taxa]
