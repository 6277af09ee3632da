"""Sequential reading of a source file, plain or gzip, which is hashed and counted meanwhile."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISFIFO
from typing import Any, TypeAlias

from isal import igzip
from isal.isal_zlib import error as UnpackError  # noqa: N812

from metaserver.base.errors import InputError

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of bytes read since the last call."""

_BUFFER = 1 << 20
_PIECE = 1 << 13
"""The bytes unpacked at a time, and so the precision of a truncated file's line."""
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def unwatched(size: int) -> None:
    """Ignore the progress."""


class _Watched(io.RawIOBase):
    """A raw file that hashes the bytes read from it, and reports their number."""

    def __init__(self, file: io.FileIO, advance: Advance) -> None:
        self._file = file
        self._advance = advance
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._file.readinto(buffer) or 0
        self.sha256.update(memoryview(buffer)[:size])
        self._advance(size)
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """A gzip stream unpacked in pieces: the data before a cut is returned before the error."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._stream: Any = igzip.IGzipFile(fileobj=file)  # type: ignore[no-untyped-call]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(min(_PIECE, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


class SourceFile:
    """A source file being read, a context manager; `line` is the number of the last line."""

    def __init__(self, path: Path, advance: Advance = unwatched) -> None:
        self.path = path
        self.line = 0
        try:
            status = path.stat()
            if S_ISFIFO(status.st_mode):
                raise InputError(path, "a pipe; expected a file: its beginning is read twice")
            file = path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror}") from error
        self.size = status.st_size
        self._raw = _Watched(file, advance)
        self._file: io.BufferedReader[Any] = io.BufferedReader(self._raw, _BUFFER)
        if self._file.peek(2)[:2] == _GZIP:
            self._file = io.BufferedReader(_Unpacked(self._file), _BUFFER)
        if self.start()[:3] == _BYTE_ORDER_MARK:
            self._file.read(3)

    def __enter__(self) -> SourceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    @property
    def sha256(self) -> str:
        """The stored (compressed) file's checksum, after it was read to its end."""
        return self._raw.sha256.hexdigest()

    def start(self) -> bytes:
        """Return the (unpacked) text's beginning without consuming it."""
        with _Unpacking(self):
            return self._file.peek(1)

    def lines(self) -> Iterator[bytes]:
        """Yield the remaining lines without their ends, keeping `line` up to date."""
        with _Unpacking(self):
            for line in self._file:
                self.line += 1
                yield line.rstrip(b"\r\n")

    def block(self, size: int) -> bytes:
        """Return the next complete lines, about `size` bytes; empty at the end."""
        with _Unpacking(self):
            return self._file.read(size) + self._file.readline()

    def error(self, message: str, line: int | None = None) -> InputError:
        """Return the error for a line, by default the last line read."""
        return InputError(self.path, message, line=self.line if line is None else line)


class _Unpacking:
    """A context that converts errors of a damaged gzip file into an `InputError` with its line."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, EOFError):
            raise self._source.error("truncated: the gzip stream ends too early") from error
        if isinstance(error, OSError | UnpackError):
            raise self._source.error(f"cannot be read: {error}") from error
