"""XML-RPC over HTTP POST: one deadline a call, no redirects, no proxies, bounded answers."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from metaserver.client.articles import RequestBody
from metaserver.client.connections import Connector
from metaserver.client.exchange import Exchange
from metaserver.client.guard import AddressGuard
from metaserver.client.patience import MAX_WAITS, BusyError, requested_wait
from metaserver.client.reading import one_line, read
from metaserver.client.slots import ServerSlots
from metaserver.client.urls import masked
from metaserver.client.watchdog import Watchdog, watching
from metaserver.files.descriptors import SHORTAGES, exhausted
from metaserver.model.errors import PeerError
from metaserver.model.states import Outcome
from metaserver.wire.xmlrpc import FaultError, Limits, Value

USER_AGENT = "biocreative-metaserver"
SHORTAGE_PAUSE = 1.0  # seconds


LOST = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)
FAILURES = (aiohttp.ClientError, TimeoutError, UnicodeError)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpLimits:
    """Bounds on one request: `connect` in seconds, and `answer` on the answer's size."""

    connect: float = 10.0
    answer: Limits = Limits()  # noqa: RUF009 (frozen)


class HttpClient:
    """A client that posts XML-RPC requests; `open_client` creates it.

    Each request holds `place`; a request's time begins when it has entered it.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        limits: HttpLimits,
        watchdog: Watchdog,
        place: AbstractAsyncContextManager[None],
        slots: ServerSlots,
    ) -> None:
        self._session = session
        self.watchdog = watchdog
        self._place = place
        self._timeout = aiohttp.ClientTimeout(sock_connect=limits.connect)
        self.limits = limits
        self.slots = slots

    def bounded(self, limits: HttpLimits) -> HttpClient:
        """Return a client with other bounds that shares the connections."""
        return HttpClient(self._session, limits, self.watchdog, self._place, self.slots)

    async def post(self, url: str, body: RequestBody, exchange: Exchange, deadline: float) -> Value:
        """Return the decoded answer; raises `PeerError` with the outcome of a failure.

        `deadline` bounds the whole call in seconds, waits that a busy server asks for included.
        """
        clock = asyncio.get_running_loop().time
        began = end = pause = 0.0
        for waits in itertools.count():
            async with self._place:  # released during the wait for a busy server
                if not waits:
                    began, end = self.watchdog.clock(), clock() + deadline
                try:
                    return await self._post(url, body, exchange, end, deadline)
                except PeerError as error:
                    error.stalled = self.watchdog.stood_still(began)
                    if not isinstance(error, BusyError):
                        raise
                    if waits == MAX_WAITS or clock() + error.wait >= end:
                        raise error.out_of_time() from None
                    pause = error.wait
            await asyncio.sleep(pause)
        raise AssertionError  # `count` has no end

    async def _post(
        self, url: str, body: RequestBody, exchange: Exchange, end: float, deadline: float
    ) -> Value:
        try:
            async with asyncio.timeout_at(end):
                return await self._answered(url, body, exchange)
        except FAILURES as error:
            failure = _peer_error(error, deadline, self.limits.connect)
            if failure.outcome is Outcome.CANCELLED:
                await asyncio.sleep(SHORTAGE_PAUSE)  # the lane would try the next article at once
            raise failure from error

    async def _answered(self, url: str, body: RequestBody, exchange: Exchange) -> Value:
        """Send the request until there is an answer to it.

        A kept-alive connection that was closed before any byte of the answer says nothing about
        the request, so it is sent again.
        """
        while True:
            exchange.restart()
            try:
                return await self._send(url, body, exchange)
            except LOST:
                if not exchange.stale:
                    raise

    async def deliver(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> None:
        """Post a message; raises `PeerError` where the status of the answer is not 2xx.

        The path of a webhook is often its secret, and an answer may repeat it: in `Location`, in
        the words of its status, in anything that is not HTTP. So no error has words of the answer.
        """
        try:
            place, login = _target(url)
            async with (
                self._place,
                asyncio.timeout(deadline),
                self._session.post(
                    place,
                    data=body,
                    headers={**headers, **login},
                    timeout=self._timeout,
                    allow_redirects=False,
                ) as response,
            ):
                if not 200 <= response.status < 300:
                    message = f"HTTP status {response.status}; expected 2xx"
                    raise PeerError(Outcome.HTTP, message)
        except FAILURES as error:
            failure = _peer_error(error, deadline, self.limits.connect)
            if failure.outcome is Outcome.HTTP:
                failure = PeerError(Outcome.HTTP, "the answer is not HTTP")
            elif isinstance(error, UnicodeError | aiohttp.InvalidURL):
                failure = PeerError(Outcome.DNS, "no name of a host")
            raise failure from error

    async def _send(self, url: str, body: RequestBody, exchange: Exchange) -> Value:
        """Send the request once; other statuses than 200 may still carry a fault."""
        place, login = _target(url)
        body.exchange = exchange
        exchange.mark("begin")
        async with self._session.post(
            place, headers=login, data=body, timeout=self._timeout, allow_redirects=False
        ) as response:
            exchange.mark("header")
            if response.status == 200:
                return await read(response, exchange, self.limits.answer)
            raise await self._failure(response, exchange)

    async def _failure(self, response: aiohttp.ClientResponse, exchange: Exchange) -> PeerError:
        """Return the error of an answer with another status than 200."""
        failure = _status_error(response)
        try:
            await read(response, exchange, self.limits.answer)
        except FaultError as fault:
            failure = fault
        except PeerError:
            pass
        wait = requested_wait(response.status, response.headers)
        return failure if wait is None else BusyError(failure, wait)


@lru_cache(maxsize=1_024)
def _target(url: str) -> tuple[URL, Mapping[str, str]]:
    """Return a URL without its login, and the login's header: in UTF-8 (RFC 7617, 2.1)."""
    try:
        place = URL(url)
        if place.user is None:
            return place, {}
        login = aiohttp.encode_basic_auth(place.user, place.password or "", "utf-8")
    except ValueError as error:
        raise aiohttp.InvalidURL(masked(url)) from error
    return place.with_user(None), {"Authorization": login}


def _status_error(response: aiohttp.ClientResponse) -> PeerError:
    location = response.headers.get("Location")  # often repeats the request's URL
    where = "" if location is None else f" to {masked(location)!r}"
    status = f"HTTP status {response.status} {response.reason or ''}".rstrip()
    return PeerError(Outcome.HTTP, one_line(f"{status}{where}; expected 200"))


def _peer_error(error: Exception, deadline: float, connect: float) -> PeerError:
    """Return the outcome and the message for an error of the request."""
    match error:
        case OSError() if error.errno in SHORTAGES:  # the hub's own: the attempt is not charged
            return PeerError(Outcome.CANCELLED, f"the hub: {_os_message(error)}")
        case aiohttp.ClientConnectorDNSError() if exhausted():  # a look-up takes files too
            return PeerError(Outcome.CANCELLED, f"the hub: {os.strerror(errno.EMFILE)}")
        case aiohttp.ClientConnectorDNSError():
            return PeerError(Outcome.DNS, f"the name {error.host!r} does not resolve")
        case UnicodeError() | aiohttp.InvalidURL():  # DNS is not even asked
            return PeerError(Outcome.DNS, f"no name of a host: {masked(_message(error))}")
        case aiohttp.ClientConnectorCertificateError():
            return PeerError(Outcome.TLS, f"certificate: {error.certificate_error}")
        case aiohttp.ClientSSLError():
            return PeerError(Outcome.TLS, _message(error))
        case aiohttp.ConnectionTimeoutError():
            return PeerError(Outcome.CONNECT, f"no connection within {connect:g} s")
        case TimeoutError():
            return PeerError(Outcome.TIMEOUT, f"no complete answer within {deadline:g} s")
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
    """Return an exception's message in one line."""
    message = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return one_line(str(message)) or type(error).__name__


@asynccontextmanager
async def open_client(
    limits: HttpLimits | None = None,
    guard: AddressGuard | None = None,
    *,
    resolver: AbstractResolver | None = None,
    calls: int | None = None,
) -> AsyncIterator[HttpClient]:
    """Open a client; at most `calls` requests are under way, the others wait in order.

    Without a guard it connects to any address: only for URLs of the hub's own operator. `resolver`
    replaces the system's resolver of names.
    """
    async with (
        aiohttp.ClientSession(
            connector=Connector(guard, resolver, calls),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        ) as session,
        watching() as watchdog,
    ):
        place = nullcontext() if calls is None else asyncio.Semaphore(calls)
        yield HttpClient(session, limits or HttpLimits(), watchdog, place, ServerSlots())
