"""Time and memory of an attempt."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from math import fsum

from msgspec.structs import astuple

from metaserver.model.records import Timings
from metaserver.model.states import Outcome
from tests.integration.callers import article_caller, call, server
from tests.integration.peers import (
    GOOD,
    Connection,
    Script,
    answering,
    closes_on_the_next_request,
    peer,
    response,
    silent,
)

SLOW = 0.05  # seconds: far above what loopback takes by itself


async def timings(script: Script, *, time_limit: float = 60.0) -> Timings:
    async with peer(script) as there:
        ended, _ = await call(there.url, time_limit=time_limit)
    return ended.timings


def add_up(found: Timings) -> bool:
    """Return whether the parts of the request are no more than the whole."""
    parts = (found.dns, found.connect, found.send, found.wait, found.transfer)
    return fsum(part or 0.0 for part in parts) <= found.total + 1e-6


async def test_every_phase_of_an_answered_request_is_there() -> None:
    found = await timings(answering(GOOD))
    assert found.dns is None  # an address needs none
    assert None not in (found.queue, found.connect, found.send, found.wait, found.transfer)
    assert found.parse is not None
    assert all(part is None or part >= 0.0 for part in astuple(found))
    assert add_up(found)


async def test_a_name_is_looked_up_and_that_is_not_counted_as_connecting() -> None:
    async with peer(answering(GOOD)) as there:
        ended, _ = await call(there.url.replace("127.0.0.1", "localhost"))
    assert ended.outcome is Outcome.OK
    assert ended.timings.dns is not None
    assert add_up(ended.timings)


async def test_a_kept_connection_is_not_connected_again() -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        first, _ = await caller.call(server(there.url), 0, 1)
        second, _ = await caller.call(server(there.url), 0, 1)
    assert first.timings.connect is not None
    assert second.timings.connect is None
    assert add_up(second.timings)


async def test_a_server_that_thinks_is_waited_for() -> None:
    async def thinks(connection: Connection) -> None:
        await connection.request()
        await asyncio.sleep(SLOW)
        await connection.respond(GOOD)

    found = await timings(thinks)
    assert found.wait is not None
    assert found.wait >= SLOW * 0.9
    assert add_up(found)


async def test_a_server_that_sends_slowly_is_transferred_from() -> None:
    async def sends_slowly(connection: Connection) -> None:
        await connection.request()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode()
        await connection.send(head + GOOD[:100])
        await asyncio.sleep(SLOW)
        await connection.send(GOOD[100:])

    found = await timings(sends_slowly)
    assert found.transfer is not None
    assert found.transfer >= SLOW * 0.9


async def test_what_was_not_reached_is_none() -> None:
    found = await timings(silent, time_limit=1.0)
    assert found.send is not None
    assert (found.wait, found.transfer, found.parse) == (None, None, None)
    assert found.total >= 0.9

    ended, _ = await call("http://127.0.0.1:1/")
    assert astuple(ended.timings)[1:7] == (None,) * 6


async def test_a_request_begun_again_is_timed_as_it_went_in_the_end() -> None:
    async with peer(closes_on_the_next_request) as there, article_caller() as caller:
        await caller.call(server(there.url), 0, 1)
        ended, _ = await caller.call(server(there.url), 0, 1)
    assert ended.timings.connect is not None
    assert add_up(ended.timings)


MEMORY = """
import asyncio, resource, sys
from tests.integration.callers import call

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

async def measure(url, warm):
    await call(warm)
    before = peak()
    ended, _ = await call(url)
    print(ended.outcome, peak() - before)

asyncio.run(measure(*sys.argv[1:]))
"""


async def grown(script: Script) -> tuple[str, int]:
    """Return the outcome of a call in a process of its own, and how far its memory grew (bytes)."""
    async with peer(script) as there, peer(answering(GOOD)) as warm:
        run = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", MEMORY, there.url, warm.url],
            check=True,
            capture_output=True,
            text=True,
        )
    outcome, size = run.stdout.split()
    return outcome, int(size)


async def test_a_gzip_bomb_takes_little_memory() -> None:
    bomb = gzip.compress(b"<?xml version='1.0'?><methodResponse>" + b" " * 2**28)
    outcome, size = await grown(answering(bomb, content_encoding="gzip"))
    assert outcome == "too_large"
    assert size < 40 * 2**20


async def test_an_endless_string_takes_no_more_than_its_limit_allows() -> None:
    async def endless(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\n\r\n<methodResponse><params><param><value>")
        while True:
            await connection.send(b"x" * 65_536)

    outcome, size = await grown(endless)
    assert outcome == "too_large"  # at 64 MiB
    assert size < 300 * 2**20


async def test_a_large_answer_lets_others_have_their_turn() -> None:
    hits = [{"dbid": "P04637", "rank": rank, "confidence": 0.5} for rank in range(1, 20_001)]
    large = gzip.compress(response({"normalizations": hits}), 1)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with peer(answering(large, content_encoding="gzip")) as there:
        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        ended, _ = await call(there.url)
        counting.cancel()
    assert ended.outcome is Outcome.PARTIAL  # one accession 20,000 times
    assert turns > len(response({"normalizations": hits})) / 65_536
