"""Terms of the PSI-MI vocabulary that this hub uses: those that files name, and the branches.

The vocabulary is the hub's own, or that of the OBO file in the settings (`curation.psi_mi`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from metaserver.base.errors import InputError

MOST_BYTES = 16 * 2**20
"""The most bytes of an OBO file; that of 2021 has 0.7 MiB."""
MOST_TERMS = 20_000
MOST_NAMES, LONGEST_NAME = 100, 300
"""The most names of a term, and their most characters."""
MOST_PARENTS = 20
METHOD, TYPE, IDENTIFICATION = "MI:0001", "MI:0190", "MI:0002"
EXPERIMENTAL_ROLE, BIOLOGICAL_ROLE, FEATURE = "MI:0495", "MI:0500", "MI:0116"
ROOTS: Mapping[str, str] = {
    "method": METHOD,
    "type": TYPE,
    "identification": IDENTIFICATION,
    "experimental-role": EXPERIMENTAL_ROLE,
    "biological-role": BIOLOGICAL_ROLE,
    "feature": FEATURE,
}
"""The branches that curators choose from, by name: the terms under a root."""
_ID = re.compile(r"MI:[0-9]{4}", re.ASCII)
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)" ')
_DATE = re.compile(r"(\d\d):(\d\d):(\d{4})", re.ASCII)
_SHORT = " PSI-MI-short "
_SIGNS = re.compile(r"[^a-z0-9]+")
_ENDING = re.compile(r"(?:ations?|ated|ating|ates?|ions?|ing|ed|es|s)$")
_TABLE = "psi_mi_terms.tsv"


class Term(NamedTuple):
    """A term of PSI-MI: its id, `MI:0019`, and its name."""

    id: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A term with its parents' ids and its synonyms, of which the first may be its short label."""

    term: Term
    parents: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its synonyms."""
        return (self.term.name, *self.synonyms)


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """All terms by id; `version` is the date of their OBO file."""

    version: str
    entries: Mapping[str, Entry]

    @cached_property
    def _branches(self) -> Mapping[str, Mapping[str, Term]]:
        children: dict[str, list[str]] = {}
        for entry in self.entries.values():
            for parent in entry.parents:
                children.setdefault(parent, []).append(entry.term.id)
        result = {}
        for root in ROOTS.values():
            below, remaining = {root}, [root]
            while remaining:
                further = [key for key in children.get(remaining.pop(), ()) if key not in below]
                below.update(further)
                remaining.extend(further)
            terms = (self.entries[key].term for key in below - {root})
            ordered = sorted(terms, key=lambda term: term.name.lower())
            result[root] = {term.id: term for term in ordered}
        return result

    def under(self, root: str) -> Mapping[str, Term]:
        """Return the terms of a branch by id, in the order of their names."""
        return self._branches[root]

    def branch(self, root: str) -> Sequence[Entry]:
        """Return the terms of a branch with their synonyms, in the order of their names."""
        return [self.entries[key] for key in self._branches[root]]

    def ancestors(self, key: str) -> Iterator[str]:
        """Yield a term's id and those above it, the nearest first."""
        visited, level = {key}, [key]
        while level:
            yield from level
            above = [
                parent
                for term in level
                if term in self.entries
                for parent in self.entries[term].parents
            ]
            level = [term for term in dict.fromkeys(above) if term not in visited]
            visited.update(level)

    def search(self, root: str, words: str, *, limit: int = 20) -> Sequence[Entry]:
        """Return the terms of a branch with words in a name: the same, at its start, as words, in.

        Words of signs alone find nothing.
        """
        if not (wanted := folded(words)):
            return []
        ranked = []
        for key, term in self.under(root).items():
            entry = self.entries[key]
            rank = min(_rank(wanted, folded(name)) for name in (key, *entry.names))
            if rank < _UNLIKE:
                ranked.append((rank, len(term.name), term.name, entry))
        ranked.sort(key=lambda ranking: ranking[:3])
        return [entry for *_, entry in ranked[:limit]]

    def named(self, root: str, name: str) -> str:
        """Return the id of a branch's term by a name, or by the beginning of names of its alone.

        Names are those of the term and its synonyms; other texts are returned as they are.
        """
        wanted, by_name = folded(name), self._by_name[root]
        if not wanted or wanted in by_name:
            return by_name.get(wanted, name)
        keys = {key for full_name, key in by_name.items() if full_name.startswith(wanted)}
        return keys.pop() if len(keys) == 1 else name

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, str]]:
        result = {}
        for root in self._branches:
            entries = self.branch(root)
            synonyms = {folded(name): entry.term.id for entry in entries for name in entry.synonyms}
            result[root] = synonyms | {folded(entry.term.name): entry.term.id for entry in entries}
        return result

    def proposed(self, root: str, sentence: str, *, limit: int = 3) -> Sequence[Entry]:
        """Return the terms of a branch that a sentence names, those with the longest name first.

        The ends of words do not matter: `coimmunoprecipitated` names coimmunoprecipitation.
        """
        words = f" {_stemmed(sentence[:5_000])} "
        result = []
        for key in self.under(root):
            entry = self.entries[key]
            names = [name for name in map(_stemmed, entry.names) if len(name) > 2]
            here = [name for name in names if f" {name} " in words]
            if here:
                result.append((-max(map(len, here)), entry.term.name, entry))
        return [entry for *_, entry in sorted(result, key=lambda ranking: ranking[:2])[:limit]]


_UNLIKE = 4


def _rank(wanted: str, name: str) -> int:
    if name == wanted:
        return 0
    if name.startswith(wanted):
        return 1
    if f" {wanted}" in f" {name}":
        return 2
    if wanted in name:
        return 3
    plain, squeezed = name.replace(" ", ""), wanted.replace(" ", "")
    return 1 if plain.startswith(squeezed) else 3 if squeezed in plain else _UNLIKE


def folded(text: str) -> str:
    """Return a name as it is compared: small letters and digits, with single blanks for signs."""
    return _SIGNS.sub(" ", text.lower()).strip()


def _stemmed(text: str) -> str:
    words = folded(text).replace("co immuno", "coimmuno").split()
    return " ".join(_ENDING.sub("", word) if len(word) > 5 else word for word in words)


@cache
def built_in() -> Vocabulary:
    """Return the vocabulary that the hub has of itself."""
    table = (files("metaserver") / "curation" / _TABLE).read_text("utf-8")
    version, entries = "", {}
    for line in table.splitlines():
        if line.startswith("#"):
            version = version or line.rpartition(" ")[2]
            continue
        key, name, parents, *synonyms = line.split("\t")
        entries[key] = Entry(
            term=Term(key, name), parents=tuple(parents.split()), synonyms=tuple(synonyms)
        )
    return Vocabulary(version=version, entries=entries)


def read_obo(path: Path) -> Vocabulary:
    """Return the vocabulary of an OBO file; `InputError`, with the line, if it is none.

    Obsolete terms and terms of other vocabularies are left out. Size, terms, names and parents are
    bounded.

    Example: a term is `[Term]`, `id: MI:0018`, `name: two hybrid`, a line each.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise InputError(path, f"more than {MOST_BYTES:,} bytes; expected the file of PSI-MI")
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8; expected an OBO file") from error
    version, entries = "", {}
    for number, stanza in _stanzas(lines):
        if not number:
            said = next((value for tag, value in stanza if tag in {"date", "data-version"}), "")
            version = _DATE.sub(r"\3-\2-\1", said.split(" ")[0][:40])
        elif entry := _entry(path, number, stanza):
            entries[entry.term.id] = entry
            if len(entries) > MOST_TERMS:
                raise InputError(path, f"more than {MOST_TERMS:,} terms", line=number)
    if missing := sorted(set(ROOTS.values()) - entries.keys()):
        raise InputError(path, f"no term {', '.join(missing)}; expected the OBO file of PSI-MI")
    return Vocabulary(version=version, entries=entries)


def _stanzas(lines: Sequence[str]) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield the header, with the number 0, and the terms, each with the number of its line."""
    start, kind, result = 0, "", list[tuple[str, str]]()
    for number, line in enumerate((*lines, "["), start=1):
        if line.startswith("["):
            if kind in {"", "[Term]"}:
                yield start, result
            start, kind, result = number, line.strip(), []
        else:
            tag, colon, value = line.partition(": ")
            if colon:
                result.append((tag, value.strip()))


def _entry(path: Path, number: int, stanza: Iterable[tuple[str, str]]) -> Entry | None:
    """Return a stanza's term; None for a term that is obsolete, or no term of PSI-MI."""
    key, name, parents, synonyms = "", "", list[str](), list[str]()
    for tag, value in stanza:
        match tag:
            case "is_obsolete":
                return None
            case "id":
                key = value
            case "name":
                name = value
            case "is_a":
                parents.append(value.split(" ", 1)[0])
            case "synonym" if result := _SYNONYM.match(value[: 2 * LONGEST_NAME]):
                short = _SHORT in f"{value} "
                synonyms.insert(0 if short else len(synonyms), result[1].replace('\\"', '"'))
    if not _ID.fullmatch(key):
        return None
    names = list(dict.fromkeys((name, *synonyms)))
    wrong = [text for text in names if not 0 < len(text) <= LONGEST_NAME or not text.isprintable()]
    if wrong or len(names) > MOST_NAMES:
        message = f"{key}: expected at most {MOST_NAMES} names of 1 to {LONGEST_NAME} characters"
        raise InputError(path, message, line=number)
    above = tuple(parent for parent in dict.fromkeys(parents) if _ID.fullmatch(parent))
    if len(above) > MOST_PARENTS:
        raise InputError(path, f"{key}: more than {MOST_PARENTS} parents", line=number)
    return Entry(term=Term(key, name), parents=above, synonyms=tuple(names[1:]))


def to_table(vocabulary: Vocabulary) -> str:
    """Return a vocabulary as `psi_mi_terms.tsv` has it: id, name, parents, synonyms."""
    origin = "the PSI-MI controlled vocabulary (HUPO-PSI/psi-mi-CV, CC BY 4.0)"
    lines = [f"# Ids, names, parents and synonyms of {origin} of {vocabulary.version}"]
    for key in sorted(vocabulary.entries):
        entry = vocabulary.entries[key]
        lines.append("\t".join((key, entry.term.name, " ".join(entry.parents), *entry.synonyms)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name(_TABLE).write_text(to_table(read_obo(Path(sys.argv[1]))), "utf-8")


UNSPECIFIED_METHOD = Term("MI:0686", "unspecified method")
BAIT = Term("MI:0496", "bait")
ENZYME = Term("MI:0501", "enzyme")
SPOKE = Term("MI:1060", "spoke expansion")
PHYSICAL_ASSOCIATION = Term("MI:0915", "physical association")
PROTEIN = Term("MI:0326", "protein")
UNIPROT = Term("MI:0486", "uniprotkb")
PUBMED = Term("MI:0446", "pubmed")
PUBMED_CENTRAL = Term("MI:1042", "pubmed central")
DOI = Term("MI:0574", "doi")
PSI_MI = Term("MI:0488", "psi-mi")
IDENTITY = Term("MI:0356", "identity")
PRIMARY_REFERENCE = Term("MI:0358", "primary-reference")
GENE_NAME = Term("MI:0301", "gene name")
GENE_SYNONYM = Term("MI:0302", "gene name synonym")
CERTAIN = Term("MI:0335", "certain sequence position")
UNDETERMINED = Term("MI:0339", "undetermined sequence position")
FIGURE = Term("MI:0599", "figure legend")
COMMENT = Term("MI:0612", "comment")
AUTHORS = Term("MI:0636", "author-list")
JOURNAL = Term("MI:0885", "journal")
YEAR = Term("MI:0886", "publication year")

_in_use: list[Vocabulary] = []


def use(vocabulary: Vocabulary | None) -> None:
    """Use a vocabulary in this process; None: the hub's own."""
    _in_use[:] = [] if vocabulary is None else [vocabulary]


def terms() -> Vocabulary:
    """Return the vocabulary that this process uses."""
    return _in_use[0] if _in_use else built_in()


def methods() -> Mapping[str, Term]:
    """Return the interaction detection methods by id, in the order of their names."""
    return terms().under(METHOD)


def types() -> Mapping[str, Term]:
    """Return the interaction types by id, in the order of their names."""
    return terms().under(TYPE)


def type_by_rule(method: str) -> Term:
    """Return the interaction type that follows from a method's id, or from a term above it.

    Two purified partners whose binding is measured interact directly; a modification is named after
    the enzyme's assay; a picture shows colocalization; all else is a physical association.
    """
    rules = _rules()
    ruled = (rules[key] for key in terms().ancestors(method) if key in rules)
    return types().get(next(ruled, ""), PHYSICAL_ASSOCIATION)


@cache
def _rules() -> Mapping[str, str]:
    table = (files("metaserver") / "curation" / "psi_mi_types.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return dict(row[:2] for row in rows)
