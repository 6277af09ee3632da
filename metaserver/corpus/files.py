"""Files that contain articles: selection by path, and bounded reading."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from metaserver.base.errors import InputError

MAX_BYTES = 256 * 2**20
"""The largest file read, after decompression; a PubMed baseline file fits."""
MAX_RATIO = 200
"""The most bytes that a gzip file may unpack to per compressed byte, above a first MiB."""

SUFFIXES = frozenset({".txt", ".xml", ".nxml", ".json"})
_NO_ARTICLES = frozenset({"readme", "license", "licence", "copying", "notice"})
_GZIP_MAGIC = b"\x1f\x8b"


def article_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the article files among paths: a file itself, a folder's files sorted by path.

    A folder is read recursively. Hidden files, other suffixes and files such as README.txt are
    skipped. Raises `InputError` for a missing path or a folder without articles.

    Example: `article_files([Path("articles")])` yields `articles/10022833.txt` and so on.
    """
    for path in paths:
        if path.is_dir():
            files = sorted(filter(_is_article_file, path.rglob("*")))
            if not files:
                raise InputError(path, f"no article in this folder; expected {_suffix_list()}")
            yield from files
        elif path.is_file():
            yield path
        else:
            raise InputError(path, "no such file or folder")


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return a file's content, decompressed if it is gzip; raises `InputError` above `limit`."""
    try:
        with path.open("rb") as file:
            if file.peek(2).startswith(_GZIP_MAGIC):
                return _unpacked(path, file, limit)
            data = file.read(min(limit, path.stat().st_size) + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(path, f"broken gzip file: {error}") from error
    except OSError as error:
        raise InputError(path, f"cannot be read: {os.strerror(error.errno or 0)}") from error
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


def _unpacked(path: Path, file: BinaryIO, limit: int) -> bytes:
    dense = 2**20 + MAX_RATIO * path.stat().st_size
    data = gzip.GzipFile(fileobj=file).read(min(limit, dense) + 1)
    if len(data) > limit:
        raise _too_large(path, limit)
    if len(data) > dense:
        raise InputError(path, f"unpacks to more than {MAX_RATIO} times its size; unpack it first")
    return data


def _too_large(path: Path, limit: int) -> InputError:
    return InputError(path, f"larger than {limit >> 20} MiB; split it into several files")


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """Return a file's name without its suffix, and the suffix in lower case; `.gz` is left out."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.stem, inner.suffix.lower()


def _is_article_file(path: Path) -> bool:
    stem, suffix = stem_and_suffix(path)
    hidden = path.name.startswith(".")
    return suffix in SUFFIXES and not hidden and stem.lower() not in _NO_ARTICLES and path.is_file()


def _suffix_list() -> str:
    return ", ".join(sorted(SUFFIXES)) + ", each also with .gz"
