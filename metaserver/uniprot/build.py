"""Building a release: read every source once, place bits and values, verify, move into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.errors import InputError
from metaserver.uniprot.codec import Codes
from metaserver.uniprot.intake import Intake
from metaserver.uniprot.layout import FORMAT, Meta, Source, write_meta
from metaserver.uniprot.pages import PAGE_BYTES, Pages
from metaserver.uniprot.release import NO_ENTRY, Release, ranks
from metaserver.uniprot.sources import SourceFile, recognise
from metaserver.uniprot.sources.records import Advance
from metaserver.uniprot.spill import Spill, distinct

Opened = Callable[[Path], Advance]
"""Called with each source as it is opened; returns what to call with the bytes read of it."""

_CHUNK = 1 << 20


def _unwatched(_: Path) -> Advance:
    return lambda size: None


def build_release(
    sources: Sequence[Path], *, name: str, out: Path, opened: Opened = _unwatched
) -> Release:
    """Build the release `name` from `sources` (any order) as the directory `out`, and open it.

    Nothing is at `out` until the release is complete and verified. Raises `InputError` with file
    and line for a wrong or truncated source, and where `out` exists.
    """
    if out.exists():
        raise InputError(out, "exists already; a release is never changed: choose a new directory")
    beside = out.parent / f".{out.name}.{os.getpid()}.building"
    try:
        beside.mkdir(parents=True)
    except OSError as error:
        raise InputError(out, f"cannot be made: {error.strerror}") from error
    try:
        _build(sources, name, beside, opened)
        _sync(beside)
        beside.rename(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Release.open(out)


def _build(sources: Sequence[Path], name: str, directory: Path, opened: Opened) -> None:
    intake = Intake(directory)
    read = [_take(intake, path, opened(path)) for path in sources]
    if not intake.live.rows:
        files = ", ".join(map(str, sources))
        raise InputError(files, "no entries; expected a file that lists primary accessions")
    counts = _Placement(directory, intake).write()
    intake.close()
    meta = Meta(format=FORMAT, name=name, counts=counts, sources=read)
    write_meta(directory, meta)


def _take(intake: Intake, path: Path, advance: Advance) -> Source:
    with SourceFile(path, advance) as source:
        kind = recognise(source)
        records = intake.take(source, kind.read(source))
        if not records:
            raise source.error(f"no records; the {kind.name} ends before its first")
        return Source(
            file=path.name,
            kind=kind.name,
            bytes=source.size,
            sha256=source.sha256,
            records=records,
        )


class _Placement:
    """Writes the arrays of a release from what was set aside."""

    def __init__(self, directory: Path, intake: Intake) -> None:
        self._directory = directory
        self._intake = intake
        self._pages = Pages.of(intake.prefixes)
        self._live = self._bitmap("live.bits", intake.live)
        self._rank64 = self._running_count()

    def write(self) -> dict[str, int]:
        """Write all arrays; returns the counts."""
        entries = int(np.bitwise_count(self._live).sum(dtype=np.int64))
        self._save("pages.i4", self._pages.prefixes)
        secondary = self._secondaries()
        deleted = self._deleted(secondary)
        self._by_rank("taxon.u4", entries, self._intake.taxa)
        self._by_rank("cluster.i8", entries, self._intake.clusters)
        names = self._entry_names()
        self._save("species.u4", np.empty(0))
        self._save("homonym_rank.u4", np.empty(0))
        self._save("homonym_set.u4", np.empty(0))
        self._save("set_start.i8", np.zeros(1))
        self._save("set_member.u4", np.empty(0))
        return {
            "primary": entries,
            "secondary": len(secondary),
            "deleted": deleted,
            "pages": len(self._pages.prefixes),
            "names": names,
        }

    def _create(self, name: str, length: int) -> npt.NDArray[Any]:
        dtype = "u1" if name.endswith("bits") else "<" + name[-2:]
        return np.memmap(self._directory / name, dtype, "w+", shape=(length,))

    def _save(self, name: str, values: npt.NDArray[Any]) -> None:
        np.asarray(values, "<" + name[-2:]).tofile(self._directory / name)

    def _bitmap(self, name: str, codes: Spill) -> npt.NDArray[np.uint8]:
        bits = self._create(name, self._pages.count * PAGE_BYTES)
        for chunk in codes.chunks():
            addresses = self._pages.addresses(chunk[:, 0])
            np.bitwise_or.at(bits, addresses >> 3, np.uint8(1) << (addresses & 7).astype(np.uint8))
        return bits

    def _running_count(self) -> npt.NDArray[np.uint32]:
        words = self._live.view("<u8")
        counts = self._create("rank64.u4", len(words))
        before = 0
        for start in range(0, len(words), _CHUNK):
            run = np.bitwise_count(words[start : start + _CHUNK]).cumsum(dtype=np.int64)
            counts[start] = before
            counts[start + 1 : start + len(run)] = before + run[:-1]
            before += int(run[-1])
        return counts

    def _ranks(self, codes: Codes) -> npt.NDArray[np.int64]:
        return ranks(self._pages, self._live, self._rank64, codes)

    def _secondaries(self) -> Codes:
        pairs = distinct(self._intake.secondaries.all())
        kept = (self._ranks(pairs[:, 0]) == NO_ENTRY) & (self._ranks(pairs[:, 1]) != NO_ENTRY)
        self._save("sec_from.i8", pairs[kept, 0])
        self._save("sec_to.i8", pairs[kept, 1])
        old: Codes = pairs[kept, 0]
        return old

    def _deleted(self, secondary: Codes) -> int:
        """Write the deleted accessions that are neither primary nor secondary; returns how many."""
        bits = self._bitmap("deleted.bits", self._intake.deleted)
        for start in range(0, len(bits), _CHUNK):
            bits[start : start + _CHUNK] &= ~self._live[start : start + _CHUNK]
        addresses = self._pages.addresses(secondary)
        np.bitwise_and.at(bits, addresses >> 3, ~(np.uint8(1) << (addresses & 7).astype(np.uint8)))
        return int(np.bitwise_count(bits).sum(dtype=np.int64))

    def _by_rank(self, name: str, entries: int, pairs: Spill) -> None:
        values = self._create(name, entries)
        for chunk in pairs.chunks():
            at = self._ranks(chunk[:, 0])
            known = at != NO_ENTRY
            values[at[known]] = chunk[known, 1]

    def _entry_names(self) -> int:
        pairs = distinct(self._intake.entry_names.all())
        self._save("name.i8", pairs[:, 0])
        self._save("name_to.i8", pairs[:, 1])
        return len(pairs)


def _sync(directory: Path) -> None:
    """Make the files durable before the directory gets its name."""
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
