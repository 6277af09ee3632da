"""Names of proteins found in a text: the matcher of the baselines, and of the hub's pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple, Protocol

GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
}
TOKEN = re.compile(rf"[A-Za-z]+|[0-9]+|[{''.join(GREEK)}]")
# "TNFalpha", "TNF-alpha" and "TNF-α" are one name
GREEK_TAIL = re.compile(r"(?<=[a-z]{2})(?=(?:alpha|beta|gamma|delta|epsilon|zeta|kappa)$)")
JOINTS = frozenset(("", " ", "-", "/", "\n", "\u2010", "\u2011"))
"""The strings that may separate two tokens of one name."""

AMBIGUOUS = frozenset(
    line
    for line in (files("annotators") / "data" / "ambiguous_names.txt")
    .read_text("utf-8")
    .split("\n")
    if line and not line.startswith("#")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Protein:
    """A protein with its names; the first of `symbols` is its gene's primary symbol."""

    accession: str
    names: tuple[str, ...]
    symbols: tuple[str, ...]


class Name(NamedTuple):
    """One spelling of a protein's name: `weight` is its reliability, in ]0, 1]."""

    accession: str
    surface: str
    symbol: bool
    weight: float


class Found(NamedTuple):
    """A name found in a text, from `start` up to `end`, and the accessions it may stand for."""

    start: int
    end: int
    weights: Mapping[str, float]


class ProteinNames(Protocol):
    """Names of proteins that are found in texts: a `Dictionary`, or those of a release."""

    def find(self, text: str) -> list[Found]:
        """Return the names in the text by position, without overlaps."""


class Dictionary:
    """A dictionary of protein names, found in a text with one Aho-Corasick pass.

    Names match whole words; hyphens, spaces and Greek letters may differ. A symbol without a digit
    must also match in case, since most are words as well.
    """

    def __init__(self, proteins: Iterable[Protein]) -> None:
        import ahocorasick  # commands that look for no names start without it

        names: defaultdict[str, list[Name]] = defaultdict(list)
        for protein in proteins:
            for name in names_of(protein):
                names[key_of(name.surface)].append(name)
        self._automaton = ahocorasick.Automaton()
        for key, meanings in names.items():
            self._automaton.add_word(key, (len(key), tuple(meanings)))
        self._automaton.make_automaton()

    def find(self, text: str) -> list[Found]:
        """Return the names in the text by position: the longest wherever several overlap."""
        found = sorted(self._matches(text), key=lambda match: (match.start, -match.end))
        kept: list[Found] = []
        for match in found:
            if not kept or match.start >= kept[-1].end:
                kept.append(match)
        return kept

    def _matches(self, text: str) -> Iterator[Found]:
        if not len(self._automaton):
            return  # an empty one cannot be asked
        normal, starts, ends = _normalize(text)
        for last, (length, meanings) in self._automaton.iter(normal):
            start, end = starts.get(last - length + 2), ends.get(last)
            if start is None or end is None:  # within a token that was split at a Greek letter
                continue
            if text[start - 1 : start].isalnum() or text[end : end + 1].isalnum():
                continue
            if weights := weights_of(meanings, text[start:end]):
                yield Found(start, end, weights)


def names_of(protein: Protein) -> Iterator[Name]:
    """Yield the names by which a protein is looked for; ambiguous ones are left out."""
    for place, symbol in enumerate(protein.symbols):
        if len(symbol) > 2 and symbol.lower() not in AMBIGUOUS:
            yield Name(protein.accession, symbol, True, 1.0 if place == 0 else 0.7)
    for place, name in enumerate(protein.names):
        short = name.partition(", ")[0]
        if len(short) > 4 and short.lower() not in AMBIGUOUS:
            yield Name(protein.accession, short, False, 1.0 if place == 0 else 0.8)
        elif len(short) > 2 and short.lower() not in AMBIGUOUS:
            yield Name(protein.accession, short, True, 0.6)


def weights_of(meanings: Sequence[Name], written: str) -> Mapping[str, float]:
    """Return the proteins that a name as written may denote; a shared name weighs less for each."""
    best: dict[str, float] = {}
    for name in meanings:
        if _same_case(name, written):
            best[name.accession] = max(name.weight, best.get(name.accession, 0.0))
    top = max(best.values(), default=0.0)
    leading = {accession: weight for accession, weight in best.items() if weight == top}
    return {accession: weight / len(leading) for accession, weight in leading.items()}


def _same_case(name: Name, written: str) -> bool:
    if name.surface == written:
        return True
    if any(character.isdigit() for character in written):
        return True
    if name.symbol:
        return any(character.isupper() for character in written[1:])
    return len(written) > 6 or written[0].isupper()


def _normalize(text: str) -> tuple[str, dict[int, int], dict[int, int]]:
    """Return the text's tokens between single spaces, and where tokens start and end in it.

    The two maps go from places in the normal form (a token's first character; the space after
    its last) to places in the text. A bar stands where no name can go on.
    """
    parts: list[str] = [" "]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    place, before = 1, 0
    for match in TOKEN.finditer(text):
        if text[before : match.start()] not in JOINTS:
            parts.append("| ")
            place += 2
        token = _fold(match.group())
        starts[place] = match.start()
        place += len(token)
        ends[place] = before = match.end()
        parts += (token, " ")
        place += 1
    return "".join(parts), starts, ends


def _fold(token: str) -> str:
    return GREEK_TAIL.sub(" ", GREEK.get(token, token.lower()))


def key_of(name: str) -> str:
    """Return a name as names are compared: its tokens in lower case between blanks."""
    return " " + " ".join(_fold(token) for token in TOKEN.findall(name)) + " "
