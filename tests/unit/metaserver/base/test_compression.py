"""Blobs at rest: decompressed however their frames were written."""

import gzip
import zlib

import pytest
import zstandard

from metaserver.base import compression
from metaserver.base.compression import GZIP_BEGIN, deflated, gzipped, pack, unpack

CONTENT = b"<methodResponse/>" * 1_000


def streamed(content: bytes) -> bytes:
    """Return a frame that does not say its size."""
    compressor = zstandard.ZstdCompressor().compressobj()
    return compressor.compress(content) + compressor.flush()


@pytest.mark.parametrize(
    ("packed", "content"),
    [
        (pack(CONTENT), CONTENT),
        (pack(b""), b""),
        (pack(CONTENT) + pack(b"end"), CONTENT + b"end"),
        (streamed(CONTENT), CONTENT),
        (streamed(CONTENT) + pack(b"end"), CONTENT + b"end"),
        (b"", b""),
    ],
)
def test_frames_are_joined(packed: bytes, content: bytes) -> None:
    assert unpack(packed) == content
    assert unpack(packed, 7) == content[:7]


def test_a_large_frame_is_decompressed_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "ONCE", 100)
    assert unpack(pack(CONTENT)) == CONTENT


@pytest.mark.parametrize("packed", [b"no zstd frame", pack(CONTENT) + b"no zstd frame"])
def test_other_bytes_are_refused(packed: bytes) -> None:
    with pytest.raises(zstandard.ZstdError):
        unpack(packed)


@pytest.mark.parametrize("packed", [pack(CONTENT), streamed(CONTENT), pack(b"a") + pack(CONTENT)])
def test_a_missing_end_is_an_error_and_no_shorter_content(packed: bytes) -> None:
    whole = unpack(packed)
    for cut in (1, len(packed) // 4, len(packed) - 5):
        with pytest.raises(zstandard.ZstdError):
            unpack(packed[:-cut])
        with pytest.raises(zstandard.ZstdError):
            unpack(packed[:-cut], len(whole) + 1)


DATA = b"event: frame\n" * 500


def test_deflated_pieces_are_one_stream_in_any_order() -> None:
    other = b"data: 1\n\n"
    reader = zlib.decompressobj(31)
    assert reader.decompress(GZIP_BEGIN + deflated(DATA)) == DATA  # at once, not at the end
    assert reader.decompress(deflated(other) + deflated(DATA)) == other + DATA
    assert reader.decompress(deflated(b"")) == b""


def test_gzip_is_read_by_others_and_is_small() -> None:
    assert gzip.decompress(gzipped(DATA)) == DATA
    assert gzip.decompress(gzipped(b"")) == b""
    assert max(len(gzipped(DATA)), len(deflated(DATA))) < len(DATA) / 20
