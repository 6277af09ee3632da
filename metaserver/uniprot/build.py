"""Build of a release: read every source once, place bits and values, verify, move into place."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from metaserver.base.abandoned import is_at_work
from metaserver.base.errors import InputError
from metaserver.uniprot.intake import Intake
from metaserver.uniprot.layout import FORMAT, Meta, ReleaseSource, write_meta
from metaserver.uniprot.names_writer import NamesWriter
from metaserver.uniprot.placement import place
from metaserver.uniprot.release import Release
from metaserver.uniprot.sources import SourceFile, SourceKind, recognise
from metaserver.uniprot.sources.reader import Advance, unwatched
from metaserver.uniprot.verification import verify

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
