"""Writing `names.sqlite`, the names of a release's reviewed entries.

Unreviewed entries are left out: they are hundreds of times as many, their names were made by
programs, and a curator hardly ever means one.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from metaserver.uniprot.folding import folded, words
from metaserver.uniprot.names import ENTRY_NAME
from metaserver.uniprot.sources.records import ProteinEntry

NAMES = "names.sqlite"
NAMES_FORMAT = 2
MOST_LETTERS = 100
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
                    _joined(_protein_names(entry)),
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
            long = {spelling for spelling in long if len(spelling) <= MOST_LETTERS}
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


def _protein_names(entry: ProteinEntry) -> Sequence[str]:
    """Return the names without the symbols, which come last."""
    return entry.names[: len(entry.names) - len(entry.symbols)]
