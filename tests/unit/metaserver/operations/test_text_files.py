"""Uploaded text files: unpacked within bounds, or refused for a reason that can be read."""

import gzip
import random
from collections.abc import Callable

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations.text_files import MOST_BYTES, MOST_LINES, unpacked

LINES = b"a\tP04637\n" * 1_000


@pytest.mark.parametrize(
    ("piece", "count"),
    [(b"", 1), (b"\n", 1), (LINES, 1), (b"\0", MOST_BYTES), (b"\n", MOST_LINES)],
    ids=["empty", "line end", "small", "largest", "longest"],
)
def test_a_plain_file_is_read_up_to_the_bounds(piece: bytes, count: int) -> None:
    content = piece * count
    assert unpacked(content) is content


@pytest.mark.parametrize(
    "make",
    [bytes, lambda: LINES, lambda: bytes(2**20), lambda: random.Random(1).randbytes(2**21)],
    ids=["empty", "small", "dense", "random"],
)
def test_a_gzip_file_is_unpacked(make: Callable[[], bytes]) -> None:
    content = make()
    assert unpacked(gzip.compress(content)) == content


@pytest.mark.parametrize(
    ("piece", "count", "refusal", "reason"),
    [
        (
            gzip.compress(bytes(2**21)),
            1,
            Refusal.TOO_LARGE,
            "unpacks to more than 200 times its size",
        ),
        (gzip.compress(gzip.compress(LINES)), 1, Refusal.INVALID, "gzip in gzip is not read"),
        (gzip.compress(LINES)[:-9], 1, Refusal.INVALID, "broken gzip file"),
        (b"\x1f\x8b" + LINES, 1, Refusal.INVALID, "broken gzip file"),
        (b"\0", MOST_BYTES + 1, Refusal.TOO_LARGE, "larger than 32 MiB"),
        (b"\n", MOST_LINES + 1, Refusal.TOO_LARGE, "more than 500,000 lines, or tags"),
        (b"<", MOST_LINES + 1, Refusal.TOO_LARGE, "more than 500,000 lines, or tags"),
    ],
    ids=["dense", "twice", "cut", "garbled", "bytes", "lines", "tags"],
)
def test_what_is_beyond_the_bounds_is_refused(piece, count, refusal, reason):
    with pytest.raises(RefusedError, match=reason) as caught:
        unpacked(piece * count)
    assert caught.value.refusal is refusal
    assert caught.value.field == "content"
