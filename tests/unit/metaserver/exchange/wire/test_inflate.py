"""Compressed answers: decompressed in small steps, bounded, refused when broken."""

import gzip
import zlib

import pytest

from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import CHUNK, Limits, WireError
from metaserver.exchange.wire.xmlrpc import Decoder, Inflater

TEXT = b"one and the same " * 20_000


def raw(data: bytes, level: int = -1) -> bytes:
    """Return deflate without the header of zlib."""
    compressor = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def opened(data: bytes, size: int = 10_000, encoding: str = "gzip") -> bytes:
    inflater = Inflater(encoding)
    pieces = []
    for start in range(0, len(data), size):
        for piece in inflater.feed(data[start : start + size]):
            assert 0 < len(piece) <= CHUNK
            pieces.append(piece)
    inflater.close()
    return b"".join(pieces)


@pytest.mark.parametrize("size", [1, 100, 10**6])
@pytest.mark.parametrize("data", [gzip.compress(TEXT), zlib.compress(TEXT)], ids=["gzip", "zlib"])
def test_opens_both_formats_wherever_chunks_end(data: bytes, size: int) -> None:
    assert opened(data, size) == TEXT


@pytest.mark.parametrize("wbits", [-zlib.MAX_WBITS, zlib.MAX_WBITS, 16 + zlib.MAX_WBITS])
def test_a_body_is_whole_whatever_its_length(wbits: int) -> None:
    """The last byte may contain both a match beyond the step and the end of the stream."""
    encoding = "gzip" if wbits > zlib.MAX_WBITS else "deflate"
    for length in [*range(CHUNK - 40, CHUNK + 300), *range(2 * CHUNK - 20, 2 * CHUNK + 280)]:
        text = b"<" + b"a" * length
        compressor = zlib.compressobj(wbits=wbits)
        assert opened(compressor.compress(text) + compressor.flush(), 10**6, encoding) == text


@pytest.mark.parametrize("size", [1, 2, 3, 100, 10**6])
@pytest.mark.parametrize("text", [TEXT[: CHUNK + 99], b"", b"x", bytes(range(256)) * 300])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_deflate_is_read_with_and_without_its_header(text: bytes, level: int, size: int) -> None:
    for data in (raw(text, level), zlib.compress(text, level), gzip.compress(text, level)):
        assert opened(data, size, "deflate") == text


XML = b"<?xml version='1.0'?>"
NO_GZIP = [raw(TEXT), XML, b"<methodResponse/>", b"\xff"]
BROKEN = [b"\x4b", raw(TEXT)[:1], raw(TEXT)[:-1], XML]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [*((data, "gzip") for data in NO_GZIP), *((data, "deflate") for data in BROKEN)],
)
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_what_is_of_another_form_or_broken_is_refused(data, encoding, size):
    with pytest.raises(WireError) as caught:
        opened(data, size, encoding)
    assert caught.value.outcome is Outcome.SYNTAX


def test_many_raw_streams_are_too_many() -> None:
    with pytest.raises(WireError, match="more than 1,000 gzip streams") as caught:
        opened(raw(b"") * 2_000, encoding="deflate")
    assert caught.value.outcome is Outcome.TOO_LARGE


def test_gzip_members_may_follow_one_another() -> None:
    assert opened(gzip.compress(b"a") + gzip.compress(b"") + gzip.compress(TEXT)) == b"a" + TEXT


def test_an_empty_body_is_empty() -> None:
    assert opened(b"") == b""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"plain text", "is broken"),
        (gzip.compress(TEXT)[:-1], "ends before its data"),
        (gzip.compress(TEXT) + b"junk", "is broken"),
        (gzip.compress(TEXT)[:-8] + bytes(8), "is broken"),
    ],
)
def test_refuses_a_broken_stream(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message) as caught:
        opened(data)
    assert caught.value.outcome is Outcome.SYNTAX


def test_a_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(b"<methodResponse>" + b" " * 50_000_000)
    decoder, taken = Decoder(Limits(bytes=1_000_000)), []

    def take_all() -> None:
        for piece in Inflater().feed(bomb):
            taken.append(len(piece))
            decoder.feed(piece)

    with pytest.raises(WireError, match="more than 1,000,000 bytes") as caught:
        take_all()
    assert caught.value.outcome is Outcome.TOO_LARGE
    assert sum(taken) <= 1_000_000 + CHUNK
