"""A UniProt release, memory-mapped: thousands of strings judged in one call.

Nothing is read at opening but `META.json` and the list of pages; the kernel brings in what look-ups
touch, and shares it among processes. An open release stays as it is when its directory is replaced
or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from metaserver.uniprot import verdicts
from metaserver.uniprot.codec import MALFORMED, Codes, decode, encode
from metaserver.uniprot.intent import entry_name_accession, guess
from metaserver.uniprot.layout import Meta, map_array, read_meta
from metaserver.uniprot.names import cluster_id, name_key
from metaserver.uniprot.pages import PAGE_BYTES, Pages
from metaserver.uniprot.verdicts import Status, Verdict

Statuses = npt.NDArray[np.uint8]
Ranks = npt.NDArray[np.int64]

_PRIMARY, _UNKNOWN = np.uint8(Status.PRIMARY), np.uint8(Status.UNKNOWN)
NO_ENTRY = -1
"""The rank of what is not a primary accession."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release:
    """An open release; make one with `Release.open`. Safe to share among threads."""

    directory: Path
    meta: Meta
    pages: Pages = field(repr=False)
    live: npt.NDArray[np.uint8] = field(repr=False)
    rank64: npt.NDArray[np.uint32] = field(repr=False)
    deleted: npt.NDArray[np.uint8] = field(repr=False)
    sec_from: Codes = field(repr=False)
    sec_to: Codes = field(repr=False)
    taxon: npt.NDArray[np.uint32] = field(repr=False)
    cluster: Codes = field(repr=False)
    species: npt.NDArray[np.uint32] = field(repr=False)
    names: Codes = field(repr=False)
    name_to: Codes = field(repr=False)
    homonym_rank: npt.NDArray[np.uint32] = field(repr=False)
    homonym_set: npt.NDArray[np.uint32] = field(repr=False)
    set_start: Codes = field(repr=False)
    set_member: npt.NDArray[np.uint32] = field(repr=False)

    @classmethod
    def open(cls, directory: Path | str) -> Release:
        """Open a release directory, or the link that `metaserver uniprot use` keeps.

        Raises `InputError` naming the path if it is no release, one of another format version, or
        damaged.
        """
        home = Path(directory).resolve()
        meta = read_meta(Path(directory) if not home.exists() else home)
        count = meta.counts.get

        def mapped(name: str, length: int) -> Any:
            return map_array(home / name, "u1" if name.endswith("bits") else name[-2:], length)

        pages = Pages.of(mapped("pages.i4", count("pages", 0)))
        entries, homonyms, sets = count("primary", 0), count("homonyms", 0), count("sets", 0)
        return cls(
            directory=home,
            meta=meta,
            pages=pages,
            live=mapped("live.bits", pages.count * PAGE_BYTES),
            rank64=mapped("rank64.u4", pages.count * PAGE_BYTES // 8),
            deleted=mapped("deleted.bits", pages.count * PAGE_BYTES),
            sec_from=mapped("sec_from.i8", count("secondary", 0)),
            sec_to=mapped("sec_to.i8", count("secondary", 0)),
            taxon=mapped("taxon.u4", entries),
            cluster=mapped("cluster.i8", entries),
            species=mapped("species.u4", 2 * count("strains", 0)).reshape(-1, 2),
            names=mapped("name.i8", count("names", 0)),
            name_to=mapped("name_to.i8", count("names", 0)),
            homonym_rank=mapped("homonym_rank.u4", homonyms),
            homonym_set=mapped("homonym_set.u4", homonyms),
            set_start=mapped("set_start.i8", sets + 1),
            set_member=mapped("set_member.u4", homonyms),
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
        addresses = self.pages.addresses(codes)
        found = np.where(_bits(self.live, addresses) & 1, _PRIMARY, _UNKNOWN)
        absent = np.flatnonzero(found)
        if absent.size:
            found[absent] = self._absent(codes[absent], addresses[absent])
        return found

    def _absent(self, codes: Codes, addresses: Codes) -> Statuses:
        found = np.full(len(codes), Status.UNKNOWN, np.uint8)
        found[codes == MALFORMED] = Status.MALFORMED
        found[_bits(self.deleted, addresses) & 1 == 1] = Status.DELETED
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

    def ranks(self, codes: Codes) -> Ranks:
        """Return each code's entry number, `NO_ENTRY` for what is not primary."""
        return ranks(self.pages, self.live, self.rank64, codes)

    def taxa(self, strings: Sequence[str], *, strains: bool = False) -> list[int]:
        """Return each primary accession's NCBI species, 0 where it is not known.

        `strains=True` returns the taxon of the entry itself, often a strain.
        """
        found = self._of_entries(self.taxon, strings)
        return [int(taxon) for taxon in (found if strains else self.roll_up(found))]

    def roll_up(self, taxa: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the species of each taxon, the taxon itself where no species is known for it."""
        if not len(self.species):
            return taxa
        place = np.searchsorted(self.species[:, 0], taxa)
        place[place == len(self.species)] = 0
        return np.where(self.species[place, 0] == taxa, self.species[place, 1], taxa)

    def clusters(self, strings: Sequence[str]) -> list[str]:
        """Return each primary accession's UniRef50 cluster, "" where it is not known."""
        return [cluster_id(key) for key in self._of_entries(self.cluster, strings).tolist()]

    def _of_entries(self, values: npt.NDArray[Any], strings: Sequence[str]) -> npt.NDArray[Any]:
        entries = self.ranks(encode(strings))
        found = np.zeros(len(entries), values.dtype)
        known = entries != NO_ENTRY
        found[known] = values[entries[known]]
        return found


def ranks(
    pages: Pages,
    live: npt.NDArray[np.uint8],
    rank64: npt.NDArray[np.uint32],
    codes: Codes,
) -> Ranks:
    """Return how many primary accessions come before each code, `NO_ENTRY` if it is not one."""
    addresses = pages.addresses(codes)
    words = live.view("<u8")[addresses >> 6]
    below = (np.uint64(1) << (addresses & 63).astype(np.uint64)) - np.uint64(1)
    before = rank64[addresses >> 6] + np.bitwise_count(words & below).astype(np.int64)
    return np.where(_bits(live, addresses) & 1, before, NO_ENTRY)


def _bits(bitmap: npt.NDArray[np.uint8], addresses: Codes) -> npt.NDArray[np.uint8]:
    """Return bytes whose lowest bit is that of each address."""
    return cast("npt.NDArray[np.uint8]", bitmap[addresses >> 3] >> (addresses & 7).astype(np.uint8))
