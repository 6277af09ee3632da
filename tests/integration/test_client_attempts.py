"""What an attempt and a probe come to: time, memory, usual answers, whether a server is there."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from functools import partial
from math import fsum
from xmlrpc.client import Fault

import pytest
from msgspec.structs import astuple

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Timings
from metaserver.base.states import Outcome
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.plugin import Request
from metaserver.exchange.protocols.xmlrpc import CONTENT_TYPE, Shortcut, ValueReader
from metaserver.exchange.wire.contract import Completion
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.xmlrpc import CHUNK, Value, decode_call
from tests.integration.callers import SECONDS, VOCABULARY, article_caller, call, server
from tests.integration.peers import (
    GOOD,
    Connection,
    Peer,
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


NO_HITS = check({}, (), VOCABULARY)


async def test_an_answer_of_a_historic_server_is_completed() -> None:
    old = {"normalizations": [{"dbid": "P38398", "rank": 2}, {"dbid": "P04637", "rank": 1}]}
    async with peer(answering(response(old))) as there:
        async with article_caller() as caller:
            ended, _ = await caller.call(server(there.url), 0, 1)
        assert ended.outcome is Outcome.SHAPE
        async with article_caller(completion=Completion(by_rank=True)) as caller:
            ended, answer = await caller.call(server(there.url), 0, 1)
    assert ended.outcome is Outcome.OK
    assert answer is not None
    assert answer.payloads["INT"] == [["P04637", 1, 1.0], ["P38398", 2, 0.5]]


class Reader:
    """A reader of whole answers that keeps what it is offered."""

    def __init__(self, result: CheckedAnswer | None) -> None:
        self.result = result
        self.offered: list[bytes] = []

    def __call__(self, body: bytes | bytearray) -> CheckedAnswer | None:
        self.offered.append(bytes(body))
        return self.result


async def posted(script: Script, usual: Shortcut) -> Value | CheckedAnswer:
    """Return the value of an answer, or the answer that `usual` took."""
    async with peer(script) as there, open_client() as client:
        channel = client.channel(server(there.url), Exchange(10 * CHUNK), SECONDS)
        reader = partial(ValueReader, channel.limits, usual)
        return (await channel.send(Request(b"x", CONTENT_TYPE), reader)).value


async def test_an_answer_that_is_taken_is_not_decoded() -> None:
    reader = Reader(NO_HITS)
    value = await posted(answering(GOOD), reader)
    assert (value, reader.offered) == (NO_HITS, [GOOD])


async def test_an_answer_that_is_declined_is_decoded() -> None:
    reader = Reader(None)
    value = await posted(answering(response({"a": "b"})), reader)
    assert value == {"a": "b"}


async def test_a_large_answer_is_streamed() -> None:
    reader = Reader(None)
    value = await posted(answering(response(["x" * CHUNK])), reader)
    assert (value, reader.offered) == (["x" * CHUNK], [])


async def test_an_answer_in_pieces_is_offered_whole() -> None:
    async def in_pieces(connection: Connection) -> None:
        await connection.request()
        await connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode())
        for start in range(0, len(GOOD), 100):
            await connection.send(GOOD[start : start + 100])

    reader = Reader(NO_HITS)
    await posted(in_pieces, reader)
    assert reader.offered == [GOOD]


NO_METHOD = response(Fault(-32601, "no such method"))
METHODS = response(["Annotator.getAnnotation"])


async def probed(script: Script) -> tuple[str | None, Peer]:
    """Return what is wrong with a server that follows `script`, and what it has seen."""
    async with peer(script) as there, article_caller() as caller:
        return await caller.probe(server(there.url)), there


def asked(there: Peer) -> list[str]:
    return [decode_call(request.body).method for request in there.requests]


async def test_a_server_without_a_state_is_asked_for_its_methods() -> None:
    failure, there = await probed(answering(NO_METHOD, METHODS))
    assert failure is None
    assert asked(there) == ["Annotator.getState", "system.listMethods"]


@pytest.mark.parametrize(
    "script",
    [
        answering(NO_METHOD),
        answering(b"<html>not found</html>", status="404 Not Found"),
        answering(response(Fault(1, "oops")), status="500 Internal Server Error"),
        answering(b"what?"),
        answering(response(17)),
        answering(response({"state": ["odd"]})),
        answering(response({})),
    ],
    ids=["faults", "404", "fault on 500", "no XML", "a number", "an odd state", "no state"],
)
async def test_any_word_of_its_own_says_that_it_is_there(script: Script) -> None:
    failure, _ = await probed(script)
    assert failure is None


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable"])
async def test_a_proxys_word_is_not_the_servers(status: str) -> None:
    failure, _ = await probed(answering(b"<html>nginx</html>", status=status))
    assert failure == f"http: HTTP status {status}; expected 200"


async def test_a_server_that_hangs_up_is_not_there() -> None:
    async def hangs_up(connection: Connection) -> None:
        await connection.request()

    failure, there = await probed(hangs_up)
    assert failure == "connect: the server closed the connection without an answer"
    assert there.connections == 1
