"""Writing zips as streams, with a checksum for every entry.

The format is PKWARE's APPNOTE 6.3, with 64-bit sizes (4.5.3). zipfile cannot use another
compressor: zlib's took more than half an export's time, ISA-L's takes a tenth of that. It works in
its own thread, and so do checksums and writing.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from isal import isal_zlib

from metaserver.base import files

CHECKSUMS = "checksums.tsv"
"""The last entry: SHA-256, size and name of each other entry, a line per entry."""
CHUNK = 2**18
"""The bytes that are compressed at a time."""
AHEAD = 8
"""The most works that wait for the compressor: each has a chunk at most."""
LARGE = 2**32 - 1
"""The smallest number that takes 64 bits."""
LINES = 1_000
LEVEL = 2
"""ISA-L's own default: zlib's level 6 saves a tenth on answers at a twentieth of the speed."""

_MOMENT = (0, 0x21)  # 1980-01-01 of every entry: the same store makes the same archive
_VERSION = 45  # that has sizes of 64 bits
_FLAGS, _DEFLATED = 0x800, 8  # names are UTF-8
_ELSEWHERE = 0xFFFFFFFF  # in place of a number that is given with 64 bits
_MODE = 0o600 << 16
_UNIX = 3 << 8
_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_CRC = 14  # the checksum's place in a local header
_SIZES = struct.Struct("<2H2Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_PLACES = struct.Struct("<2H3Q")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")


class ZipWriter:
    """Writes entries into a file that only its owner may read; `finish` closes it.

    A thread compresses, sums and writes each entry while the next are made.
    """

    def __init__(self, out: Path) -> None:
        self._file = files.create(out)
        self._sums = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (closed by `abandon`)
        self._thread = ThreadPoolExecutor(1, "zip")
        self._ahead: deque[Future[None]] = deque()
        self._directory: list[bytes] = []
        self.count = 0

    def write(self, name: str, content: bytes) -> None:
        """Write an entry."""
        with self.entry(name) as out:
            out.write(content)

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write an entry from whole lines."""
        rest = iter(lines)
        with self.entry(name) as out:
            while text := "".join(islice(rest, LINES)):
                out.write(text.encode())

    @contextmanager
    def entry(self, name: str) -> Iterator[_Entry]:
        """Yield a file for an entry; no other may be open."""
        out = _Entry(self._file, self._submit, name.encode())
        self._submit(out.begin)
        yield out
        out.hand_over()
        self._submit(self._end, out)
        self.count += 1

    def finish(self) -> None:
        """Write the checksums, and close the zip."""
        self._wait(0)
        self._sums.seek(0)
        with self.entry(CHECKSUMS) as out:
            while chunk := self._sums.read(CHUNK):
                out.write(chunk)
        self._wait(0)
        self._file.write(self._index())
        self.abandon()

    def abandon(self) -> None:
        """Close all files without finishing the zip; does nothing after `finish`."""
        self._thread.shutdown(cancel_futures=True)
        self._sums.close()
        self._file.close()

    def _submit(self, work: Callable[..., None], *args: Any) -> None:
        """Have the thread do a work after those before it."""
        self._ahead.append(self._thread.submit(work, *args))
        self._wait(AHEAD)

    def _wait(self, count: int) -> None:
        """Wait until at most `limit` works are left; raises what a finished work raised."""
        while len(self._ahead) > count:
            self._ahead.popleft().result()

    def _end(self, entry: _Entry) -> None:
        entry.finish()
        self._directory.append(_central_header(entry))
        if entry.name != CHECKSUMS.encode():
            line = f"{entry.sha.hexdigest()}\t{entry.size}\t".encode()
            self._sums.write(line + entry.name + b"\n")

    def _index(self) -> bytes:
        """Return the directory with all entries, which is a zip's end."""
        place, count = self._file.tell(), len(self._directory)
        directory = b"".join(self._directory)
        size = len(directory)
        rest = _END64.size - 12
        end64 = _END64.pack(
            b"PK\6\6", rest, _VERSION | _UNIX, _VERSION, 0, 0, count, count, size, place
        )
        locator = _LOCATOR.pack(b"PK\6\7", 0, place + size, 1)
        entry_count, near = min(count, 0xFFFF), min(place, _ELSEWHERE)
        end = _END.pack(b"PK\5\6", 0, 0, entry_count, entry_count, min(size, _ELSEWHERE), near, 0)
        return directory + end64 + locator + end


class _Entry:
    """A file whose data is compressed, summed and written by a thread; small writes are joined.

    `begin`, `finish` and what `hand_over` submits run in the thread.
    """

    def __init__(self, file: IO[bytes], submit: Callable[..., None], name: bytes) -> None:
        self.name = name
        self.place = 0  # of its local header
        self.sha = hashlib.sha256()
        self.crc = 0
        self.size = 0
        self.packed = 0
        self._file = file
        self._submit = submit
        self._compressor = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        self._held: list[bytes] = []
        self._held_size = 0

    def write(self, data: bytes) -> None:
        """Write data; what has come before is compressed meanwhile."""
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size >= CHUNK:
            self.hand_over()

    def hand_over(self) -> None:
        """Have the thread compress what is held."""
        data = b"".join(self._held)
        self._held, self._held_size = [], 0
        self._submit(self._take, data)

    def begin(self) -> None:
        """Write the local header, whose checksum and sizes are not known yet."""
        self.place = self._file.tell()
        self._file.write(_local_header(self.name))
        self._file.write(_SIZES.pack(1, _SIZES.size - 4, 0, 0))

    def finish(self) -> None:
        """Write what the compressor holds, and complete the local header."""
        self._keep(self._compressor.flush())
        end = self._file.tell()
        self._file.seek(self.place + _LOCAL_CRC)
        self._file.write(struct.pack("<I", self.crc))
        self._file.seek(self.place + _LOCAL.size + len(self.name))
        self._file.write(_SIZES.pack(1, _SIZES.size - 4, self.size, self.packed))
        self._file.seek(end)

    def _take(self, data: bytes) -> None:
        self.sha.update(data)
        self.crc = isal_zlib.crc32(data, self.crc)
        self.size += len(data)
        self._keep(self._compressor.compress(data))

    def _keep(self, packed: bytes) -> None:
        self.packed += len(packed)
        self._file.write(packed)


def _local_header(name: bytes) -> bytes:
    return (
        _LOCAL.pack(
            b"PK\3\4", _VERSION, _FLAGS, _DEFLATED, *_MOMENT, 0, _ELSEWHERE, _ELSEWHERE,
            len(name), _SIZES.size,
        )
        + name
    )  # fmt: skip


def _central_header(entry: _Entry) -> bytes:
    """Return a directory entry; large sizes and places have 64 bits."""
    values = (entry.packed, entry.size, entry.place)
    extra = b""
    if max(values) >= LARGE:
        extra = _PLACES.pack(1, _PLACES.size - 4, entry.size, entry.packed, entry.place)
        values = (_ELSEWHERE, _ELSEWHERE, _ELSEWHERE)
    packed, size, place = values
    fixed = _CENTRAL.pack(
        b"PK\1\2", _VERSION | _UNIX, _VERSION, _FLAGS, _DEFLATED, *_MOMENT, entry.crc, packed,
        size, len(entry.name), len(extra), 0, 0, 0, _MODE, place,
    )  # fmt: skip
    return fixed + entry.name + extra
