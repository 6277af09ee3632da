"""Compression of stored blobs: zstd, and JSON in zstd."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import msgspec
import zstandard

ONCE = 2**26
"""The most bytes that are decompressed in one step."""

_local = threading.local()


def pack(data: bytes) -> bytes:
    """Compress bytes; level 3 is zstd's own default. Safe from any thread."""
    try:
        compressor = _local.compressor
    except AttributeError:
        compressor = _local.compressor = zstandard.ZstdCompressor(level=3)
    packed: bytes = compressor.compress(data)
    return packed


def unpack(packed: bytes, most: int = -1) -> bytes:
    """Decompress one result of `pack`, or several one after another; at most `most` bytes."""
    try:
        decompressor = _local.decompressor
    except AttributeError:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    if most < 0:
        with suppress(zstandard.ZstdError):  # several frames, or one of an unknown size
            return _unpack_one(decompressor, packed)
    with decompressor.stream_reader(packed, read_across_frames=True) as reader:
        return bytes(reader.read(most))


def _unpack_one(decompressor: zstandard.ZstdDecompressor, packed: bytes) -> bytes:
    """Decompress a single frame of a known size, at several times a stream's speed."""
    if not 0 <= zstandard.frame_content_size(packed) <= ONCE:
        raise zstandard.ZstdError("not a size to decompress at once")
    content: bytes = decompressor.decompress(packed, allow_extra_data=False)
    return content


def pack_json(value: Any) -> bytes:
    """Compress a JSON-ready value."""
    return pack(msgspec.json.encode(value))


def unpack_json(packed: bytes) -> Any:
    """Return the value that `pack_json` compressed."""
    return msgspec.json.decode(unpack(packed))
