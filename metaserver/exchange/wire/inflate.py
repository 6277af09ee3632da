"""Decompression of answers in bounded steps: a decompression bomb stops at the limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import CHUNK, WireError

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""The values of Content-Encoding that `Inflater` decompresses (RFC 9110, section 8.4.1)."""

MAX_STREAMS = 1_000
"""The most gzip streams in a body: millions of streams without content would fit into one."""

_GZIP = b"\x1f\x8b"
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS


class Inflater:
    """A decompressor of a gzip or zlib stream; `feed` yields at most `CHUNK` bytes at a time.

    A `deflate` stream is also read without its zlib header: RFC 9110, section 8.4.1.2, notes that
    servers omit it. The caller counts the bytes (as `Decoder` does) and stops; nothing is
    decompressed ahead. Raises `WireError`: `syntax` on a broken stream, and in `close` on one that
    ends early; `too_large` on too many streams.
    """

    def __init__(self, encoding: str = "gzip") -> None:
        self._format = None if encoding == "deflate" else _ZLIB_OR_GZIP  # not known yet
        self._stream = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._first = b""
        self._started = False
        self._streams = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed `data`; consume all of it before the next call."""
        if self._format is None:
            data = self._detect_format(data)
        full = False  # zlib may hold more output, although it has taken all of `data`
        while data or (full and not self._stream.eof):
            if self._stream.eof:  # gzip members may follow one another (RFC 1952, section 2.2)
                self._next_stream()
            try:
                opened = self._stream.decompress(data, CHUNK)
            except zlib.error as error:
                raise WireError(
                    Outcome.SYNTAX, f"the compressed body is broken: {error}"
                ) from error
            self._started = True
            data = self._stream.unconsumed_tail or self._stream.unused_data
            full = len(opened) == CHUNK
            if opened:
                yield opened

    def _detect_format(self, data: bytes) -> bytes:
        """Return the bytes to decompress, once the first two show the format."""
        data = self._first + data
        if len(data) < 2:
            self._first, self._started = data, bool(data)
            return b""
        self._format = _ZLIB_OR_GZIP if data.startswith(_GZIP) or _is_zlib(data) else _RAW
        self._stream = zlib.decompressobj(self._format)
        return data

    def _next_stream(self) -> None:
        self._streams += 1
        if self._streams > MAX_STREAMS:
            raise WireError(Outcome.TOO_LARGE, f"more than {MAX_STREAMS:,} gzip streams")
        self._stream = zlib.decompressobj(self._format or _ZLIB_OR_GZIP)

    def close(self) -> None:
        """Check that the stream is complete; raises `WireError` where it is not."""
        if self._started and not self._stream.eof:
            raise WireError(Outcome.SYNTAX, "the compressed body ends early")


def _is_zlib(data: bytes) -> bool:
    """Return whether two bytes are a zlib header: its method, and its check (RFC 1950, 2.2)."""
    return data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
