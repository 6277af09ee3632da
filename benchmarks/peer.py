"""Annotation servers to ask, each in a process of its own: every request gets the same answer.

The plain one costs next to nothing, so that the client is measured; the other is a server of the
kit, which reads the request and encodes its answer each time.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.protocol import encode_answer
from annotators.server import Kit, application

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def answer_of(accessions: list[str], hits: int = 30) -> Answer:
    """Return an answer with an ACT call and `hits` hits, two thirds of them INT, the rest IPT."""
    singles = accessions[: hits - hits // 3]
    pairs = list(itertools.pairwise(accessions))[: hits // 3]
    return {
        "interaction": [True, 0.75],
        "normalizations": [
            {"dbid": accession, "rank": rank, "confidence": 1 / rank}
            for rank, accession in enumerate(singles, 1)
        ],
        "pairs": [
            {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": 1 / rank}
            for rank, (a, b) in enumerate(pairs, 1)
        ],
    }


def reply_of(answer: Answer) -> bytes:
    """Return an answer as a server sends it, with its header."""
    body = encode_answer(answer)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class PlainServer(asyncio.Protocol):
    """A server that costs next to nothing: it sends `reply`, `seconds` after each request."""

    def __init__(self, reply: bytes, seconds: float) -> None:
        self._reply, self._seconds = reply, seconds
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Wait until a request is whole."""
        self._got += data
        head = self._got.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self._got, 0, head)
        if length is None or len(self._got) < head + 4 + int(length[1]):
            return
        self.asked(self._got)
        self._got.clear()

    def asked(self, request: bytearray) -> None:
        """Answer a request that is here."""
        if self._seconds:
            asyncio.get_running_loop().call_later(self._seconds, self.answer)
        else:
            self.answer()

    def answer(self) -> bool:
        """Send the reply; return whether the connection is still there."""
        if self._transport.is_closing():
            return False
        self._transport.write(self._reply)
        return True


async def _serve_bytes(host: str, answer: Answer, seconds: float, pipe: Connection) -> None:
    reply = reply_of(answer)
    server = await asyncio.get_running_loop().create_server(
        lambda: PlainServer(reply, seconds), host, 0, backlog=4096
    )
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _serve_kit(host: str, answer: Answer, seconds: float, pipe: Connection) -> None:
    async def annotate(text: str, context: Context) -> Answer:
        await asyncio.sleep(seconds)
        return answer

    runner = web.AppRunner(application(Kit(annotate, workers=10_000)), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    pipe.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def _main(kit: bool, host: str, answer: Answer, seconds: float, pipe: Connection) -> None:
    asyncio.run((_serve_kit if kit else _serve_bytes)(host, answer, seconds, pipe))


@contextmanager
def peer(
    answer: Answer, seconds: float = 0.0, *, kit: bool = False, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Serve one answer, `seconds` after each request; gives the server's URL.

    The plain peer costs next to nothing; with `kit` it is a server as a team makes it.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_main, args=(kit, host, answer, seconds, theirs), daemon=True
    )
    process.start()
    try:
        yield f"http://{host}:{ours.recv()}/"
    finally:
        process.terminate()
        process.join()
