"""What an attempt and a probe come to: time, memory, usual answers, whether a server is there."""

import asyncio
import gzip
import threading
from functools import partial
from math import fsum
from typing import Any, Literal
from xmlrpc.client import Fault

import pytest
from msgspec.structs import astuple

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Timings
from metaserver.base.states import Outcome
from metaserver.exchange.http import caller as caller_module
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.plugin import Request
from metaserver.exchange.protocols.xmlrpc import CONTENT_TYPE, ValueReader
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import CHUNK
from metaserver.exchange.wire.xmlrpc import decode_call
from tests.integration.callers import SECONDS, VOCABULARY, article_caller, call, server
from tests.integration.peers import (
    ANSWER,
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
from tests.waiting import PATIENCE, until

SLOW = 0.05  # seconds: far above what loopback takes by itself


def add_up(found: Timings) -> bool:
    """Return whether the parts of the request are no more than the whole."""
    parts = (found.dns, found.connect, found.send, found.wait, found.transfer)
    return fsum(part or 0.0 for part in parts) <= found.total + 1e-6


async def test_each_part_of_a_request_is_timed_by_itself() -> None:
    async def slow(connection: Connection) -> None:
        await connection.request()
        await asyncio.sleep(SLOW)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode()
        await connection.send(head + GOOD[:100])
        await asyncio.sleep(SLOW)
        await connection.send(GOOD[100:])

    async with peer(slow) as there:
        ended, _ = await call(there.url.replace("127.0.0.1", "localhost"))
    found = ended.timings
    assert None not in (found.dns, found.connect, found.send)
    assert (found.wait or 0.0) >= SLOW * 0.9
    assert (found.transfer or 0.0) >= SLOW * 0.9
    assert add_up(found)


@pytest.mark.parametrize("script", [answering(GOOD), closes_on_the_next_request])
async def test_only_a_connection_that_is_made_is_timed(script: Script) -> None:
    async with peer(script) as there, article_caller() as caller:
        await caller.call(server(there.url), 0, 1)
        ended, _ = await caller.call(server(there.url), 0, 1)
        assert (ended.timings.connect is not None) is (there.connections == 2)
    assert add_up(ended.timings)


async def test_what_was_not_reached_is_none() -> None:
    async with peer(silent) as there:
        ended, _ = await call(there.url, time_limit=1.0)
    found = ended.timings
    assert found.send is not None
    assert (found.wait, found.transfer, found.parse) == (None, None, None)
    assert found.total >= 0.9

    ended, _ = await call("http://127.0.0.1:1/")
    assert astuple(ended.timings)[1:7] == (None,) * 6


@pytest.mark.slow
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


class Turns(asyncio.Lock):
    """The turns of large answers, with the number of answers that wait for theirs."""

    waiting = 0

    async def acquire(self) -> Literal[True]:
        self.waiting += 1
        try:
            return await super().acquire()
        finally:
            self.waiting -= 1


async def test_large_answers_are_at_work_one_at_a_time_and_small_ones_do_not_wait(monkeypatch):
    """Nor does the wait count as the server's time."""
    real, loop = caller_module.check, asyncio.get_running_loop()
    at_work, most, goes_on = 0, 0, threading.Event()

    def held(*args: Any, **kwargs: Any) -> CheckedAnswer:
        nonlocal at_work, most
        if threading.current_thread() is threading.main_thread():
            return real(*args, **kwargs)
        at_work += 1
        most = max(most, at_work)
        goes_on.wait(PATIENCE)
        at_work -= 1
        return real(*args, **kwargs)

    monkeypatch.setattr(caller_module, "check", held)
    large = response({**ANSWER, "note": "x" * 2 * 2**20})
    async with (
        peer(answering(large)) as there,
        peer(answering(response({}))) as small,
        article_caller() as caller,
    ):
        turns = caller._client.large = Turns()
        one = server(there.url, concurrency=4)
        calls = [asyncio.create_task(caller.call(one, 0, number)) for number in (1, 2, 3)]
        await until(lambda: at_work == 1 and turns.waiting == 2)
        ended, _ = await caller.call(server(small.url, concurrency=4), 0, 4)
        assert ended.outcome is Outcome.OK
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 2 * SECONDS)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        goes_on.set()
        ends = [(await ending)[0].outcome for ending in calls]
    assert ends == [Outcome.OK] * 3
    assert most == 1


NO_HITS = check({}, (), VOCABULARY)


async def in_pieces(connection: Connection) -> None:
    await connection.request()
    await connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode())
    for start in range(0, len(GOOD), 100):
        await connection.send(GOOD[start : start + 100])


LARGE = ["x" * CHUNK]


@pytest.mark.parametrize(
    ("script", "taken", "value", "offered"),
    [
        (in_pieces, NO_HITS, NO_HITS, [GOOD]),
        (answering(response({"a": "b"})), None, {"a": "b"}, [response({"a": "b"})]),
        (answering(response(LARGE)), None, LARGE, []),
    ],
    ids=["taken", "declined", "streamed"],
)
async def test_a_whole_answer_is_offered_and_decoded_unless_it_is_taken(
    script: Script, taken: CheckedAnswer | None, value: object, offered: list[bytes]
) -> None:
    seen: list[bytes] = []

    def usual(body: bytes | bytearray) -> CheckedAnswer | None:
        seen.append(bytes(body))
        return taken

    async with peer(script) as there, open_client() as client:
        channel = client.channel(server(there.url), Exchange(10 * CHUNK), SECONDS)
        reader = partial(ValueReader, channel.limits, usual)
        read = await channel.send(Request(b"x", CONTENT_TYPE), reader)
    assert (read.value, seen) == (value, offered)


NO_METHOD = response(Fault(-32601, "no such method"))
METHODS = response(["Annotator.getAnnotation"])


async def probed(script: Script) -> tuple[str | None, Peer]:
    """Return what is wrong with a server that follows `script`, and what it has seen."""
    async with peer(script) as there, article_caller() as caller:
        return await caller.probe(server(there.url)), there


async def test_a_server_without_a_state_is_asked_for_its_methods() -> None:
    failure, there = await probed(answering(NO_METHOD, METHODS))
    assert failure is None
    asked = [decode_call(request.body).method for request in there.requests]
    assert asked == ["Annotator.getState", "system.listMethods"]


async def hangs_up(connection: Connection) -> None:
    await connection.request()


PROBED: dict[str, tuple[Script, str]] = {
    "faults": (answering(NO_METHOD), ""),
    "404": (answering(b"<html>not found</html>", status="404 Not Found"), ""),
    "fault on 500": (answering(response(Fault(1, "oops")), status="500 Internal Server Error"), ""),
    "no XML": (answering(b"what?"), ""),
    "a number": (answering(response(17)), ""),
    "an odd state": (answering(response({"state": ["odd"]})), ""),
    "no state": (answering(response({})), ""),
    "a proxy's word": (answering(b"<html>nginx</html>", status="502 Bad Gateway"), "http"),
    "another's": (answering(b"<html>nginx</html>", status="503 Service Unavailable"), "http"),
    "credentials": (answering(b"", status="403 Forbidden"), "credentials"),
    "no word": (hangs_up, "connect"),
}


@pytest.mark.parametrize(("script", "kind"), PROBED.values(), ids=PROBED)
async def test_a_word_of_its_own_says_that_a_server_is_there(script: Script, kind: str) -> None:
    failure, there = await probed(script)
    assert (failure or "").partition(":")[0] == kind
    assert there.connections == 1
