"""An annotation server that costs next to nothing: every request gets the same answer.

It runs in a process of its own, so that what is measured is who asks.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from annotators.protocol import encode_answer

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def answer_of(accessions: list[str], hits: int = 30) -> bytes:
    """Return an answer with an ACT call and `hits` hits, two thirds of them INT, the rest IPT."""
    singles = accessions[: hits - hits // 3]
    pairs = list(itertools.pairwise(accessions))[: hits // 3]
    return encode_answer(
        {
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
    )


class _Server(asyncio.Protocol):
    def __init__(self, reply: bytes, seconds: float) -> None:
        self._reply, self._seconds = reply, seconds
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        head = self._got.find(b"\r\n\r\n")
        if head < 0:
            return
        length = LENGTH.search(self._got, 0, head)
        if length is None or len(self._got) < head + 4 + int(length[1]):
            return
        self._got.clear()
        if self._seconds:
            asyncio.get_running_loop().call_later(self._seconds, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._reply)


async def _serve(answer: bytes, seconds: float, tell: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {len(answer)}\r\n\r\n"
    reply = head.encode() + answer
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Server(reply, seconds), "127.0.0.1", 0, backlog=4096)
    tell.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _main(answer: bytes, seconds: float, tell: Connection) -> None:
    asyncio.run(_serve(answer, seconds, tell))


@contextmanager
def peer(answer: bytes, seconds: float = 0.0) -> Iterator[str]:
    """Serve one answer, `seconds` after each request; gives the server's URL."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_main, args=(answer, seconds, theirs), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/"
    finally:
        process.terminate()
        process.join()
