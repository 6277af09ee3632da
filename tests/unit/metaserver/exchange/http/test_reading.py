"""Large answers have turns: each pass of the event loop reads a piece of one of them."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import aiohttp

from metaserver.exchange.http.reading import read
from metaserver.exchange.http.transfer import LARGE, Exchange
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import CHUNK, Limits

PIECES = 20


def response(size: int) -> aiohttp.ClientResponse:
    """Return an answer of `size` bytes that has arrived, then as many pieces of one `CHUNK`."""

    async def pieces() -> AsyncIterator[bytes]:
        yield bytes(size)
        for _ in range(PIECES):
            yield bytes(CHUNK)

    return cast(
        "aiohttp.ClientResponse",
        SimpleNamespace(headers={}, content=SimpleNamespace(iter_any=pieces)),
    )


async def passes_of(*answers: aiohttp.ClientResponse) -> list[int]:
    """Read answers at the same time; return the loop's pass in which each piece was read."""
    passes: list[int] = []
    passed = 0

    async def count() -> None:
        nonlocal passed
        while True:
            await asyncio.sleep(0)
            passed += 1

    def reader(_content_type: str, _report: Report) -> Any:
        return SimpleNamespace(feed=lambda piece: passes.append(passed), close=lambda: None)

    large = asyncio.Lock()
    counting = asyncio.create_task(count())
    limits = Limits()
    await asyncio.gather(
        *(read(one, Exchange(limits.bytes), limits, reader, lambda: large) for one in answers)
    )
    counting.cancel()
    return passes


async def test_large_answers_are_read_one_piece_in_a_pass_of_the_loop() -> None:
    passes = await passes_of(*(response(LARGE + 1) for _ in range(5)))
    assert len(passes) == 5 * (1 + PIECES)
    assert max(map(passes.count, passes)) == 1


async def test_small_answers_wait_for_no_turn() -> None:
    passes = await passes_of(*(response(0) for _ in range(5)))  # of 1.25 MiB, the last of it large
    assert max(map(passes.count, passes)) >= 5
