"""Homonym sets: entries in a UniRef50 cluster, from several organisms, that share a name.

Records of (name hash, code) come in buckets by hash, so that a bucket contains all entries with its
names and memory is bounded by the largest bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.bits import NO_ENTRY, EntryBits
from metaserver.uniprot.codec import Codes
from metaserver.uniprot.spill import Spill

_RANGE = 1 << 23  # entries whose sets are sorted at a time


def write_homonyms(
    directory: Path,
    buckets: Sequence[Spill],
    bits: EntryBits,
    taxon: npt.NDArray[np.uint32],
    cluster: Codes,
) -> tuple[int, int]:
    """Write the homonym sets in both directions (see `layout`); returns their number and size."""
    pairs = Spill(directory / "homonyms.spill", 2)
    sets = 0
    with (
        (directory / "set_start.i8").open("wb") as starts,
        (directory / "set_member.u4").open("wb") as members,
    ):
        for bucket in buckets:
            rows = _named_entries(bucket.all(), bits, taxon, cluster)
            for member, size in _sets(rows, taxon):
                start = pairs.rows + np.cumsum(size) - size
                start.astype("<i8").tofile(starts)
                member.astype("<u4").tofile(members)
                number = np.repeat(np.arange(sets, sets + len(size)), size)
                pairs.add(np.stack([member, number], axis=1))
                sets += len(size)
        np.array([pairs.rows], "<i8").tofile(starts)
    _write_by_entry(directory, pairs, len(taxon))
    pairs.close()
    return sets, pairs.rows


def _named_entries(
    rows: Codes, bits: EntryBits, taxon: npt.NDArray[np.uint32], cluster: Codes
) -> Codes:
    """Return the distinct (cluster, name hash, rank) rows of entries that can be in a set."""
    ranks = bits.ranks(rows[:, 1])
    names, ranks = rows[ranks != NO_ENTRY, 0], ranks[ranks != NO_ENTRY]
    usable = (taxon[ranks] != 0) & (cluster[ranks] != 0)
    names, ranks = names[usable], ranks[usable]
    entries = np.stack([cluster[ranks], names, ranks], axis=1)
    entries = entries[np.lexsort((ranks, names, entries[:, 0]))]
    return entries[_changes(entries)]


def _sets(rows: Codes, taxon: npt.NDArray[np.uint32]) -> Iterator[tuple[Codes, Codes]]:
    """Yield the members of sets with several organisms, concatenated, and the sets' sizes."""
    if not len(rows):
        return
    first = np.flatnonzero(_changes(rows[:, :2]))
    taxa = taxon[rows[:, 2]]
    several = np.minimum.reduceat(taxa, first) != np.maximum.reduceat(taxa, first)
    size = np.diff(np.append(first, len(rows)))
    if several.any():
        yield rows[np.repeat(several, size), 2], size[several]


def _changes(rows: Codes) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that differ from the row before, including the first."""
    changed = np.ones(len(rows), bool)
    changed[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return changed


def _write_by_entry(directory: Path, pairs: Spill, entries: int) -> None:
    """Write the (entry, set) pairs in entry order, a range of entries at a time."""
    with (
        (directory / "homonym_rank.u4").open("wb") as ranks,
        (directory / "homonym_set.u4").open("wb") as sets,
    ):
        for low in range(0, entries, _RANGE):
            inside = [
                chunk[(chunk[:, 0] >= low) & (chunk[:, 0] < low + _RANGE)]
                for chunk in pairs.chunks()
            ]
            rows = np.concatenate([np.empty((0, 2), np.int64), *inside])
            rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
            rows[:, 0].astype("<u4").tofile(ranks)
            rows[:, 1].astype("<u4").tofile(sets)
