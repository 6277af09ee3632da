"""Which answers the client offers to the reader of usual ones, and what follows."""

from __future__ import annotations

import pytest
from aiohttp.payload import BytesPayload

from metaserver.client.exchange import Exchange
from metaserver.client.http import open_client
from metaserver.model.errors import PeerError
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.states import Outcome
from metaserver.wire.validation import check
from metaserver.wire.xmlrpc import CHUNK, Value
from tests.integration.callers import SECONDS, VOCABULARY, call
from tests.integration.peers import GOOD, Connection, Script, answering, peer, response

NO_HITS = check({}, (), VOCABULARY)


class Reader:
    """A reader of whole answers that keeps what it is offered."""

    def __init__(self, result: CheckedAnswer | None) -> None:
        self.result = result
        self.offered: list[bytes] = []

    def __call__(self, body: bytes | bytearray) -> CheckedAnswer | None:
        self.offered.append(bytes(body))
        return self.result


async def posted(script: Script, reader: Reader) -> tuple[Value, Exchange]:
    """Return the value of an answer and its exchange."""
    exchange = Exchange(10 * CHUNK, reader)
    async with peer(script) as there, open_client() as client:
        return await client.post(there.url, BytesPayload(b"x"), exchange, SECONDS), exchange


async def test_an_answer_that_is_taken_is_not_decoded() -> None:
    reader = Reader(NO_HITS)
    value, exchange = await posted(answering(GOOD), reader)
    assert (value, exchange.checked, reader.offered) == (None, NO_HITS, [GOOD])


async def test_an_answer_that_is_declined_is_decoded() -> None:
    reader = Reader(None)
    value, exchange = await posted(answering(response({"a": "b"})), reader)
    assert (value, exchange.checked) == ({"a": "b"}, None)


async def test_a_large_answer_is_streamed() -> None:
    reader = Reader(None)
    value, _ = await posted(answering(response(["x" * CHUNK])), reader)
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


async def test_another_status_is_no_answer_however_usual() -> None:
    async def failing(connection: Connection) -> None:
        await connection.request()
        await connection.respond(GOOD, status="500 Oops")

    with pytest.raises(PeerError) as caught:
        await posted(failing, Reader(NO_HITS))
    assert caught.value.outcome is Outcome.HTTP
    async with peer(failing) as there:
        ended, answer = await call(there.url)
    assert (ended.outcome, answer) == (Outcome.HTTP, None)


async def test_a_half_of_an_answer_is_not_taken() -> None:
    async with peer(answering(GOOD[: len(GOOD) // 2])) as there:
        ended, answer = await call(there.url)
    assert (ended.outcome, answer) == (Outcome.XML, None)
