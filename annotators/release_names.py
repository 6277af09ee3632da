"""Protein names of a whole UniProt release, looked up in the `names.sqlite` of its directory.

`metaserver uniprot build --names` writes that file (docs/uniprot.md has its tables). Nothing of it
is read before a text needs it, so that a server starts at once and its memory stays small, however
many entries the release has.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from annotators.baselines.sentences import sentences
from annotators.errors import BadInputError
from annotators.matching import GREEK, JOINTS, Found, Name, Protein, key_of, names_of, weights_of
from annotators.organisms import HUMAN, KnownOrganism, OrganismWords, SpeciesOfText

FORMAT = 2
MOST_WORDS = 12  # of a name in a text
MOST_LETTERS = 100  # of a folded name
KEPT = 20_000  # beginnings of names that are remembered: a few megabytes
NO_BOUND = "\U0010ffff"

_WORD = re.compile(r"[^\W_]+")
_GREEK = str.maketrans(GREEK | {"η": "eta", "θ": "theta", "ω": "omega"})
_NEXT = """
SELECT min(folded) FROM (
  SELECT * FROM (SELECT folded FROM symbol WHERE folded >= :folded ORDER BY folded LIMIT 1)
  UNION ALL
  SELECT * FROM (SELECT folded FROM name WHERE folded >= :folded ORDER BY folded LIMIT 1)
)
"""
_MEANINGS = """
SELECT accession, names, symbols, taxon FROM entry WHERE id IN (
  SELECT entry FROM symbol WHERE folded = :folded AND taxon IN ({taxa})
  UNION SELECT entry FROM name WHERE folded = :folded AND taxon IN ({taxa})
)
"""
_ORGANISMS = "SELECT taxon, name, mnemonic, entries FROM organism"


class _ThreadConnection(sqlite3.Connection):
    """A connection of one thread: closed when the thread has ended, or nobody has the names."""

    def __del__(self) -> None:
        self.close()


class ReleaseNames:
    """The names of a release, found in a text with the species that the text means.

    Names match as in `matching.Dictionary`. A name that proteins of several species share stands
    for those of one: the species named nearest before it in its sentence, else the one that the
    text names most often, else `default`; if none of these has the name, it is not found.
    """

    def __init__(self, release: Path, *, default: int = HUMAN) -> None:
        self._path = release / "names.sqlite"
        self._default = default
        self._local = threading.local()
        if not self._path.is_file():
            raise BadInputError(
                release, "no names.sqlite; expected what metaserver uniprot build --names writes"
            )
        ((version,),) = self._rows("PRAGMA user_version")
        if version != FORMAT:
            raise BadInputError(self._path, f"names of format {version}; expected {FORMAT}")
        organisms = [KnownOrganism(*row) for row in self._rows(_ORGANISMS)]
        if default not in {one.taxon for one in organisms}:
            raise BadInputError(self._path, f"no entry of taxon {default}; expected the usual one")
        self.organisms = OrganismWords(organisms)
        self._next = lru_cache(KEPT)(self._read_next)

    def find(self, text: str) -> list[Found]:
        """Return the names in the text by position: the longest wherever several overlap."""
        starts = [start for start, _ in sentences(text)] or [0]
        species = SpeciesOfText(self.organisms.find(text), [0, *starts], self._default)
        kept: list[Found] = []
        words = list(_WORD.finditer(text))
        for place, word in enumerate(words):
            if kept and word.start() < kept[-1].end:
                continue
            found = None
            for end in self._ends(text, words[place : place + MOST_WORDS]):
                found = self._found(text, word.start(), end, species) or found
            if found:
                kept.append(found)
        return kept

    def _ends(self, text: str, words: Sequence[re.Match[str]]) -> Iterator[int]:
        """Yield where names that begin with the first of `words` may end, shorter ones first."""
        spelled = ""
        for place, word in enumerate(words):
            if place and text[words[place - 1].end() : word.start()] not in JOINTS:
                return
            spelled += folded(word[0])
            following = self._next(spelled) if len(spelled) <= MOST_LETTERS else NO_BOUND
            if following == spelled:
                yield word.end()
            elif not following.startswith(spelled):
                return

    def _found(self, text: str, start: int, end: int, species: SpeciesOfText) -> Found | None:
        written = text[start:end]
        meanings = self._meanings(written, species.taxa)
        chosen = species.choose(start, meanings)
        weights = weights_of(meanings[chosen], written) if chosen else {}
        return Found(start, end, weights) if weights else None

    def _meanings(self, written: str, taxa: Sequence[int]) -> Mapping[int, Sequence[Name]]:
        """Return the names that are written so, by the taxa of their proteins."""
        meanings: defaultdict[int, list[Name]] = defaultdict(list)
        query = _MEANINGS.format(taxa=", ".join(f"{taxon:d}" for taxon in taxa))
        key = key_of(written)
        for accession, names, symbols, taxon in self._rows(query, folded=folded(written)):
            protein = Protein(
                accession=accession,
                names=tuple(names.split("\t")) if names else (),
                symbols=tuple(symbols.split("\t")) if symbols else (),
            )
            meanings[taxon] += (one for one in names_of(protein) if key_of(one.surface) == key)
        return {taxon: names for taxon, names in meanings.items() if names}

    def _read_next(self, spelled: str) -> str:
        """Return the first spelling of the release that is `spelled` or comes after it."""
        ((following,),) = self._rows(_NEXT, folded=spelled)
        return following or NO_BOUND

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        try:
            if not hasattr(self._local, "connection"):  # one for each thread that annotates
                self._local.connection = sqlite3.connect(
                    f"{self._path.resolve().as_uri()}?mode=ro&immutable=1",
                    uri=True,
                    check_same_thread=False,
                    factory=_ThreadConnection,
                )
            rows: list[tuple[Any, ...]] = self._local.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise BadInputError(self._path, f"cannot be read as names: {error}") from error
        return rows


def folded(text: str) -> str:
    """Return a name as the release's spellings are: its letters and digits alone, in lower case."""
    return "".join(_WORD.findall(text.casefold().translate(_GREEK)))
