"""An answer's body decoded as it arrives, bounded, in turns with everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from metaserver.client.exchange import Exchange
from metaserver.client.urls import without_secrets
from metaserver.model.errors import PeerError
from metaserver.model.states import Outcome
from metaserver.wire.charset import charset_of
from metaserver.wire.xmlrpc import CHUNK, ENCODINGS, Decoder, Inflater, Limits, Value

PIECE = 512  # bytes; what a piece counts at least, as each has its own cost
PLAIN = frozenset({"", "identity"})
MOST_SAID = 5_000  # characters of what a peer makes us say that are looked at


async def read(response: aiohttp.ClientResponse, exchange: Exchange, limits: Limits) -> Value:
    """Return the value of an answer; raises `PeerError` where it is none."""
    charset = charset_of(response.headers.get("Content-Type", ""))
    decoder = Decoder(limits, charset=charset, report=exchange.report)
    try:
        await _feed(response, exchange, decoder.feed, limits.bytes)
    finally:
        exchange.mark("last")
    return decoder.response()


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
            unbroken += max(len(piece), PIECE)
            if unbroken >= CHUNK:
                unbroken = 0
                await asyncio.sleep(0)  # others have their turn while a large answer comes in
        if exchange.bytes_in > max_bytes:  # compressed bytes may open to nothing
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
    """Return what a peer made us say as one line without secrets; its bytes may be no UTF-8."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return without_secrets(line[:MOST_SAID])[:500]
