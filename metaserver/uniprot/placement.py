"""Placing the intake's data in a release's arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.base.errors import InputError
from metaserver.uniprot.bits import NO_ENTRY, Bitmap, EntryBits
from metaserver.uniprot.codec import Codes
from metaserver.uniprot.homonyms import write_homonyms
from metaserver.uniprot.intake import Intake
from metaserver.uniprot.layout import ReleaseCounts
from metaserver.uniprot.pages import PAGE_BYTES, AccessionPages
from metaserver.uniprot.spill import Spill, distinct

_CHUNK = 1 << 20
_MOST_PAGES = 200_000
"""A0A has 12,960 prefixes; a file with invented prefixes could need 77 million pages of 42 kB."""


def place(directory: Path, intake: Intake) -> ReleaseCounts:
    """Write all arrays of a release into `directory`; return the counts for `META.json`."""
    if len(intake.prefixes) > _MOST_PAGES:
        message = f"{len(intake.prefixes):,} prefixes, expected at most {_MOST_PAGES:,}"
        raise InputError("ten-character accessions", f"{message}: these are not UniProt's")
    files = _Files(directory)
    pages = AccessionPages.of(intake.prefixes)
    files.save("pages.i4", pages.prefixes)
    live = files.bitmap("live.bits", pages, intake.live)
    bits = EntryBits(pages=pages, live=live, rank64=_running_count(files, live))
    entries = bits.count
    secondary = _secondaries(files, bits, intake.secondaries)
    taxon = files.by_rank("taxon.u4", bits, entries, intake.taxa)
    cluster = files.by_rank("cluster.i8", bits, entries, intake.clusters)
    strains = intake.taxonomy.strains()
    files.save("strain.u4", strains[:, 0])
    files.save("species.u4", strains[:, 1])
    homonym_sets, homonyms = write_homonyms(directory, intake.names, bits, taxon, cluster)
    return ReleaseCounts(
        primary=entries,
        secondary=len(secondary),
        deleted=_deleted(files, bits, intake.deleted, secondary),
        pages=len(pages.prefixes),
        with_taxon=_known(taxon),
        with_cluster=_known(cluster),
        strains=len(strains),
        entry_names=_keys(files, "name", bits, intake.entry_names),
        genes=_keys(files, "gene", bits, intake.genes),
        homonym_sets=homonym_sets,
        homonyms=homonyms,
    )


class _Files:
    """The writer for a directory's array files; a name's suffix is its type."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create(self, name: str, length: int) -> npt.NDArray[Any]:
        """Return a writable array of zeros; its space is allocated, so a full disk is an error.

        (A mapped file without space on the disk would end the process with SIGBUS.)
        """
        dtype = np.dtype("u1" if name.endswith("bits") else f"<{name[-2:]}")
        with (self._directory / name).open("wb") as file:
            file.truncate(length * dtype.itemsize)
            if hasattr(os, "posix_fallocate"):  # not on macOS
                os.posix_fallocate(file.fileno(), 0, length * dtype.itemsize)
        return np.asarray(np.memmap(self._directory / name, dtype, "r+", shape=(length,)))

    def save(self, name: str, values: npt.NDArray[Any]) -> None:
        np.asarray(values, f"<{name[-2:]}").tofile(self._directory / name)

    def bitmap(self, name: str, pages: AccessionPages, codes: Spill) -> Bitmap:
        bits = self.create(name, pages.count * PAGE_BYTES)
        for chunk in codes.chunks():
            addresses = pages.addresses(chunk[:, 0])
            np.bitwise_or.at(bits, addresses >> 3, _mask(addresses))
        return bits

    def by_rank(self, name: str, bits: EntryBits, entries: int, pairs: Spill) -> npt.NDArray[Any]:
        """Write each entry's value; pairs for other accessions are skipped."""
        values = self.create(name, entries)
        for chunk in pairs.chunks():
            ranks = bits.ranks(chunk[:, 0])
            present = ranks != NO_ENTRY
            values[ranks[present]] = chunk[present, 1]
        return values


def _mask(addresses: Codes) -> Bitmap:
    return np.uint8(1) << (addresses & 7).astype(np.uint8)


def _running_count(files: _Files, live: Bitmap) -> npt.NDArray[np.uint32]:
    words = live.view("<u8")
    counts = files.create("rank64.u4", len(words))
    before = 0
    for start in range(0, len(words), _CHUNK):
        run = np.bitwise_count(words[start : start + _CHUNK]).cumsum(dtype=np.int64)
        counts[start] = before
        counts[start + 1 : start + len(run)] = before + run[:-1]
        before += int(run[-1])
    return counts


def _secondaries(files: _Files, bits: EntryBits, spill: Spill) -> Codes:
    """Write the pairs from an accession that is no entry to an entry; return the former."""
    pairs = distinct(spill.all())
    usable = (bits.ranks(pairs[:, 0]) == NO_ENTRY) & (bits.ranks(pairs[:, 1]) != NO_ENTRY)
    pairs = pairs[usable]
    files.save("sec_from.i8", pairs[:, 0])
    files.save("sec_to.i8", pairs[:, 1])
    return np.ascontiguousarray(pairs[:, 0])


def _deleted(files: _Files, bits: EntryBits, spill: Spill, secondary: Codes) -> int:
    """Write the deleted accessions that are neither primary nor secondary; return their number."""
    deleted = files.bitmap("deleted.bits", bits.pages, spill)
    addresses = bits.pages.addresses(secondary)
    np.bitwise_and.at(deleted, addresses >> 3, ~_mask(addresses))
    count = 0
    for start in range(0, len(deleted), _CHUNK):
        deleted[start : start + _CHUNK] &= ~bits.live[start : start + _CHUNK]
        count += int(np.bitwise_count(deleted[start : start + _CHUNK]).sum())
    return count


def _known(values: npt.NDArray[Any]) -> int:
    return sum(
        int(np.count_nonzero(values[start : start + _CHUNK]))
        for start in range(0, len(values), _CHUNK)
    )


def _keys(files: _Files, name: str, bits: EntryBits, spill: Spill) -> int:
    """Write (key, entry) pairs, by key; return their number."""
    pairs = distinct(spill.all())
    pairs = pairs[bits.ranks(pairs[:, 1]) != NO_ENTRY]
    files.save(f"{name}.i8", pairs[:, 0])
    files.save(f"{name}_to.i8", pairs[:, 1])
    return len(pairs)
