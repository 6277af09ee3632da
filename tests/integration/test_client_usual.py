"""Which answers the client offers to the reader of usual ones, and what follows."""

from __future__ import annotations

from functools import partial

import pytest

from metaserver.client.exchange import Exchange
from metaserver.client.http import open_client
from metaserver.model.errors import PeerError
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.states import Outcome
from metaserver.protocols.plugin import Request
from metaserver.protocols.xmlrpc import CONTENT_TYPE, Shortcut, ValueReader
from metaserver.wire.historic import Completion
from metaserver.wire.validation import check
from metaserver.wire.xmlrpc import CHUNK, Value
from tests.integration.callers import SECONDS, VOCABULARY, article_caller, server
from tests.integration.peers import GOOD, Connection, Script, answering, peer, response

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


async def test_another_status_is_no_answer_however_usual() -> None:
    async def failing(connection: Connection) -> None:
        await connection.request()
        await connection.respond(GOOD, status="500 Oops")

    with pytest.raises(PeerError) as caught:
        await posted(failing, Reader(NO_HITS))
    assert caught.value.outcome is Outcome.HTTP
