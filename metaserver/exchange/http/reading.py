"""Reading of an answer's body, decoded as it arrives and bounded; failures of requests."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import aiohttp

from metaserver.base.errors import PeerError
from metaserver.base.files import SHORTAGES, exhausted
from metaserver.base.states import Outcome
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.http.urls import masked, without_secrets
from metaserver.exchange.protocols.plugin import ReaderFactory
from metaserver.exchange.wire.values import CHUNK, Limits
from metaserver.exchange.wire.xmlrpc import ENCODINGS, Inflater

T = TypeVar("T")

PIECE = 512  # bytes; the least that a piece counts, as each has its own cost
PLAIN = frozenset({"", "identity"})
MAX_PEER_TEXT = 5_000  # characters of a peer's text that are processed


async def read(
    response: aiohttp.ClientResponse,
    exchange: Exchange,
    limits: Limits,
    make_reader: ReaderFactory[T],
    turn: Callable[[], AbstractAsyncContextManager[None]],
) -> T:
    """Return what a reader makes of an answer; raises `PeerError` if it makes nothing.

    Each piece of a large answer is read in a `turn` of its own.
    """
    reader = make_reader(response.headers.get("Content-Type", ""), exchange.report)
    try:
        await _feed(response, exchange, reader.feed, limits, turn)
    finally:
        exchange.mark("last")
    return reader.close()


async def _feed(
    response: aiohttp.ClientResponse,
    exchange: Exchange,
    feed: Callable[[bytes], None],
    limits: Limits,
    turn: Callable[[], AbstractAsyncContextManager[None]],
) -> None:
    inflater = _inflater(response.headers.get("Content-Encoding", "").strip().lower())
    unbroken = 0
    async for chunk in response.content.iter_any():
        exchange.bytes_in += len(chunk)
        for piece in inflater.feed(chunk) if inflater else (chunk,):
            exchange.keep(piece)
            if exchange.large:
                async with turn():
                    feed(piece)
                    await asyncio.sleep(0)  # so that each pass of the loop reads one such piece
            else:
                feed(piece)
            if exchange.bytes_opened > limits.bytes:  # of all answers: those to looks at a job too
                raise PeerError(Outcome.TOO_LARGE, limits.exceeded("bytes"))
            unbroken += max(len(piece), PIECE)
            if unbroken >= CHUNK:
                unbroken = 0
                await asyncio.sleep(0)  # other tasks have their turn during a large answer
        if exchange.bytes_in > limits.bytes:  # compressed bytes may hold no content
            raise PeerError(Outcome.TOO_LARGE, limits.exceeded("bytes"))
    if inflater:
        inflater.close()


def _inflater(encoding: str) -> Inflater | None:
    if encoding in PLAIN:
        return None
    if encoding not in ENCODINGS:
        words = f"Content-Encoding {encoding[:80]!r}; expected gzip, deflate or none"
        raise PeerError(Outcome.HTTP, one_line(words))
    return Inflater(encoding)


def one_line(text: str) -> str:
    """Return a peer's text on one line without secrets; it may have lone surrogates."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return without_secrets(line[:MAX_PEER_TEXT])[:500]


# -- failures of requests: the outcome and the message for each ------------------------------------

FAILURES = (aiohttp.ClientError, TimeoutError, UnicodeError)
"""The request exceptions that `peer_error` knows."""

REFUSED = frozenset({401, 403})
"""The statuses with which a server refuses the hub's credentials (RFC 9110, 15.5.2 and 15.5.4)."""


def status_error(response: aiohttp.ClientResponse) -> PeerError:
    """Return the error for an answer's status."""
    status = f"HTTP status {response.status} {response.reason or ''}".rstrip()
    if response.status in REFUSED:
        return PeerError(
            Outcome.CREDENTIALS,
            one_line(f"{status}: the server did not accept the hub's credentials; expected 200"),
        )
    location = response.headers.get("Location")  # often repeats the request's URL
    where = "" if location is None else f" to {masked(location)!r}"
    return PeerError(Outcome.HTTP, one_line(f"{status}{where}; expected 200"))


def peer_error(error: Exception, deadline: float, connect: float, state: str = "") -> PeerError:
    """Return the outcome and the message for a request's error.

    `state` is what the server last reported about its current job, or empty.
    """
    match error:
        case OSError() if error.errno in SHORTAGES:  # the hub's own: the attempt is not charged
            return PeerError(Outcome.CANCELLED, f"the hub: {_os_message(error)}")
        case aiohttp.ClientConnectorDNSError() if exhausted():  # a look-up takes files too
            return PeerError(Outcome.CANCELLED, f"the hub: {os.strerror(errno.EMFILE)}")
        case aiohttp.ClientConnectorDNSError():
            return PeerError(Outcome.DNS, f"the name {error.host!r} does not resolve")
        case UnicodeError() | aiohttp.InvalidURL():  # DNS is not even asked
            return PeerError(Outcome.DNS, f"not a host name: {masked(_message(error))}")
        case aiohttp.ServerFingerprintMismatch():
            fingerprint = error.got.hex()
            return PeerError(
                Outcome.TLS,
                f"certificate: its SHA-256 is {fingerprint}; expected the SHA-256 that the server"
                " is registered with",
            )
        case aiohttp.ClientConnectorCertificateError():
            return PeerError(Outcome.TLS, f"certificate: {error.certificate_error}")
        case aiohttp.ClientSSLError():
            return PeerError(Outcome.TLS, _message(error))
        case aiohttp.ConnectionTimeoutError():
            return PeerError(
                Outcome.CONNECT, f"no connection within {connect:g} s (limits.connect)"
            )
        case TimeoutError():
            reported = f"; the server last reported: {state}" if state else ""
            return PeerError(
                Outcome.TIMEOUT, f"no complete answer within {deadline:g} s{one_line(reported)}"
            )
        case aiohttp.ClientConnectorError():
            return PeerError(Outcome.CONNECT, _os_message(error.os_error))
        case aiohttp.ClientPayloadError():
            return PeerError(Outcome.CONNECT, "the connection was lost during the answer")
        case aiohttp.ClientConnectionError():
            return PeerError(Outcome.CONNECT, "the server closed the connection without an answer")
        case _:
            return PeerError(Outcome.HTTP, f"not HTTP: {_message(error)}")


def _os_message(error: OSError) -> str:
    """Return the system's message for an error; asyncio's own messages name the address."""
    number = error.errno
    if number is None:  # several addresses, each with its own error
        return _message(error).removeprefix("Multiple exceptions: ")
    return _message(error) if number < 0 else os.strerror(number)


def _message(error: BaseException) -> str:
    """Return an exception's message on one line."""
    message = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return one_line(str(message)) or type(error).__name__
