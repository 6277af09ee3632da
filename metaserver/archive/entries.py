"""Reading of an archive's entry as a stream: lines and byte blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from metaserver.model.errors import InputError

MAX_PIECE = 2**28
"""The longest line, and the largest file or record, that is read into memory."""


class ArchiveEntry:
    """The content of an entry, read in pieces from its chunks; `place` names it in errors."""

    def __init__(self, place: str, chunks: Iterator[bytes]) -> None:
        self.place = place
        self._chunks = chunks
        self._chunk = b""
        self._at = 0

    def line(self) -> bytes | None:
        """Return the next line without its end; None when all is read."""
        parts: list[bytes] = []
        size = 0
        while True:
            end = self._chunk.find(b"\n", self._at)
            part = self._chunk[self._at : end if end >= 0 else len(self._chunk)]
            parts.append(part)
            size += len(part)
            self._require_bounded(size)
            if end >= 0:
                self._at = end + 1
                return b"".join(parts)
            if not self._next():
                if size:
                    raise InputError(self.place, "is cut off")
                return None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines without their ends."""
        while (line := self.line()) is not None:
            yield line

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; raises `InputError` where there are fewer."""
        self._require_bounded(size)
        parts: list[bytes] = []
        while True:
            part = self._chunk[self._at : self._at + size]
            parts.append(part)
            self._at += len(part)
            size -= len(part)
            if not size:
                return b"".join(parts)
            if not self._next():
                raise InputError(self.place, "is cut off")

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        parts = [self._chunk[self._at :]]
        size = len(parts[0])
        while self._next():
            parts.append(self._chunk)
            size += len(self._chunk)
            self._require_bounded(size)
        return b"".join(parts)

    def _next(self) -> bool:
        self._chunk, self._at = next(self._chunks, b""), 0
        return bool(self._chunk)

    def _require_bounded(self, size: int) -> None:
        if size > MAX_PIECE:
            raise InputError(self.place, f"has a piece of more than {MAX_PIECE >> 20} MiB")
