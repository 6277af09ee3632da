"""Files that contain articles: selection by path, bounded reading, also of uploaded zip files."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from metaserver.base.errors import InputError

MAX_BYTES = 256 * 2**20
"""The largest file read, after decompression; a PubMed baseline file fits."""
MAX_RATIO = 200
"""The most bytes that a gzip file may unpack to per compressed byte, above a first MiB."""

SUFFIXES = frozenset({".txt", ".xml", ".nxml", ".tei", ".json", ".pubtator"})
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


# -- bounded reading of uploaded zip files, which are not trusted ----------------------------------

_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf", b"Rar!")
_SUFFIXES = frozenset({".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"})
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError)
_ENCRYPTED = 0x1
_CHUNK = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class ZipLimits:
    """Limits for a zip: files (folders as many), bytes per file, in all, per byte sent."""

    files: int = 20_000
    file_bytes: int = 64 * 2**20
    bytes: int = 512 * 2**20
    ratio: int = 200


def unpack(name: str, content: bytes, folder: Path, limits: ZipLimits) -> None:
    """Write a zip's files into a folder; raises `InputError` at the first file not allowed."""
    if content.count(_ENTRY) > limits.files:  # before the directory is read into memory
        raise InputError(name, f"holds more than {limits.files:,} files")
    total = min(limits.bytes, limits.ratio * len(content))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry, place in _checked(name, archive, limits):
                data = _read(f"{name}: {entry.filename}", archive, entry, limits, total)
                total -= len(data)
                path = folder / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    except _BROKEN as error:
        raise InputError(name, f"not a complete zip file: {error}") from error


def _checked(
    name: str, archive: zipfile.ZipFile, limits: ZipLimits
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Yield the files with their paths; all are checked before the first is read."""
    files: dict[PurePosixPath, zipfile.ZipInfo] = {}
    folders: set[PurePosixPath] = set()
    offsets: set[int] = set()
    for entry in archive.infolist():
        if wrong := _wrong(entry, limits):
            raise InputError(f"{name}: {entry.filename!r}", wrong)
        if entry.header_offset in offsets:
            raise InputError(f"{name}: {entry.filename!r}", "shares its bytes with another file")
        offsets.add(entry.header_offset)
        place = PurePosixPath(entry.filename)
        if entry.is_dir():
            continue
        folders.update(place.parents)
        if len(folders) > limits.files:  # a name of 512 bytes has 256 of them
            raise InputError(name, f"holds more than {limits.files:,} folders")
        if place in files or place in folders or not files.keys().isdisjoint(place.parents):
            raise InputError(f"{name}: {entry.filename!r}", "comes twice")
        files[place] = entry
    for place, entry in files.items():
        yield entry, place


def _wrong(entry: zipfile.ZipInfo, limits: ZipLimits) -> str:
    """Return the problem of an entry according to the zip's directory, or an empty text."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    written = entry.orig_filename
    checks = (
        (not _plain(written), "not a plain name: expected letters, digits, '/', no '..'"),
        (kind not in (0, stat.S_IFREG, stat.S_IFDIR), "a link or a device; expected a file"),
        (bool(entry.flag_bits & _ENCRYPTED), "encrypted; expected a file that can be read"),
        (entry.compress_type not in _METHODS, "of a kind of compression other than deflate"),
        (
            PurePosixPath(written).suffix.lower() in _SUFFIXES,
            "a zip inside a zip; put its files into the outer one",
        ),
        (entry.file_size > limits.file_bytes, f"larger than {limits.file_bytes:,} bytes"),
    )
    return next((message for wrong, message in checks if wrong), "")


def _plain(name: str) -> bool:
    parts = name.removesuffix("/").split("/")
    return (
        name.isprintable()
        and "\\" not in name
        and len(name.encode("utf-8", "replace")) <= 512
        and all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)
    )


def _read(
    place: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: ZipLimits, remaining: int
) -> bytes:
    """Return a file's content; the size in the zip's directory is not relied on."""
    data = bytearray()
    with archive.open(entry) as file:
        while chunk := file.read(_CHUNK):
            data += chunk
            if len(data) > limits.file_bytes:
                raise InputError(place, f"larger than {limits.file_bytes:,} bytes")
            if len(data) > remaining:
                raise InputError(place, "the files are larger than an honest zip of this size")
    if data.startswith(_STARTS):
        raise InputError(place, "a zip inside a zip; put its files into the outer one")
    return bytes(data)
