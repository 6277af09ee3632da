"""Zips that the hub writes: equal files make an equal zip."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

CHECKSUMS = "checksums.tsv"
"""The file of a package with SHA-256, size and name of each other file, a line per file."""
_MOMENT = (1980, 1, 1, 0, 0, 0)  # of every entry


def write_zip(out: IO[bytes], files: Iterable[tuple[str, bytes | Path]]) -> None:
    """Write a zip of files by name, each its content or the path of it."""
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(content, bytes):
                archive.writestr(entry, content)
                continue
            entry.file_size = content.stat().st_size  # decides whether sizes have 64 bits
            with content.open("rb") as source, archive.open(entry, "w") as packed:
                shutil.copyfileobj(source, packed, 2**18)


def zip_of(files: Iterable[tuple[str, bytes | Path]]) -> bytes:
    """Return a zip of files by name."""
    out = io.BytesIO()
    write_zip(out, files)
    return out.getvalue()


def files_in(folder: Path, top: str = "") -> Sequence[tuple[str, Path]]:
    """Return a folder's files in the order of their paths, named as in a folder `top`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [((top / path.relative_to(folder)).as_posix(), path) for path in paths]
