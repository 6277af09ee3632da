"""The patterns for usual answers against the decoder and the check, on answers of all kinds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_decoding import Grammar, compare, full, quick
from metaserver.tasks.plugin import answered_tasks
from tests.effort import examples

TASKS = list(answered_tasks().values())
CHARSETS = st.sampled_from([None, None, "utf-8", "us-ascii", "iso-8859-1"])


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32), CHARSETS, st.data())
def test_what_is_taken_is_what_the_decoder_reads(seed, charset, data):
    body = bytearray(Grammar(random.Random(seed)).answer().encode("utf-8", "replace"))
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 10)))
        body[start:end] = data.draw(
            st.binary(max_size=3) | st.text("0123456789.eE+- \n<>/P&", max_size=4).map(str.encode)
        )
    found = quick(bytes(body), charset, TASKS)
    if found is not None:
        assert repr(found) == repr(full(bytes(body), charset, TASKS))


def test_a_fuzz_of_some_answers_finds_no_difference() -> None:
    counts, differences = compare(4_000, seed=1)
    assert differences == []
    assert counts["written, taken"] > 100
    assert counts["written, taken, with problems"] > 30
    assert counts["mutated, taken"] > 30
    assert counts["mutated, declined"] > 1_000


@pytest.mark.nightly
def test_a_fuzz_of_many_answers_finds_no_difference() -> None:
    _, differences = compare(200_000, seed=2)
    assert differences == []
