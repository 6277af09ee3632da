"""Measurements of a request under way."""

import asyncio
import random

import pytest

from metaserver.base.compression import unpack
from metaserver.base.records import Timings
from metaserver.exchange.http.transfer import Exchange


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000, 300_000])
async def test_an_answer_is_kept_up_to_its_limit(size: int) -> None:
    exchange = Exchange(200_000)
    data = random.Random(size).randbytes(size)
    for at in range(0, size, 10_007):
        exchange.keep(data[at : at + 10_007])
    assert unpack(exchange.raw()) == data[:200_000]
    assert exchange.raw() == exchange.raw()  # asking twice packs nothing twice


async def test_the_kept_answer_is_compressed() -> None:
    exchange = Exchange(2**26)
    for _ in range(1_000):
        exchange.keep(b" " * 65_536)
    assert len(exchange.raw()) < 2**17


async def test_nothing_marked_is_nothing_reached() -> None:
    found = Exchange(1).timings()
    assert found == Timings(queue=found.queue, total=0.0)
    assert found.queue >= 0.0


async def test_the_last_of_several_marks_counts() -> None:
    exchange = Exchange(1)
    for name in ("begin", "sent", "sent", "header", "last"):
        exchange.mark(name)
        await asyncio.sleep(0.001)
    found = exchange.timings()
    assert found.connect is None
    assert None not in (found.send, found.wait, found.transfer, found.parse)
    assert (found.send or 0.0) >= 0.002


async def test_an_answer_that_comes_before_the_request_is_out_was_not_waited_for() -> None:
    exchange = Exchange(1)
    for name in ("begin", "header", "sent", "last"):
        exchange.mark(name)
        await asyncio.sleep(0.001)
    assert exchange.timings().wait == 0.0


async def test_only_a_kept_connection_without_a_word_is_stale() -> None:
    exchange = Exchange(1)
    assert not exchange.stale
    exchange.reused = True
    assert exchange.stale
    exchange.mark("header")
    assert not exchange.stale
    exchange.restart()
    assert not exchange.stale


async def test_a_request_that_begins_once_more_keeps_nothing_of_an_earlier_answer() -> None:
    exchange = Exchange(100)
    exchange.keep(b"x" * 200)
    exchange.bytes_in += 200
    exchange.mark("header")
    exchange.report.note("a", "odd")
    exchange.restart()
    assert (unpack(exchange.raw()), exchange.opened, exchange.report.problem_count) == (b"", 0, 0)
    exchange.keep(b"y" * 200)
    assert unpack(exchange.raw()) == b"y" * 100
    assert exchange.timings().wait is None
    assert exchange.bytes_in == 200  # all that came counts
