"""Reading of an answer's body: decoded as it arrives, bounded, yielding to other tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import aiohttp

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.http.urls import without_secrets
from metaserver.exchange.protocols.plugin import ReaderFactory
from metaserver.exchange.wire.xmlrpc import CHUNK, ENCODINGS, Inflater, Limits

T = TypeVar("T")

PIECE = 512  # bytes; the least that a piece counts, as each has its own cost
PLAIN = frozenset({"", "identity"})
MAX_PEER_TEXT = 5_000  # characters of a peer's text that are processed


async def read(
    response: aiohttp.ClientResponse,
    exchange: Exchange,
    limits: Limits,
    make_reader: ReaderFactory[T],
) -> T:
    """Return what a reader makes of an answer; raises `PeerError` where it makes nothing."""
    reader = make_reader(response.headers.get("Content-Type", ""), exchange.report)
    try:
        await _feed(response, exchange, reader.feed, limits.bytes)
    finally:
        exchange.mark("last")
    return reader.close()


async def _feed(
    response: aiohttp.ClientResponse,
    exchange: Exchange,
    feed: Callable[[bytes], None],
    max_bytes: int,
) -> None:
    inflater = _inflater(response.headers.get("Content-Encoding", "").strip().lower())
    unbroken = 0
    async for chunk in response.content.iter_any():
        exchange.bytes_in += len(chunk)
        for piece in inflater.feed(chunk) if inflater else (chunk,):
            exchange.keep(piece)
            feed(piece)
            if exchange.bytes_opened > max_bytes:  # of all answers: those to looks at a job too
                raise PeerError(Outcome.TOO_LARGE, f"more than {max_bytes:,} bytes")
            unbroken += max(len(piece), PIECE)
            if unbroken >= CHUNK:
                unbroken = 0
                await asyncio.sleep(0)  # other tasks have their turn during a large answer
        if exchange.bytes_in > max_bytes:  # compressed bytes may hold no content
            raise PeerError(Outcome.TOO_LARGE, f"more than {max_bytes:,} bytes")
    if inflater:
        inflater.close()


def _inflater(encoding: str) -> Inflater | None:
    if encoding in PLAIN:
        return None
    if encoding not in ENCODINGS:
        words = f"Content-Encoding {encoding[:80]!r} was not asked for"
        raise PeerError(Outcome.HTTP, one_line(words))
    return Inflater(encoding)


def one_line(text: str) -> str:
    """Return a text from a peer as one line without secrets; it may have lone surrogates."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return without_secrets(line[:MAX_PEER_TEXT])[:500]
