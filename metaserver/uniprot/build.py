"""Build of a release: read every source once, place bits and values, verify, move into place."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from metaserver.base.errors import InputError, MetaserverError
from metaserver.base.files import is_at_work
from metaserver.uniprot.bits import NO_ENTRY, PAGE_BYTES, AccessionPages, Bitmap, EntryBits
from metaserver.uniprot.codec import MALFORMED, PATTERN, Codes, decode, encode
from metaserver.uniprot.directory import NamesWriter
from metaserver.uniprot.intake import Intake
from metaserver.uniprot.layout import FORMAT, Meta, ReleaseCounts, ReleaseSource, write_meta
from metaserver.uniprot.release import Release
from metaserver.uniprot.sources import SourceFile, SourceKind, recognise
from metaserver.uniprot.sources.reader import Advance, unwatched
from metaserver.uniprot.spill import Spill, changes, distinct
from metaserver.uniprot.verdicts import Status

# -- homonym sets: entries in a UniRef50 cluster, from several organisms, that share a name --------
# Records of (name hash, code) come in buckets by hash, so that a bucket contains all entries with
# its names and memory is bounded by the largest bucket.

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
    return entries[changes(entries)]


def _sets(rows: Codes, taxon: npt.NDArray[np.uint32]) -> Iterator[tuple[Codes, Codes]]:
    """Yield the members of sets with several organisms, concatenated, and the sets' sizes."""
    if not len(rows):
        return
    first = np.flatnonzero(changes(rows[:, :2]))
    taxa = taxon[rows[:, 2]]
    several = np.minimum.reduceat(taxa, first) != np.maximum.reduceat(taxa, first)
    size = np.diff(np.append(first, len(rows)))
    if several.any():
        yield rows[np.repeat(several, size), 2], size[several]


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


# -- placing the intake's data in a release's arrays -----------------------------------------------

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


# -- verifying a finished release before it gets its name ------------------------------------------

_SAMPLES = 10_000
_SEED = 25
_CHARACTERS = "AAABOPQZ00001239-a\n é"


class VerificationError(MetaserverError):
    """A release that differs from its sources, through a fault of this program or of the disk."""


def verify(release: Release, intake: Intake) -> None:
    """Check the counts, look up samples of every kind, and test the codec on random strings.

    Raises `VerificationError` with the first difference.
    """
    rng = np.random.default_rng(_SEED)
    _agree("primary accessions", release.bits.count, release.meta.counts.primary)
    settled = {Status.PRIMARY, Status.SECONDARY}
    _look_up(release, _sample(rng, intake.live), {Status.PRIMARY})
    _look_up(release, rng.permutation(release.sec_from)[:_SAMPLES], {Status.SECONDARY})
    _look_up(release, _sample(rng, intake.deleted), settled | {Status.DELETED})
    _fuzz_codec(random.Random(_SEED))


def _agree(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise VerificationError(f"verification: {what}: found {actual}, expected {expected}")


def _sample(rng: np.random.Generator, spill: Spill) -> Codes:
    """Return about `_SAMPLES` random codes from the intake."""
    share = min(1.0, _SAMPLES / max(spill.rows, 1))
    samples = [chunk[rng.random(len(chunk)) < share, 0] for chunk in spill.chunks()]
    return np.concatenate([np.empty(0, np.int64), *samples])


def _look_up(release: Release, codes: Codes, expected: Set[Status]) -> None:
    accessions = decode(codes)
    for accession, status in zip(accessions, release.judge(accessions).tolist(), strict=True):
        if status not in expected:
            _agree(accession, Status(status).label, " or ".join(sorted(s.label for s in expected)))


def _fuzz_codec(rng: random.Random) -> None:
    """Compare the codec with the pattern, and with its own inverse, on random strings."""
    lengths = (5, 6, 6, 6, 10, 10, 10, 11)
    texts = ["".join(rng.choices(_CHARACTERS, k=rng.choice(lengths))) for _ in range(_SAMPLES)]
    valid = [text for text in texts if PATTERN.fullmatch(text)]
    codes = encode(texts)
    _agree("the codec on random strings", decode(codes[codes != MALFORMED]), valid)


# -- build of a release: read every source once, place bits and values, verify, move into place ----

Begun = Callable[[str], Advance]
"""A function called with each stage as it begins: a source's file name, finally `WRITING`.

It returns a function to call with the number of bytes read.
"""

WRITING = "writing and verifying"
_BUILDING = ".building"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def build_release(
    sources: Sequence[Path],
    *,
    name: str,
    out: Path,
    names: bool = False,
    on_stage: Begun = lambda stage: unwatched,
) -> Release:
    """Build the release `name` from `sources` (any order) as the directory `out`, and open it.

    With `names`, the release also has its reviewed entries' names (`directory`).

    Nothing is at `out` until the release is complete and verified. A killed build's leftovers are
    removed. Raises `InputError`, with file and line, for a wrong or truncated source; also if `out`
    exists, or the name has characters other than letters, digits and `._-`.

    Example: `build_release([Path("uniprot_sprot.dat.gz")], name="2025_04", out=Path("2025_04"))`.
    """
    if not _NAME.fullmatch(name):
        message = "expected letters, digits and '._-' only: scores are signed with it"
        raise InputError(f"release {name!r}", message)
    if out.exists():
        raise InputError(out, "exists already; a release is never changed: choose a new directory")
    nearest = next(parent for parent in out.absolute().parents if parent.exists())
    beside = nearest / f".{out.name}.{os.getpid()}{_BUILDING}"
    try:
        _remove_abandoned(nearest, out.name)
        beside.mkdir()
        _build(sources, name, beside, on_stage, names=names)
        _sync(beside)
        out.parent.mkdir(parents=True, exist_ok=True)
        beside.rename(out)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error
    except sqlite3.OperationalError as error:  # the disk is full
        raise InputError(out, f"the names cannot be written: {error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Release.open(out)


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove folders left by ended builds of `name`."""
    ours = re.compile(rf"\.{re.escape(name)}\.([0-9]+){re.escape(_BUILDING)}")
    for path in folder.iterdir():
        if (match := ours.fullmatch(path.name)) and not is_at_work(int(match[1])):
            shutil.rmtree(path)


def _build(
    sources: Sequence[Path], name: str, directory: Path, on_stage: Begun, *, names: bool
) -> None:
    with ExitStack() as stack:
        writer = stack.enter_context(closing(NamesWriter(directory))) if names else None
        intake = stack.enter_context(closing(Intake(directory, writer)))
        kinds = _taxonomy_first(sources)
        sources_read = [_take(intake, path, kind, on_stage(path.name)) for path, kind in kinds]
        if not intake.live.rows:
            files = ", ".join(map(str, sources))
            raise InputError(files, "no entries; expected a file that lists primary accessions")
        on_stage(WRITING)
        counts = place(directory, intake)
        if writer:
            writer.finish(intake.taxonomy.official_names())
        write_meta(directory, Meta(format=FORMAT, name=name, counts=counts, sources=sources_read))
        verify(Release.open(directory), intake)


def _taxonomy_first(sources: Sequence[Path]) -> list[tuple[Path, SourceKind]]:
    """Return the sources with their kinds; tables that name organisms need the taxonomy first."""
    kinds = []
    for path in sources:
        with SourceFile(path) as source:
            kinds.append((path, recognise(source)))
    return sorted(kinds, key=lambda pair: not pair[1].taxonomy)


def _take(intake: Intake, path: Path, kind: SourceKind, advance: Advance) -> ReleaseSource:
    with SourceFile(path, advance) as source:
        records = intake.take(source, kind.read(source))
        if not records:
            raise source.error(f"no records; the {kind.name} ends before its first")
        return ReleaseSource(
            file=path.name,
            kind=kind.name,
            bytes=source.size,
            sha256=source.sha256,
            records=records,
        )


def _sync(directory: Path) -> None:
    """Sync the files to disk before the directory gets its final name."""
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


# -- a release build's progress on a terminal ------------------------------------------------------


@contextmanager
def progress_bar(sources: Sequence[Path]) -> Iterator[Begun]:
    """Yield the callback for a build's stages: a bar on a terminal's standard error, or nothing.

    Reading is measured in bytes; how long writing takes is not known beforehand.
    """
    total = sum(path.stat().st_size for path in sources if path.is_file())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=total)

        def begun(stage: str) -> Advance:
            if stage == WRITING:
                progress.add_task(stage, total=None)
            else:
                progress.update(task, description=stage)
            return lambda size: progress.update(task, advance=size)

        yield begun
