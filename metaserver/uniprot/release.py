"""A UniProt release, memory-mapped: thousands of strings judged in one call.

Nothing is read at opening but `META.json` and the list of pages; the kernel brings in what look-ups
touch, and shares it among processes. An open release stays as it is when its directory is replaced
or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.uniprot import verdicts
from metaserver.uniprot.bits import Bitmap, EntryBits, bits_at
from metaserver.uniprot.codec import MALFORMED, Codes, decode, encode
from metaserver.uniprot.entries import Entries
from metaserver.uniprot.intent import entry_name_accession, guess
from metaserver.uniprot.layout import Meta, map_array, read_meta
from metaserver.uniprot.names import name_key
from metaserver.uniprot.pages import PAGE_BYTES, Pages
from metaserver.uniprot.verdicts import Status, Verdict

Statuses = npt.NDArray[np.uint8]

_PRIMARY, _UNKNOWN = np.uint8(Status.PRIMARY), np.uint8(Status.UNKNOWN)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release:
    """An open release; make one with `Release.open`. Safe to share among threads."""

    directory: Path
    meta: Meta
    bits: EntryBits = field(repr=False)
    entries: Entries = field(repr=False)
    deleted: Bitmap = field(repr=False)
    sec_from: Codes = field(repr=False)
    sec_to: Codes = field(repr=False)
    names: Codes = field(repr=False)
    name_to: Codes = field(repr=False)

    @classmethod
    def open(cls, directory: Path | str) -> Release:
        """Open a release directory, or the link that `metaserver uniprot use` keeps.

        Raises `InputError` naming the path if it is no release, one of another format version, or
        damaged.
        """
        meta = read_meta(Path(directory))
        home = Path(directory).resolve()
        counts = meta.counts

        def load(name: str, length: int) -> Any:
            return map_array(home / name, "u1" if name.endswith("bits") else name[-2:], length)

        pages = Pages.of(load("pages.i4", counts.pages))
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
        )

    @property
    def name(self) -> str:
        """What the release is called, such as `2025_04`."""
        return self.meta.name

    def judge(self, strings: Sequence[str]) -> Statuses:
        """Return each string's `Status` as a number: the fast answer, without reasons."""
        return self.statuses(encode(strings))

    def statuses(self, codes: Codes) -> Statuses:
        """Return the `Status` of each code."""
        addresses = self.bits.pages.addresses(codes)
        found = np.where(bits_at(self.bits.live, addresses) & 1, _PRIMARY, _UNKNOWN)
        absent = found.nonzero()[0]
        if absent.size:
            found[absent] = self._absent(codes[absent], addresses[absent])
        return found

    def _absent(self, codes: Codes, addresses: Codes) -> Statuses:
        found = np.full(len(codes), _UNKNOWN)
        found[codes == MALFORMED] = Status.MALFORMED
        found[bits_at(self.deleted, addresses) & 1 == 1] = Status.DELETED
        if self.sec_from.size:
            rest = np.flatnonzero(found == Status.UNKNOWN)
            place = np.searchsorted(self.sec_from, codes[rest])
            place[place == self.sec_from.size] = 0
            found[rest[self.sec_from[place] == codes[rest]]] = Status.SECONDARY
        return found

    def lookup(self, strings: Sequence[str]) -> list[Verdict]:
        """Return the verdict on each string, with its reason and the right accessions."""
        codes = encode(strings)
        statuses = self.statuses(codes).tolist()
        return [
            verdicts.primary(text, self.name)
            if status == Status.PRIMARY
            else self._verdict(text, code, status)
            for text, code, status in zip(strings, codes.tolist(), statuses, strict=True)
        ]

    def _verdict(self, text: str, code: int, status: int) -> Verdict:
        match status:
            case Status.SECONDARY:
                return verdicts.secondary(text, self._successors(code))
            case Status.DELETED:
                return verdicts.deleted(text)
            case Status.UNKNOWN:
                return verdicts.unknown(text, self.name)
            case _:
                return self._malformed(text)

    def _successors(self, code: int) -> list[str]:
        first, last = np.searchsorted(self.sec_from, [code, code + 1])
        return decode(self.sec_to[first:last])

    def _malformed(self, text: str) -> Verdict:
        intent, accession, entry_name = guess(text)
        if entry_name:
            accession = self._named(entry_name) or entry_name_accession(entry_name)
        meant = self.lookup([accession])[0] if accession else None
        return verdicts.malformed(text, intent, meant)

    def _named(self, entry_name: str) -> str:
        key = name_key(entry_name)
        place = int(np.searchsorted(self.names, key))
        if place == self.names.size or self.names[place] != key:
            return ""
        return decode(self.name_to[place])[0]
