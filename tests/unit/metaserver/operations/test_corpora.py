"""Memory goes back to the system when it is told to."""

import sys

import psutil
import pytest

from metaserver.operations.corpora import give_back

COUNT, BYTES = 60_000, 1_000


@pytest.mark.skipif(sys.platform != "linux", reason="it asks glibc")
def test_what_lies_between_blocks_in_use_is_given_back() -> None:
    blocks = [bytes(BYTES) for _ in range(COUNT)]
    kept = blocks[::1_000]
    del blocks
    before = psutil.Process().memory_info().rss
    give_back()
    assert before - psutil.Process().memory_info().rss > COUNT * BYTES / 2
    assert len(kept) == COUNT / 1_000
