"""The names of a release's reviewed entries: written, and looked up by accession, symbol and name.

A directory is read from `names.sqlite`, which `metaserver uniprot build --names` writes beside a
release's arrays. Every look-up is bounded: in the text read, the index matches taken, and the
entries returned.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.errors import InputError
from metaserver.uniprot.codec import ENTRY_NAME, PATTERN
from metaserver.uniprot.sources.reader import ProteinEntry

# -- names as they are compared --------------------------------------------------------------------

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ω": "omega",
}  # fmt: skip
_LETTERS = str.maketrans(GREEK)
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Return a name's words.

    Example: `words("TNF-α (mouse)")` returns `["tnf", "alpha", "mouse"]`.
    """
    return _WORD.findall(text.casefold().translate(_LETTERS))


def folded(text: str) -> str:
    """Return a name as symbols are compared: `TNF-α`, `TNF alpha` and `Tnfalpha` are equal."""
    return "".join(words(text))


# -- writing `names.sqlite`, the names of a release's reviewed entries -----------------------------
# Unreviewed entries are left out: they are hundreds of times as many, their names were made by
# programs, and a curator hardly ever means one.

NAMES = "names.sqlite"
NAMES_FORMAT = 2
MOST_STORED_LETTERS = 100
"""The maximum length of a folded name looked for in texts; longer names are found by their words.
"""

_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE entry (
  id INTEGER PRIMARY KEY, accession TEXT NOT NULL UNIQUE, entry_name TEXT NOT NULL,
  names TEXT NOT NULL, symbols TEXT NOT NULL, taxon INTEGER NOT NULL
);
CREATE TABLE organism (
  taxon INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT '', mnemonic TEXT NOT NULL DEFAULT '',
  entries INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE symbol (
  folded TEXT NOT NULL, taxon INTEGER NOT NULL, entry INTEGER NOT NULL,
  PRIMARY KEY (folded, taxon, entry)
) WITHOUT ROWID;
CREATE TABLE name (
  folded TEXT NOT NULL, taxon INTEGER NOT NULL, entry INTEGER NOT NULL,
  PRIMARY KEY (folded, taxon, entry)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE word USING fts5 (
  text, content = '', detail = 'none', prefix = '3 4', tokenize = 'ascii'
);
"""
_ADD = """
INSERT INTO entry (accession, entry_name, names, symbols, taxon) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (accession) DO UPDATE SET
  entry_name = CASE entry_name WHEN '' THEN excluded.entry_name ELSE entry_name END,
  names = CASE names WHEN '' THEN excluded.names ELSE names END,
  symbols = CASE symbols WHEN '' THEN excluded.symbols ELSE symbols END,
  taxon = CASE taxon WHEN 0 THEN excluded.taxon ELSE taxon END
"""
SEPARATOR = "\t"


class NamesWriter:
    """The names of entries as they are read; `finish` makes the indexes."""

    def __init__(self, directory: Path) -> None:
        self._connection = sqlite3.connect(directory / NAMES, isolation_level=None)
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")

    def add(self, batch: Sequence[ProteinEntry], taxa: Sequence[int]) -> None:
        """Add entries with their taxa; for a repeated entry, what is new."""
        reviewed = [
            (entry, taxon)
            for entry, taxon in zip(batch, taxa, strict=True)
            if not entry.entry_name or ENTRY_NAME.fullmatch(entry.entry_name)
        ]
        self._connection.executemany(
            _ADD,
            (
                (
                    entry.accession,
                    entry.entry_name,
                    _joined(entry.names[: len(entry.names) - len(entry.symbols)]),
                    _joined(entry.symbols),
                    taxon,
                )
                for entry, taxon in reviewed
                if entry.entry_name or entry.names
            ),
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO organism (taxon, name) VALUES (?, ?)",
            {(taxon, entry.organism) for entry, taxon in reviewed if taxon and entry.organism},
        )

    def finish(self, organisms: Mapping[int, str]) -> None:
        """Add organism names that no entry had, and make the indexes."""
        execute = self._connection.execute
        self._connection.executemany(
            "INSERT OR IGNORE INTO organism (taxon, name) SELECT ?, ? WHERE EXISTS"
            " (SELECT 1 FROM entry WHERE taxon = ?)",
            ((taxon, name, taxon) for taxon, name in self._lacking(organisms)),
        )
        entries: Counter[int] = Counter()
        mnemonics: dict[int, str] = {}
        for row in execute("SELECT id, entry_name, names, symbols, taxon FROM entry"):
            number, entry_name, names, symbols, taxon = row
            short = {folded(symbol) for symbol in (entry_name, *split(symbols))} - {""}
            long = {folded(name.partition(", ")[0]) for name in split(names)}
            long = {spelling for spelling in long if len(spelling) <= MOST_STORED_LETTERS}
            self._add_folded("symbol", short, taxon, number)
            self._add_folded("name", long - short - {""}, taxon, number)
            entries[taxon] += 1
            mnemonics.setdefault(taxon, entry_name.partition("_")[2])
            text = dict.fromkeys(words(" ".join((names, symbols, entry_name))))
            text[taxon_word(taxon)] = None
            execute("INSERT INTO word (rowid, text) VALUES (?, ?)", (number, " ".join(text)))
        self._connection.executemany(
            "INSERT INTO organism (taxon, mnemonic, entries) VALUES (?, ?, ?)"
            " ON CONFLICT (taxon) DO UPDATE"
            " SET mnemonic = excluded.mnemonic, entries = excluded.entries",
            ((taxon, mnemonics[taxon], count) for taxon, count in entries.items() if taxon),
        )
        execute("INSERT INTO word (word) VALUES ('optimize')")
        execute(f"PRAGMA user_version = {NAMES_FORMAT}")
        execute("COMMIT")

    def _add_folded(self, table: str, spellings: Iterable[str], taxon: int, entry: int) -> None:
        self._connection.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?)",  # noqa: S608
            ((spelling, taxon, entry) for spelling in sorted(spellings)),
        )

    def _lacking(self, organisms: Mapping[int, str]) -> Iterable[tuple[int, str]]:
        taxa = self._connection.execute("SELECT DISTINCT taxon FROM entry")
        return [(taxon, organisms[taxon]) for (taxon,) in taxa if taxon in organisms]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def taxon_word(taxon: int) -> str:
    """Return the word by which a taxon's entries are found among words."""
    return f"taxid{taxon}"


def split(text: str) -> list[str]:
    """Return the names that a column has."""
    return text.split(SEPARATOR) if text else []


def _joined(names: Iterable[str]) -> str:
    return SEPARATOR.join(" ".join(name.split()) for name in dict.fromkeys(names) if name.split())


# -- the names for a release's reviewed entries: looked up by accession, symbol and name -----------

LEAST_LETTERS = 3
"""The minimum length of a text searched for among words; accessions and symbols need one letter."""
MOST_LETTERS, MOST_WORDS = 200, 8
MOST_FOUND = 100
MOST_MATCHES = 5000
"""How many entries a text's words may match and still be sorted; of more, the first are taken."""
_AT_ONCE = 500

_COLUMNS = "e.accession, e.entry_name, e.names, e.symbols, e.taxon, coalesce(o.name, '')"
_FROM = "FROM entry e LEFT JOIN organism o USING (taxon)"
_BY_SYMBOL = f"""
SELECT {_COLUMNS} {_FROM} JOIN symbol s ON s.entry = e.id
WHERE s.folded = :key AND (:taxon IS NULL OR e.taxon = :taxon)
ORDER BY e.entry_name LIMIT :limit
"""
_BY_WORDS = f"""
SELECT {_COLUMNS} {_FROM}
JOIN (SELECT rowid FROM word WHERE word MATCH :key LIMIT {MOST_MATCHES}) w ON w.rowid = e.id
WHERE :taxon IS NULL OR e.taxon = :taxon
ORDER BY length(e.names), e.entry_name LIMIT :limit
"""  # noqa: S608


class NamedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of UniProt, as people know it.

    `names` begins with the recommended name, `symbols` with the primary symbol; `taxon` is 0 and
    `organism` empty if unknown.
    """

    accession: str
    entry_name: str
    names: tuple[str, ...]
    symbols: tuple[str, ...]
    taxon: int
    organism: str


class NameDirectory:
    """An open directory of names, opened by `NameDirectory.open`. Safe to share among threads."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._lock = threading.Lock()

    @classmethod
    def open(cls, release: Path | str) -> NameDirectory:
        """Open a release directory's names.

        Raises `InputError` if it was built without them, or if they are damaged.
        """
        path = Path(release).resolve() / NAMES
        if not path.is_file():
            raise InputError(path, "no names: build the release with --names")
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        directory = cls(connection, path)
        try:
            directory._check_format()
        except InputError:
            directory.close()
            raise
        return directory

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __len__(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM entry", ())
        return int(count)

    def entries(self, accessions: Iterable[str]) -> Mapping[str, NamedEntry]:
        """Return the entries for primary accessions that have names."""
        valid = [
            accession for accession in dict.fromkeys(accessions) if PATTERN.fullmatch(accession)
        ]
        by_accession: dict[str, NamedEntry] = {}
        for start in range(0, len(valid), _AT_ONCE):
            part = valid[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {_COLUMNS} {_FROM} WHERE e.accession IN ({marks})"
            by_accession |= {
                entry.accession: entry for entry in map(_entry, self._rows(query, part))
            }
        return {
            accession: by_accession[accession] for accession in valid if accession in by_accession
        }

    def search(
        self, text: str, *, taxon: int | None = None, limit: int = 20
    ) -> Sequence[NamedEntry]:
        """Return the entries that a text may mean, at most `limit`.

        First come those with this accession, then those with this symbol or entry name, then those
        whose names have all the text's words, the last perhaps unfinished; shorter names first.
        `taxon` keeps a single organism's entries.

        Example: `directory.search("p53", taxon=9606)` begins with human TP53.
        """
        text = text[:MOST_LETTERS].strip()
        limit = max(0, min(limit, MOST_FOUND))
        exact = self.entries([text.upper()]).values()
        by_accession = {entry.accession: entry for entry in exact if taxon in (None, entry.taxon)}
        for query, key in ((_BY_SYMBOL, folded(text)), (_BY_WORDS, _match(text, taxon))):
            if key and len(by_accession) < limit:
                values = {"key": key, "taxon": taxon, "limit": limit}
                for entry in map(_entry, self._rows(query, values)):
                    by_accession.setdefault(entry.accession, entry)
        return list(by_accession.values())[:limit]

    def _check_format(self) -> None:
        ((version,),) = self._rows("PRAGMA user_version", ())
        if version != NAMES_FORMAT:
            message = f"names of format {version}, expected {NAMES_FORMAT}: build the release again"
            raise InputError(self._path, message)

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise InputError(self._path, f"damaged: {error}") from error


def _entry(row: Sequence[Any]) -> NamedEntry:
    accession, entry_name, names, symbols, taxon, organism = row
    return NamedEntry(
        accession=accession,
        entry_name=entry_name,
        names=tuple(split(names)),
        symbols=tuple(split(symbols)),
        taxon=taxon,
        organism=organism,
    )


def _match(text: str, taxon: int | None) -> str:
    """Return the expression for all words in a text, "" if it has too few letters.

    Words are letters and digits only, and quoted, so they cannot be operators.
    """
    query_words = words(text)[:MOST_WORDS]
    if sum(map(len, query_words)) < LEAST_LETTERS:
        return ""
    last = f'"{query_words[-1]}"' + "*" * (len(query_words[-1]) >= LEAST_LETTERS)
    of_taxon = [] if taxon is None else [f'"{taxon_word(taxon)}"']
    return " AND ".join([*(f'"{word}"' for word in query_words[:-1]), last, *of_taxon])
