"""Compressed answers opened in bounded steps: a bomb stops at the limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from metaserver.lifecycle import Outcome
from metaserver.wire.values import CHUNK, WireError

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""The values of Content-Encoding that `Inflater` opens (RFC 9110, section 8.4.1)."""

_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS


class Inflater:
    """Opens a gzip or zlib stream; `feed` yields at most `CHUNK` bytes at a time.

    The caller counts what it takes (`Decoder` does) and stops asking; nothing is opened ahead.
    Raises `WireError` (`xml`) on a broken stream, and in `close` on one that ends early.
    """

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` opens to; take all of it before the next call."""
        while data:
            if self._stream.eof:  # gzip members may follow one another (RFC 1952, section 2.2)
                self._stream = zlib.decompressobj(_ZLIB_OR_GZIP)
            try:
                opened = self._stream.decompress(data, CHUNK)
            except zlib.error as error:
                raise WireError(Outcome.XML, f"the compressed body is broken: {error}") from error
            self._started = True
            data = self._stream.unconsumed_tail or self._stream.unused_data
            if opened:
                yield opened

    def close(self) -> None:
        """Check that the stream is whole."""
        if self._started and not self._stream.eof:
            raise WireError(Outcome.XML, "the compressed body ends early")
