"""Zips with a checksum for every entry, written and read as streams."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from metaserver import private
from metaserver.archive.layout import CHECKSUMS
from metaserver.errors import InputError

MAX_LINE = 2**28
"""The longest line, and the largest file, that is read into memory."""
MAX_CHECKSUMS = 2**31
MOMENT = (1980, 1, 1, 0, 0, 0)  # of every entry: the same store makes the same archive
CHUNK = 2**16


class Checksum(NamedTuple):
    """What an entry must be."""

    sha256: str
    size: int


class ZipWriter:
    """Writes entries one after the other, into a file for its owner alone; `finish` is last."""

    def __init__(self, out: Path) -> None:
        self._file = private.create(out)
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._sums = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (closed by `close`)
        self.count = 0

    def write(self, name: str, content: bytes) -> None:
        """Write an entry."""
        self.write_chunks(name, [content])

    def write_chunks(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write an entry from its parts."""
        with self.entry(name) as out:
            for chunk in chunks:
                out.write(chunk)

    @contextmanager
    def entry(self, name: str) -> Iterator[_Summed]:
        """Give a file to write one entry to; no other may be open."""
        with self._zip.open(_info(name), "w", force_zip64=True) as file:
            out = _Summed(file)
            yield out
        self._sums.write(f"{out.digest}\t{out.size}\t{name}\n".encode())
        self.count += 1

    def finish(self) -> None:
        """Write the checksums, and end the zip."""
        self._sums.seek(0)
        with self._zip.open(_info(CHECKSUMS), "w", force_zip64=True) as out:
            while chunk := self._sums.read(CHUNK):
                out.write(chunk)
        self._zip.close()
        self._file.close()
        self._sums.close()

    def abandon(self) -> None:
        """Close all that is open, whatever is written; nothing is to be done after `finish`."""
        self._sums.close()
        self._file.close()
        self._zip.fp = None  # so that nothing is written when it is collected


class _Summed:
    """A file that knows what was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sha = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def write(self, data: bytes) -> None:
        self._sha.update(data)
        self.size += len(data)
        self._file.write(data)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


class ZipReader:
    """Reads entries, each checked against its checksum; raises `InputError`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        try:
            self._zip = zipfile.ZipFile(place)
        except OSError as error:
            raise InputError(place, error.strerror or str(error)) from error
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InputError(place, f"not a whole zip file: {error}") from error
        self._sums = self._read_checksums()

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def names(self) -> Iterable[str]:
        """Return the entries that have a checksum."""
        return self._sums.keys()

    def read(self, name: str) -> bytes:
        """Return an entry."""
        if self._sum(name).size > MAX_LINE:
            raise InputError(self._place, f"{name} is larger than {MAX_LINE >> 20} MiB")
        return b"".join(self._chunks(name))

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield an entry's lines, without their ends."""
        begun, size = [], 0
        for chunk in self._chunks(name):
            first, *others = chunk.split(b"\n")
            begun.append(first)
            size += len(first)
            if size > MAX_LINE:
                message = f"{name} has a line of more than {MAX_LINE >> 20} MiB"
                raise InputError(self._place, message)
            for other in others:
                yield b"".join(begun)
                begun, size = [other], len(other)
        if size:
            raise InputError(self._place, f"{name} is cut off")

    def _chunks(self, name: str) -> Iterator[bytes]:
        expected, sha, size = self._sum(name), hashlib.sha256(), 0
        try:
            with self._zip.open(name) as file:
                while chunk := file.read(CHUNK):
                    sha.update(chunk)
                    size += len(chunk)
                    if size > expected.size:
                        break
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError) as error:
            raise InputError(self._place, f"{name} cannot be read: {error}") from error
        if (sha.hexdigest(), size) != expected:
            raise InputError(self._place, f"{name} is not as it was written: the checksum differs")

    def _sum(self, name: str) -> Checksum:
        if name not in self._sums:
            raise InputError(self._place, f"there is no {name} in it")
        return self._sums[name]

    def _read_checksums(self) -> Mapping[str, Checksum]:
        try:
            if self._zip.getinfo(CHECKSUMS).file_size > MAX_CHECKSUMS:
                raise InputError(self._place, f"{CHECKSUMS} is too large")
            with self._zip.open(CHECKSUMS) as file:
                rows = [line.decode().rstrip("\n").split("\t") for line in file]
            return {name: Checksum(sha256, int(size)) for sha256, size, name in rows}
        except (KeyError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            message = f"not an archive of a hub: {CHECKSUMS} is missing or broken"
            raise InputError(self._place, message) from error
