"""Intake of source files' records: checked, and kept on disk as numbers until all are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from metaserver.uniprot.bits import prefixes_of
from metaserver.uniprot.codec import ENTRY_NAME, MALFORMED, Codes, cluster_keys, encode, name_key
from metaserver.uniprot.directory import NamesWriter
from metaserver.uniprot.sources import SourceFile
from metaserver.uniprot.sources.reader import Deleted, Membership, ProteinEntry, Secondary
from metaserver.uniprot.sources.tables import expected
from metaserver.uniprot.sources.taxonomy import Taxonomy
from metaserver.uniprot.spill import Spill

_BATCH = 50_000
_BUCKETS = 128


class Intake:
    """Takes in the records file by file; it keeps its data in `directory`.

    Names are spread over buckets by their hash, so that homonyms meet in one bucket. With a
    `writer`, entries go there too.
    """

    def __init__(self, directory: Path, writer: NamesWriter | None = None) -> None:
        self._writer = writer

        def spill(name: str, width: int) -> Spill:
            return Spill(directory / f"{name}.spill", width)

        self.live = spill("live", 1)
        self.deleted = spill("deleted", 1)
        self.taxa = spill("taxa", 2)
        self.clusters = spill("clusters", 2)
        self.secondaries = spill("secondaries", 2)
        self.entry_names = spill("entry_names", 2)
        self.genes = spill("genes", 2)
        self.names = [spill(f"names{i}", 2) for i in range(_BUCKETS)]
        self.prefixes = np.empty(0, np.int32)
        self.taxonomy = Taxonomy()

    def take(self, source: SourceFile, records: Iterable[Any]) -> int:
        """Take all of a file's records, which have the same type, and return their number."""
        count = 0
        for batch in _batches(records):
            self._add(source, batch)
            count += len(batch)
        return count

    def _add(self, source: SourceFile, batch: Any) -> None:
        if isinstance(batch, np.ndarray):
            self._put(self.live, batch)
            return
        match batch[0]:
            case ProteinEntry():
                self._entries(source, batch)
            case Secondary():
                self._secondaries(source, batch)
            case Deleted():
                self._deleted(source, batch)
            case Membership():
                self._memberships(source, batch)
            case _:
                self.taxonomy.add(batch)

    def _put(self, spill: Spill, codes: Codes) -> None:
        self.prefixes = np.union1d(self.prefixes, prefixes_of(codes))
        spill.add(codes)

    def _entries(self, source: SourceFile, batch: Sequence[ProteinEntry]) -> None:
        codes = _codes(source, batch, [entry.accession for entry in batch])
        self._put(self.live, codes)
        taxa = [entry.taxon or self.taxonomy.taxon(entry.organism) for entry in batch]
        self._pairs(self.taxa, codes, np.array(taxa, np.int64))
        self._pairs(self.clusters, codes, _clusters(source, batch))
        keys = np.array([name_key(entry.entry_name) for entry in batch], np.int64)
        with_name = np.flatnonzero(keys > 0)
        self.entry_names.add(np.stack([keys[with_name], codes[with_name]], axis=1))
        self._genes(codes, batch)
        self._names(codes, batch)
        if self._writer:
            self._writer.add(batch, taxa)
        merged = [
            Secondary(entry.line, secondary, entry.accession)
            for entry in batch
            for secondary in entry.secondaries
        ]
        self._secondaries(source, merged)

    def _genes(self, codes: Codes, batch: Sequence[ProteinEntry]) -> None:
        """Keep the gene ids of reviewed entries: a gene has dozens of unreviewed entries."""
        pairs = [
            (gene, code)
            for entry, code in zip(batch, codes.tolist(), strict=True)
            if entry.genes and (not entry.entry_name or ENTRY_NAME.fullmatch(entry.entry_name))
            for gene in entry.genes
        ]
        self.genes.add(np.array(pairs, np.int64).reshape(-1, 2))

    def _names(self, codes: Codes, batch: Sequence[ProteinEntry]) -> None:
        hashed = [
            (_hash(name), code)
            for entry, code in zip(batch, codes.tolist(), strict=True)
            for name in {name.casefold() for name in entry.names}
            if len(name) > 1 and not name.isdecimal()
        ]
        rows = np.array(hashed, np.int64).reshape(-1, 2)
        bucket = rows[:, 0] % _BUCKETS
        for i in np.unique(bucket).tolist():
            self.names[i].add(rows[bucket == i])

    def _secondaries(self, source: SourceFile, batch: Sequence[Secondary]) -> None:
        secondary_codes = _codes(source, batch, [record.accession for record in batch])
        successor_codes = _codes(source, batch, [record.successor for record in batch])
        self.secondaries.add(np.stack([secondary_codes, successor_codes], axis=1))

    def _deleted(self, source: SourceFile, batch: Sequence[Deleted]) -> None:
        self._put(self.deleted, _codes(source, batch, [record.accession for record in batch]))

    def _memberships(self, source: SourceFile, batch: Sequence[Membership]) -> None:
        codes = _codes(source, batch, [record.accession for record in batch])
        self._pairs(self.clusters, codes, _clusters(source, batch))

    @staticmethod
    def _pairs(spill: Spill, codes: Codes, values: Codes) -> None:
        """Keep the values that are not 0 (unknown)."""
        nonzero = values != 0
        spill.add(np.stack([codes[nonzero], values[nonzero]], axis=1))

    def close(self) -> None:
        """Remove the files."""
        for spill in (
            self.live,
            self.deleted,
            self.taxa,
            self.clusters,
            self.secondaries,
            self.entry_names,
            self.genes,
            *self.names,
        ):
            spill.close()


def _codes(source: SourceFile, batch: Sequence[Any], accessions: Sequence[str]) -> Codes:
    codes = encode(accessions)
    if codes.size and codes.min() == MALFORMED:
        wrong = int(np.argmin(codes))
        raise source.error(expected(accessions[wrong]), batch[wrong].line)
    return codes


def _clusters(source: SourceFile, batch: Sequence[ProteinEntry | Membership]) -> Codes:
    """Return each record's cluster key, 0 without a cluster."""
    keys = cluster_keys([record.cluster for record in batch])
    for place in np.flatnonzero(keys == 0).tolist():
        if cluster := batch[place].cluster:
            message = f"expected a UniRef50 cluster, got {cluster[:40]!r}"
            raise source.error(message, batch[place].line)
    return keys


def _hash(name: str) -> int:
    """Return a name's 63-bit hash, the same in every build."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


def _batches(records: Iterable[Any]) -> Iterator[Any]:
    """Yield records in lists; arrays of codes are batches already."""
    iterator = iter(records)
    for first in iterator:
        yield first if isinstance(first, np.ndarray) else [first, *islice(iterator, _BATCH - 1)]
