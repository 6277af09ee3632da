"""Servers that ask to be left alone for a while, and those that ask it without end."""

import asyncio
from xmlrpc.client import Fault

import msgspec
import pytest

from metaserver.base.compression import unpack
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome
from metaserver.exchange.http.client import HttpLimits
from metaserver.exchange.wire.values import Limits
from tests.integration.callers import article_caller, call, server
from tests.integration.peers import GOOD, PAYLOADS, Connection, Script, answering, peer, response
from tests.waiting import until

BUSY = ("429 Too Many Requests", "503 Service Unavailable")
PAGE = b"<html><body>busy<br></html>"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let waits be short: of the shortest nothing else depends on its length."""
    monkeypatch.setattr("metaserver.exchange.protocols.polling.MIN_WAIT", 0.01)


def busy(times: int, status: str = BUSY[1], after: str = "0", body: bytes = PAGE) -> Script:
    """Return a script that is busy so often, over all its connections, and then answers."""
    left = times

    async def script(connection: Connection) -> None:
        nonlocal left
        while True:
            await connection.request()
            left -= 1
            if left >= 0:
                await connection.respond(body, status=status, retry_after=after)
            else:
                await connection.respond(GOOD)

    return script


@pytest.mark.parametrize("status", BUSY)
@pytest.mark.parametrize("times", [1, 3, 30])
@pytest.mark.parametrize("body", [PAGE, b"", response(Fault(1, "busy"))])
async def test_a_busy_server_is_asked_again_within_the_attempt(status, times, body):
    async with peer(busy(times, status, body=body)) as there:
        ended, answer = await call(there.url)
    assert ended.outcome is Outcome.OK, ended.message
    assert answer.payloads == PAYLOADS
    assert unpack(ended.raw) == GOOD  # of the last answer
    assert len(there.requests) == times + 1
    assert {request.body for request in there.requests} == {there.requests[0].body}
    assert ended.bytes_in == times * len(body) + len(GOOD)


async def test_the_wait_is_as_long_as_asked() -> None:
    asked: list[float] = []

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            asked.append(asyncio.get_running_loop().time())
            if len(asked) == 1:
                await connection.respond(b"", status=BUSY[0], retry_after="0.3")
            else:
                await connection.respond(GOOD)

    async with peer(script) as there:
        ended, _ = await call(there.url)
    assert ended.outcome is Outcome.OK
    assert asked[1] - asked[0] >= 0.3
    assert (ended.timings.queue or 0.0) >= 0.3  # the wait is no part of the answer's time


LONG = ["60", "3600", "9" * 40, "Fri, 31 Dec 9999 23:59:59 GMT"]


@pytest.mark.parametrize("after", LONG)
async def test_a_wait_beyond_the_time_limit_ends_the_attempt_at_once(after: str) -> None:
    async with peer(busy(1, after=after)) as there:
        ended, _ = await call(there.url)  # its limit is 60 s
    assert ended.outcome is Outcome.HTTP
    assert ended.message.startswith("HTTP status 503 Service Unavailable; expected 200; the server")
    assert "for which no time or try is left" in ended.message
    assert ended.asked_wait == 60.0  # until the next attempt; no longer than the limit
    assert len(ended.message) < 300
    assert len(there.requests) == 1
    assert unpack(ended.raw) == PAGE


@pytest.mark.parametrize("body", [PAGE, response(Fault(7, "overloaded"))])
async def test_a_server_that_is_always_busy_is_asked_so_often_and_no_more(body: bytes) -> None:
    async with peer(busy(10**9, body=body)) as there:
        ended, _ = await call(there.url)
    assert len(there.requests) == 31
    if body is PAGE:
        assert (ended.outcome, ended.message[:15]) == (Outcome.HTTP, "HTTP status 503")
    else:
        assert (ended.outcome, ended.message[:13]) == (Outcome.FAULT, "7: overloaded")


async def test_the_bytes_of_all_busy_answers_count_together() -> None:
    async with peer(busy(10**9, body=b"<methodResponse>" + b" " * 2_000_000)) as there:
        ended, _ = await call(there.url, limits=HttpLimits(answer=Limits(bytes=200_000)))
    assert ended.outcome is Outcome.HTTP
    assert len(there.requests) == 31
    assert ended.bytes_in < 31 * 1_000_000  # none was read to its end after the limit


async def test_a_call_that_waits_can_be_cancelled() -> None:
    async with peer(busy(1, after="30")) as there, article_caller() as caller:
        task = asyncio.create_task(caller.call(server(there.url), 0, 1))
        await until(lambda: there.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(there.requests) == 1


async def test_a_connection_that_closes_while_the_hub_waits_costs_nothing() -> None:
    async def script(connection: Connection) -> None:
        await connection.request()
        if connection.number == 1:
            await connection.respond(b"", status=BUSY[1], retry_after="0.1")
        else:
            await connection.respond(GOOD)

    async with peer(script) as there:
        ended, _ = await call(there.url)
    assert (ended.outcome, there.connections) == (Outcome.OK, 2)


async def test_a_probe_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaserver.exchange.http.caller.PROBE_SECONDS", 0.5)
    async with article_caller() as caller:
        async with peer(busy(1, after="3600")) as there:
            said = await caller.probe(server(there.url))
        assert said.startswith("http: HTTP status 503")
        async with peer(busy(2, BUSY[0])) as there:
            assert await caller.probe(server(there.url)) is None


async def test_who_waits_for_a_busy_server_leaves_its_place_to_others() -> None:
    """Of few calls in flight, those that wait use no connection and hold up nobody."""
    async with (
        peer(busy(1, after="5")) as there,
        peer(answering(GOOD)) as other,
        article_caller(calls=1) as caller,
    ):
        waiting = asyncio.create_task(caller.call(server(there.url), 0, 1))
        await until(lambda: there.requests)
        name = ServerName("other")  # with slots of its own
        another = msgspec.structs.replace(server(other.url), name=name)
        ended, _ = await caller.call(another, 0, 1)
        assert ended.outcome is Outcome.OK
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
