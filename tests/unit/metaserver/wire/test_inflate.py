"""Compressed answers: opened in small steps, bounded, told when broken."""

from __future__ import annotations

import gzip
import zlib

import pytest

from metaserver.lifecycle import Outcome
from metaserver.wire.xmlrpc import CHUNK, Decoder, Inflater, Limits, WireError

TEXT = b"one and the same " * 20_000


def opened(data: bytes, size: int = 10_000) -> bytes:
    inflater = Inflater()
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


def test_gzip_members_may_follow_one_another() -> None:
    assert opened(gzip.compress(b"a") + gzip.compress(b"") + gzip.compress(TEXT)) == b"a" + TEXT


def test_an_empty_body_is_empty() -> None:
    assert opened(b"") == b""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"plain text", "is broken"),
        (gzip.compress(TEXT)[:-1], "ends early"),
        (gzip.compress(TEXT) + b"junk", "is broken"),
        (gzip.compress(TEXT)[:-8] + bytes(8), "is broken"),
    ],
)
def test_refuses_a_broken_stream(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message) as caught:
        opened(data)
    assert caught.value.outcome is Outcome.XML


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
