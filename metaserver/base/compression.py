"""Compression: zstd and JSON in zstd for what is stored, zstd and gzip for what is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import zstandard
from isal import isal_zlib

ONCE = 2**26
"""The maximum number of bytes decompressed in one step."""

_local = threading.local()
GZIP_BEGIN = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""The beginning of a gzip stream (RFC 1952); results of `deflated` may follow."""
_QUICK = 2  # of isal's levels 0 to 3: a tenth of the time of zlib's first, and as small


def pack(data: bytes) -> bytes:
    """Compress bytes; level 3 is zstd's own default. Safe from any thread."""
    try:
        compressor = _local.compressor
    except AttributeError:
        compressor = _local.compressor = zstandard.ZstdCompressor(level=3)
    packed: bytes = compressor.compress(data)
    return packed


def unpack(packed: bytes, limit: int = -1) -> bytes:
    """Decompress a result of `pack`, or several in a row; at most `most` bytes.

    Raises `zstandard.ZstdError` for other bytes, and if the end is missing.

    Example: `unpack(pack(b"text"))` returns `b"text"`.
    """
    try:
        decompressor = _local.decompressor
    except AttributeError:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    if limit >= 0:
        with decompressor.stream_reader(packed, read_across_frames=True) as reader:
            begin = bytes(reader.read(limit))
        if len(begin) == limit:
            return begin
    try:
        return _unpack_one(decompressor, packed)
    except zstandard.ZstdError:  # several frames, or one of an unknown size
        return b"".join(_frames(decompressor, packed))


def _unpack_one(decompressor: zstandard.ZstdDecompressor, packed: bytes) -> bytes:
    """Decompress a single frame of known size, several times faster than a stream."""
    if not 0 <= zstandard.frame_content_size(packed) <= ONCE:
        raise zstandard.ZstdError("not a size to decompress at once")
    content: bytes = decompressor.decompress(packed, allow_extra_data=False)
    return content


def _frames(decompressor: zstandard.ZstdDecompressor, packed: bytes) -> Iterator[bytes]:
    """Yield the content of each frame; a stream reader would take a missing end for the end."""
    while packed:
        frame = decompressor.decompressobj()
        yield frame.decompress(packed)
        if not frame.eof:
            raise zstandard.ZstdError("the end of a compressed value is missing")
        packed = frame.unused_data


def pack_json(value: Any) -> bytes:
    """Compress a JSON-ready value."""
    return pack(msgspec.json.encode(value))


def unpack_json(packed: bytes) -> Any:
    """Return the value that `pack_json` compressed."""
    return msgspec.json.decode(unpack(packed))


def deflated(data: bytes) -> bytes:
    """Compress bytes to deflate blocks (RFC 1951) that end at a whole byte and are not the last.

    They refer to nothing before them: results in any order form one stream.
    """
    compressor = isal_zlib.compressobj(_QUICK, isal_zlib.DEFLATED, -15)
    packed: bytes = compressor.compress(data) + compressor.flush(isal_zlib.Z_FULL_FLUSH)
    return packed


def gzipped(data: bytes) -> bytes:
    """Compress bytes to a gzip member."""
    compressor = isal_zlib.compressobj(_QUICK, isal_zlib.DEFLATED, 31)
    packed: bytes = compressor.compress(data) + compressor.flush()
    return packed
