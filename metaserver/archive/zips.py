"""Writing of zips as streams, with a checksum for every entry."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from metaserver.archive.layout import CHECKSUMS
from metaserver.files import private

MOMENT = (1980, 1, 1, 0, 0, 0)  # of every entry: the same store makes the same archive
CHUNK = 2**16


class ZipWriter:
    """A writer of entries into a file that only its owner may read; `finish` closes it."""

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
        """Yield a file for one entry; no other may be open."""
        with self._zip.open(_info(name), "w", force_zip64=True) as file:
            out = _Summed(file)
            yield out
            out.flush()
        self._sums.write(f"{out.digest}\t{out.size}\t{name}\n".encode())
        self.count += 1

    def finish(self) -> None:
        """Write the checksums, and close the zip."""
        self._sums.seek(0)
        with self._zip.open(_info(CHECKSUMS), "w", force_zip64=True) as out:
            while chunk := self._sums.read(CHUNK):
                out.write(chunk)
        self._zip.close()
        self._file.close()
        self._sums.close()

    def abandon(self) -> None:
        """Close all files without finishing the zip; does nothing after `finish`."""
        self._sums.close()
        self._file.close()
        self._zip.fp = None  # so that nothing is written when it is collected


class _Summed:
    """A file with the checksum and size of the data written to it; small writes are joined."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sha = hashlib.sha256()
        self._held: list[bytes] = []
        self._held_size = 0
        self.size = 0

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size >= CHUNK:
            self.flush()

    def flush(self) -> None:
        data = b"".join(self._held)
        self._held, self._held_size = [], 0
        self._sha.update(data)
        self.size += len(data)
        self._file.write(data)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def pretty(value: Any) -> bytes:
    """Return a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
