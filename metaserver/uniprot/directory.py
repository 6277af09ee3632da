"""The names for a release's reviewed entries: looked up by accession, symbol and name.

A directory is read from `names.sqlite`, which `metaserver uniprot build --names` writes beside a
release's arrays. Every look-up is bounded: in the text read, the index matches taken, and the
entries returned.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaserver.base.errors import InputError
from metaserver.uniprot.codec import PATTERN
from metaserver.uniprot.folding import folded, words
from metaserver.uniprot.names_writer import NAMES, NAMES_FORMAT, split, taxon_word

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


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEntry:
    """An entry as people know it.

    `names` begins with the recommended name, `symbols` with the primary symbol; `organism` is "" if
    unknown.
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
