"""A release directory's files, format version 1.

A release is one immutable directory. Every array is little-endian; ranks number the entries from 0
in the order of their addresses, so parallel arrays need no keys.

    META.json          release name, format version, counts, sources with their checksums
    pages.i4           the prefix of each page of ten-character accessions, ascending
    live.bits          one bit per address: a primary accession
    rank64.u4          primary accessions before each 64-bit word of live.bits
    deleted.bits       one bit per address: deleted, and neither primary nor secondary
    sec_from.i8        codes of the secondary accessions, ascending, one per successor
    sec_to.i8          their successors' codes
    taxon.u4           by rank: NCBI taxon, 0 if not known
    cluster.i8         by rank: UniRef50 cluster (see `clusters`), 0 if not known
    strain.u4, species.u4          taxa below a species, ascending, and their species
    name.i8, name_to.i8            entry names (see `names`), ascending, and their codes
    gene.i8, gene_to.i8            reviewed entries' NCBI Gene ids, ascending, and their codes
    homonym_rank.u4, homonym_set.u4   (entry, set) pairs by entry: the homonym sets it belongs to
    set_start.i8, set_member.u4       each set's members, as ranks (CSR)
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from metaserver.base.errors import InputError

FORMAT = 1
META = "META.json"


class ReleaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a release was built from."""

    file: str
    kind: str
    bytes: int
    sha256: str
    records: int


class ReleaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A release's counts, which determine its array lengths."""

    primary: int
    secondary: int  # pairs: a split accession counts once a successor
    deleted: int
    pages: int  # of ten-character accessions
    with_taxon: int
    with_cluster: int
    strains: int
    entry_names: int
    homonym_sets: int
    homonyms: int  # members of all sets
    genes: int = 0  # pairs of an NCBI Gene id and an entry; of older releases none


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `META.json`."""

    format: int
    name: str
    counts: ReleaseCounts
    sources: list[ReleaseSource]


def write_meta(directory: Path, meta: Meta) -> None:
    """Write `META.json`, which makes a directory a release."""
    text = msgspec.json.format(msgspec.json.encode(meta), indent=2)
    (directory / META).write_bytes(text + b"\n")


def read_meta(directory: Path) -> Meta:
    """Read `META.json`; raises `InputError` if it does not describe a release in this format."""
    path = directory / META
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"not a UniProt release directory: no readable {META}"
        raise InputError(directory, message) from error
    version = document.get("format") if isinstance(document, dict) else None
    if version != FORMAT:
        raise InputError(
            directory, f"release of format {version!r}, expected {FORMAT}: build it again"
        )
    try:
        return msgspec.convert(document, Meta)
    except msgspec.ValidationError as error:
        raise InputError(path, f"damaged: {error}") from error


def map_array(path: Path, dtype: str, length: int) -> npt.NDArray[np.generic]:
    """Map a file of `length` values read-only; raises `InputError` if it has another size."""
    expected = length * np.dtype(dtype).itemsize
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size != expected:
                raise InputError(path, f"damaged release: {size} bytes, expected {expected}")
            if not size:
                return np.empty(0, dtype)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(path, "damaged release: the file cannot be read") from error
    mapped.madvise(mmap.MADV_RANDOM)
    return np.frombuffer(mapped, dtype)
