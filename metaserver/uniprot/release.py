"""A memory-mapped UniProt release, which judges thousands of strings per call.

Opening reads only `META.json` and the list of pages; the kernel loads the memory that look-ups
touch, and shares it among processes. An open release is not affected when its directory is replaced
or removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.uniprot import verdicts
from metaserver.uniprot.bits import Bitmap, EntryBits, bits_at
from metaserver.uniprot.codec import MALFORMED, Codes, decode, encode
from metaserver.uniprot.entries import Entries
from metaserver.uniprot.intent import Intent, entry_name_accession, guess
from metaserver.uniprot.layout import Meta, map_array, read_meta
from metaserver.uniprot.names import name_key
from metaserver.uniprot.pages import PAGE_BYTES, AccessionPages
from metaserver.uniprot.verdicts import AccessionVerdict, Status

Statuses = npt.NDArray[np.uint8]

_PRIMARY, _UNKNOWN = np.uint8(Status.PRIMARY), np.uint8(Status.UNKNOWN)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release:
    """An open release, opened by `Release.open`. Safe to share among threads."""

    directory: Path
    meta: Meta
    bits: EntryBits = field(repr=False)
    entries: Entries = field(repr=False)
    deleted: Bitmap = field(repr=False)
    sec_from: Codes = field(repr=False)
    sec_to: Codes = field(repr=False)
    names: Codes = field(repr=False)
    name_to: Codes = field(repr=False)
    genes: Codes = field(repr=False)
    gene_to: Codes = field(repr=False)

    @classmethod
    def open(cls, directory: Path | str) -> Release:
        """Open a release directory, or the link that `metaserver uniprot use` sets.

        Raises `InputError` naming the path if it is no release, has another format version or is
        damaged.
        """
        meta = read_meta(Path(directory))
        home = Path(directory).resolve()
        counts = meta.counts

        def load(name: str, length: int) -> Any:
            return map_array(home / name, "u1" if name.endswith("bits") else name[-2:], length)

        pages = AccessionPages.of(load("pages.i4", counts.pages))
        size = pages.count * PAGE_BYTES
        bits = EntryBits(
            pages=pages, live=load("live.bits", size), rank64=load("rank64.u4", size // 8)
        )
        return cls(
            directory=home,
            meta=meta,
            bits=bits,
            entries=Entries.mapped(bits, counts, load),
            deleted=load("deleted.bits", size),
            sec_from=load("sec_from.i8", counts.secondary),
            sec_to=load("sec_to.i8", counts.secondary),
            names=load("name.i8", counts.entry_names),
            name_to=load("name_to.i8", counts.entry_names),
            genes=load("gene.i8", counts.genes) if counts.genes else np.empty(0, np.int64),
            gene_to=load("gene_to.i8", counts.genes) if counts.genes else np.empty(0, np.int64),
        )

    @property
    def name(self) -> str:
        """The release's name, such as `2025_04`."""
        return self.meta.name

    def judge(self, strings: Sequence[str]) -> Statuses:
        """Return each string's `Status` as a number: fast, without reasons."""
        return self.statuses(encode(strings))

    def statuses(self, codes: Codes) -> Statuses:
        """Return each code's `Status`."""
        addresses = self.bits.pages.addresses(codes)
        statuses = np.where(bits_at(self.bits.live, addresses) & 1, _PRIMARY, _UNKNOWN)
        absent = statuses.nonzero()[0]
        if absent.size:
            statuses[absent] = self._absent(codes[absent], addresses[absent])
        return statuses

    def _absent(self, codes: Codes, addresses: Codes) -> Statuses:
        statuses = np.full(len(codes), _UNKNOWN)
        statuses[codes == MALFORMED] = Status.MALFORMED
        statuses[bits_at(self.deleted, addresses) & 1 == 1] = Status.DELETED
        if self.sec_from.size:
            rest = np.flatnonzero(statuses == Status.UNKNOWN)
            place = np.searchsorted(self.sec_from, codes[rest])
            place[place == self.sec_from.size] = 0
            statuses[rest[self.sec_from[place] == codes[rest]]] = Status.SECONDARY
        return statuses

    def lookup(self, strings: Sequence[str]) -> list[AccessionVerdict]:
        """Return the verdict on each string, with its reason and the right accessions."""
        codes = encode(strings)
        statuses = self.statuses(codes)
        successors = self._successors(codes[statuses == Status.SECONDARY])
        places = np.flatnonzero(statuses == Status.MALFORMED).tolist()
        meanings = self._meanings([strings[place] for place in places])
        return [
            self._verdict(text, status, successors, meanings)
            for text, status in zip(strings, statuses.tolist(), strict=True)
        ]

    def _verdict(
        self,
        text: str,
        status: int,
        successors: Iterator[list[str]],
        meanings: Iterator[tuple[Intent, AccessionVerdict | None]],
    ) -> AccessionVerdict:
        match status:
            case Status.PRIMARY:
                return verdicts.primary(text, self.name)
            case Status.SECONDARY:
                return verdicts.secondary(text, next(successors))
            case Status.DELETED:
                return verdicts.deleted(text)
            case Status.UNKNOWN:
                return verdicts.unknown(text, self.name)
            case _:
                return self._malformed(text, *next(meanings))

    def _malformed(
        self, text: str, intent: Intent, meant: AccessionVerdict | None
    ) -> AccessionVerdict:
        if intent is Intent.GENE:
            gene = guess(text).gene
            return verdicts.of_gene(text, gene, self.of_gene(gene), self.name)
        return verdicts.malformed(text, intent, meant)

    def of_gene(self, gene: int) -> list[str]:
        """Return an NCBI Gene id's reviewed entries."""
        first, last = np.searchsorted(self.genes, [gene, gene + 1])
        return [str(accession) for accession in decode(self.gene_to[first:last])]

    def _successors(self, codes: Codes) -> Iterator[list[str]]:
        """Yield each secondary code's successors."""
        first = np.searchsorted(self.sec_from, codes)
        size = np.searchsorted(self.sec_from, codes, side="right") - first
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        accessions = iter(decode(self.sec_to[np.repeat(first, size) + within]))
        for count in size.tolist():
            yield list(islice(accessions, count))

    def _meanings(self, texts: Sequence[str]) -> Iterator[tuple[Intent, AccessionVerdict | None]]:
        """Yield each malformed string's likely meaning, with the verdict on it."""
        guesses = [guess(text) for text in texts]
        by_name = self._named([guessed.entry_name for guessed in guesses])
        meant = [
            guessed.accession or accession
            for guessed, accession in zip(guesses, by_name, strict=True)
        ]
        judged = iter(self.lookup([accession for accession in meant if accession]))
        for guessed, accession in zip(guesses, meant, strict=True):
            yield guessed.intent, next(judged) if accession else None

    def _named(self, entry_names: Sequence[str]) -> list[str]:
        """Return each entry name's accession, "" if unknown."""
        keys = np.array([name_key(name) for name in entry_names], np.int64)
        place = np.searchsorted(self.names, keys)
        place[place == self.names.size] = -1
        matches = self.names[place] == keys if self.names.size else np.zeros(len(keys), bool)
        accessions = iter(decode(self.name_to[place[matches]]))
        return [
            next(accessions) if is_known else entry_name_accession(name)
            for name, is_known in zip(entry_names, matches.tolist(), strict=True)
        ]
