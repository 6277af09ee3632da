"""XML-RPC over HTTP POST: one deadline for all, no redirects, no proxies, bounded answers."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.payload import Payload
from yarl import URL

from metaserver.client.connections import Connector
from metaserver.client.exchange import Exchange, trace_config
from metaserver.client.guard import AddressGuard
from metaserver.descriptors import SHORTAGES, exhausted
from metaserver.errors import InputError, PeerError
from metaserver.lifecycle import Outcome
from metaserver.watchdog import Watchdog, watching
from metaserver.wire.xmlrpc import CHUNK, ENCODINGS, Decoder, FaultError, Inflater, Limits, Value

USER_AGENT = "biocreative-metaserver"
SHORTAGE_PAUSE = 1.0  # seconds
PIECE = 512  # bytes; what a piece counts at least, as each has its own cost


LOST = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)
FAILURES = (aiohttp.ClientError, TimeoutError, UnicodeError)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpLimits:
    """Bounds on one request; times in seconds. `answer` bounds what a server may send."""

    connect: float = 10.0
    answer: Limits = Limits()  # noqa: RUF009 (frozen)


def check_url(text: str, place: str) -> str:
    """Return an annotation server's URL as it is to be kept, or raise `InputError`."""
    try:
        url = URL(text)
        host = url.raw_host or ""
        host.encode("idna")  # no label empty or longer than 63: RFC 1035, 2.3.4
        usable = url.scheme in ("http", "https") and bool(url.host) and url.port != 0
        usable = usable and not any(map(str.isspace, text)) and ":" not in (url.user or "")
        usable = usable and ("%" not in host or ":" in host)  # only an IPv6 address has a zone
    except ValueError:
        usable = False
    if not usable:
        raise InputError(
            place, f"{masked(text)!r} is not the URL of a server; expected http://HOST:PORT/"
        )
    return text


def masked(text: str) -> str:
    """Return what should be a URL without what may be secret in it: user info and query."""
    text = re.sub(r"^(\w+://)?.*@", r"\1***@", text, flags=re.DOTALL)
    return re.sub(r"\?.+", "?***", text, flags=re.DOTALL)


def address(url: str) -> str:
    """Return what may be shown of a URL: scheme, host and port, never user, path or query."""
    return str(URL(url).origin())


class HttpClient:
    """Posts XML-RPC requests; `open_client` makes it.

    `place` is held by each request; a request's time begins when it has one.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        limits: HttpLimits,
        watchdog: Watchdog,
        place: AbstractAsyncContextManager[None],
    ) -> None:
        self._session = session
        self.watchdog = watchdog
        self._place = place
        self._timeout = aiohttp.ClientTimeout(sock_connect=limits.connect)
        self.limits = limits

    def bounded(self, limits: HttpLimits) -> HttpClient:
        """Return a client with other bounds on the same connections."""
        return HttpClient(self._session, limits, self.watchdog, self._place)

    async def post(self, url: str, body: Payload, exchange: Exchange, deadline: float) -> Value:
        """Return the decoded answer; raise `PeerError` with the outcome that stopped it.

        `deadline` is for everything, in seconds. A kept-alive connection that turns out to be
        closed before anything came back says nothing about the request: it is sent again.
        """
        async with self._place:
            began = self.watchdog.clock()
            try:
                return await self._post(url, body, exchange, deadline)
            except PeerError as error:
                error.stalled = self.watchdog.stood_still(began)
                raise

    async def _post(self, url: str, body: Payload, exchange: Exchange, deadline: float) -> Value:
        try:
            async with asyncio.timeout(deadline):
                while True:
                    exchange.restart()
                    try:
                        return await self._send(url, body, exchange)
                    except LOST:
                        if not exchange.stale:
                            raise
        except FAILURES as error:
            failure = _peer_error(error, deadline, self.limits.connect)
            if failure.outcome is Outcome.CANCELLED:
                await asyncio.sleep(SHORTAGE_PAUSE)  # the lane would try the next article at once
            raise failure from error

    async def deliver(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> None:
        """Post a message that needs no answer but a status of 2xx; `PeerError` otherwise."""
        try:
            async with (
                self._place,
                asyncio.timeout(deadline),
                self._session.post(
                    url,
                    data=body,
                    headers=headers,
                    timeout=self._timeout,
                    allow_redirects=False,
                    trace_request_ctx=Exchange(0),
                ) as response,
            ):
                if not 200 <= response.status < 300:
                    raise _status_error(response, "2xx")
        except FAILURES as error:
            raise _peer_error(error, deadline, self.limits.connect) from error

    async def _send(self, url: str, body: Payload, exchange: Exchange) -> Value:
        """Send the request once; other statuses than 200 may still carry a fault."""
        async with self._session.post(
            url,
            data=body,
            timeout=self._timeout,
            allow_redirects=False,
            trace_request_ctx=exchange,
        ) as response:
            try:
                value = await self._read(response, exchange)
                if response.status == 200:
                    return value
            except FaultError:
                raise
            except PeerError:
                if response.status == 200:
                    raise
            raise _status_error(response)

    async def _read(self, response: aiohttp.ClientResponse, exchange: Exchange) -> Value:
        """Decode the answer as it arrives."""
        decoder = Decoder(self.limits.answer)
        try:
            await _feed(response, exchange, decoder.feed, self.limits.answer.bytes)
        finally:
            exchange.mark("last")
        return decoder.response()


async def _feed(
    response: aiohttp.ClientResponse,
    exchange: Exchange,
    feed: Callable[[bytes], None],
    max_bytes: int,
) -> None:
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ENCODINGS and encoding != "identity":
        words = f"Content-Encoding {encoding[:80]!r} was not asked for"
        raise PeerError(Outcome.HTTP, _one_line(words))
    inflater = Inflater() if encoding in ENCODINGS else None
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


def _status_error(response: aiohttp.ClientResponse, expected: str = "200") -> PeerError:
    where = f" to {response.headers['Location']!r}" if "Location" in response.headers else ""
    status = f"HTTP status {response.status} {response.reason or ''}".rstrip()
    return PeerError(Outcome.HTTP, _one_line(f"{status}{where}; expected {expected}"))


def _peer_error(error: Exception, deadline: float, connect: float) -> PeerError:
    """Return the outcome and the words for what went wrong underway."""
    match error:
        case OSError() if error.errno in SHORTAGES:  # ours, so the attempt is not charged
            return PeerError(Outcome.CANCELLED, f"the hub: {_system_words(error)}")
        case aiohttp.ClientConnectorDNSError() if exhausted():  # looking it up takes files too
            return PeerError(Outcome.CANCELLED, f"the hub: {os.strerror(errno.EMFILE)}")
        case aiohttp.ClientConnectorDNSError():
            return PeerError(Outcome.DNS, f"the name {error.host!r} does not resolve")
        case UnicodeError() | aiohttp.InvalidURL():  # DNS is not even asked
            return PeerError(Outcome.DNS, f"no name of a host: {masked(_words(error))}")
        case aiohttp.ClientConnectorCertificateError():
            return PeerError(Outcome.TLS, f"certificate: {error.certificate_error}")
        case aiohttp.ClientSSLError():
            return PeerError(Outcome.TLS, _words(error))
        case aiohttp.ConnectionTimeoutError():
            return PeerError(Outcome.CONNECT, f"no connection within {connect:g} s")
        case TimeoutError():
            return PeerError(Outcome.TIMEOUT, f"no whole answer within {deadline:g} s")
        case aiohttp.ClientConnectorError():
            return PeerError(Outcome.CONNECT, _system_words(error.os_error))
        case aiohttp.ClientPayloadError():
            return PeerError(Outcome.CONNECT, "the connection was lost within the answer")
        case aiohttp.ClientConnectionError():
            return PeerError(Outcome.CONNECT, "the server closed the connection without an answer")
        case _:
            return PeerError(Outcome.HTTP, f"not HTTP: {_words(error)}")


def _system_words(error: OSError) -> str:
    """The system's words for an error; asyncio's own name the address."""
    number = error.errno
    if number is None:  # of several addresses, each for another reason
        return _words(error).removeprefix("Multiple exceptions: ")
    return _words(error) if number < 0 else os.strerror(number)


def _words(error: BaseException) -> str:
    """One line of what an exception says."""
    said = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return _one_line(str(said)) or type(error).__name__


def _one_line(text: str) -> str:
    """What a peer made us say, as one line that can be stored (its bytes need not be UTF-8)."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())[:500]


@asynccontextmanager
async def open_client(
    limits: HttpLimits | None = None,
    guard: AddressGuard | None = None,
    *,
    resolver: AbstractResolver | None = None,
    calls: int | None = None,
) -> AsyncIterator[HttpClient]:
    """Open the client; at most `calls` requests are under way, the others wait in order.

    Without a guard it connects to any address: only for URLs that the hub's own operator gives.
    `resolver` looks up names instead of the system's.
    """
    async with (
        aiohttp.ClientSession(
            connector=Connector(guard, resolver, calls),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            trace_configs=[trace_config()],
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        ) as session,
        watching() as watchdog,
    ):
        place = nullcontext() if calls is None else asyncio.Semaphore(calls)
        yield HttpClient(session, limits or HttpLimits(), watchdog, place)
