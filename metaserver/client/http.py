"""XML-RPC over HTTP POST: one deadline for all, no redirects, no proxies, bounded answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.payload import Payload
from yarl import URL

from metaserver.client.exchange import Exchange, trace_config
from metaserver.errors import InputError, PeerError
from metaserver.lifecycle import Outcome
from metaserver.wire.xmlrpc import CHUNK, ENCODINGS, Decoder, FaultError, Inflater, Limits, Value

USER_AGENT = "biocreative-metaserver"
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 6))


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpLimits:
    """Bounds on one request; times in seconds. `answer` bounds what a server may send."""

    connect: float = 10.0
    answer: Limits = Limits()  # noqa: RUF009 (frozen)


def check_url(text: str, place: str) -> str:
    """Return an annotation server's URL as it is to be kept, or raise `InputError`."""
    try:
        url = URL(text)
        usable = url.scheme in ("http", "https") and bool(url.host) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(place, f"{text!r} is not the URL of a server; expected http://HOST:PORT/")
    return text


def address(url: str) -> str:
    """Return what may be shown of a URL: scheme, host and port, never user, path or query."""
    return str(URL(url).origin())


class HttpClient:
    """Posts XML-RPC requests; `open_client` makes it. As many at a time as are asked for."""

    def __init__(self, session: aiohttp.ClientSession, limits: HttpLimits) -> None:
        self._session = session
        self.limits = limits

    async def post(self, url: str, body: Payload, exchange: Exchange, deadline: float) -> Value:
        """Return the decoded answer; raise `PeerError` with the outcome that stopped it.

        `deadline` is for everything, in seconds. A kept-alive connection that turns out to be
        closed before anything came back says nothing about the request: it is sent again.
        """
        timeout = aiohttp.ClientTimeout(total=deadline, sock_connect=self.limits.connect)
        while True:
            exchange.restart()
            try:
                async with self._session.post(
                    url,
                    data=body,
                    timeout=timeout,
                    allow_redirects=False,
                    trace_request_ctx=exchange,
                ) as response:
                    return await self._read(response, exchange)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not (exchange.reused and not exchange.bytes_in):
                    raise _peer_error(error, deadline, self.limits.connect) from error
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise _peer_error(error, deadline, self.limits.connect) from error

    async def _read(self, response: aiohttp.ClientResponse, exchange: Exchange) -> Value:
        """Decode the answer as it arrives; other statuses than 200 may still carry a fault."""
        decoder = Decoder(self.limits.answer)
        try:
            await _feed(response, exchange, decoder.feed)
            return decoder.response()
        except FaultError:
            raise
        except PeerError:
            if response.status == 200:
                raise
        exchange.mark("last")
        where = f" to {response.headers['Location']!r}" if "Location" in response.headers else ""
        reason = f" {response.reason}" if response.reason else ""
        raise PeerError(Outcome.HTTP, f"HTTP status {response.status}{reason}{where}; expected 200")


async def _feed(
    response: aiohttp.ClientResponse, exchange: Exchange, feed: Callable[[bytes], None]
) -> None:
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ENCODINGS and encoding != "identity":
        raise PeerError(Outcome.HTTP, f"Content-Encoding {encoding!r} was not asked for")
    inflater = Inflater() if encoding in ENCODINGS else None
    try:
        async for chunk in response.content.iter_any():
            exchange.bytes_in += len(chunk)
            for piece in inflater.feed(chunk) if inflater else (chunk,):
                exchange.keep(piece)
                feed(piece)
            if len(chunk) >= CHUNK:
                await asyncio.sleep(0)  # others have their turn while a large answer comes in
        if inflater:
            inflater.close()
    finally:
        exchange.mark("last")


def _peer_error(error: Exception, deadline: float, connect: float) -> PeerError:
    """Return the outcome and the words for what went wrong underway."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return PeerError(Outcome.DNS, f"the name {error.host!r} does not resolve")
        case aiohttp.ClientConnectorCertificateError():
            return PeerError(Outcome.TLS, f"certificate: {error.certificate_error}")
        case aiohttp.ClientSSLError():
            return PeerError(Outcome.TLS, _words(error))
        case aiohttp.ConnectionTimeoutError():
            return PeerError(Outcome.CONNECT, f"no connection within {connect:g} s")
        case TimeoutError():
            return PeerError(Outcome.TIMEOUT, f"no whole answer within {deadline:g} s")
        case aiohttp.ClientConnectorError():
            return PeerError(Outcome.CONNECT, _words(error.os_error))
        case aiohttp.ClientPayloadError():
            return PeerError(Outcome.CONNECT, "the connection was lost within the answer")
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return PeerError(Outcome.CONNECT, "the server closed the connection without an answer")
        case aiohttp.ClientResponseError():
            return PeerError(Outcome.HTTP, f"not HTTP: {_words(error)}")
        case _:
            return PeerError(Outcome.HTTP, _words(error))


def _words(error: BaseException) -> str:
    """One line of what an exception says."""
    said = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return " ".join(str(said).split())[:500] or type(error).__name__


def _socket(address_info: Any) -> socket.socket:
    """A socket that notices a peer which is gone: TCP keep-alive, since an answer may take long."""
    family, kind, protocol, _, _ = address_info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


@asynccontextmanager
async def open_client(limits: HttpLimits | None = None) -> AsyncIterator[HttpClient]:
    """Open the client; the lanes bound how many requests are under way, not the connector."""
    connector = aiohttp.TCPConnector(limit=0, socket_factory=_socket)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        trace_configs=[trace_config()],
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
    ) as session:
        yield HttpClient(session, limits or HttpLimits())
