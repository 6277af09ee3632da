"""The exchange with a server in one attempt or query, over HTTP: bounded in time and bytes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import aiohttp
from yarl import URL

from metaserver.base.communications import Callback, Communication, Exchanged
from metaserver.base.errors import PeerError
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome
from metaserver.exchange.http.articles import RequestBody
from metaserver.exchange.http.reading import FAILURES, REFUSED, peer_error, read, status_error
from metaserver.exchange.http.target import ServerTarget
from metaserver.exchange.http.transfer import LARGE, Exchange
from metaserver.exchange.protocols.plugin import AT_ONCE, ReaderFactory, Request, Response
from metaserver.exchange.protocols.polling import (
    BUSY,
    MAX_WAITS,
    BusyError,
    origin_of,
    requested_wait,
)
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import FaultError, Limits

if TYPE_CHECKING:
    from metaserver.exchange.http.client import HttpClient


# -- a communication over a channel: the wait for a server's callback within the one deadline ------

REPAIR = 60.0
"""Seconds in which a server may correct a callback that was refused for its content."""
MOST_REFUSED = 5
"""How many callbacks in a communication may be refused for their content."""


@dataclass(eq=False, slots=True)
class Awaited:
    """A communication that the hub waits for; `refusal` is the last bad callback's error.

    `limits` bound its answer.
    """

    communication: Communication
    limits: Limits
    resumed: bool
    callback: Callback | None = None
    refusal: PeerError | None = None
    refusals: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def change(self) -> None:
        """Wait until a callback was accepted or refused since the last time."""
        await self._changed.wait()
        self._changed.clear()

    def accepted(self, callback: Callback) -> None:
        """Hand over the callback."""
        self.callback = callback
        self._changed.set()

    def refused(self, error: PeerError) -> None:
        """Note that a callback was refused for its content."""
        self.refusal = error
        self.refusals += 1
        self._changed.set()


class CallbackPort(Protocol):
    """The port to the store's communications, which `phases.callbacks.CallbackDesk` implements.

    `clock` returns Unix seconds.
    """

    clock: Callable[[], float]

    async def open(
        self,
        name: ServerName,
        about: Exchanged,
        seconds: float,
        limits: Limits,
        document: bytes | None = None,
    ) -> Awaited:
        """Begin to wait for a server's callback; raises `PeerError` if it has no key."""

    async def acknowledge(self, awaited: Awaited) -> None:
        """Note that the server has the request."""

    async def expire(self, awaited: Awaited) -> bool:
        """Take no callback from now on; return whether none was stored before."""

    async def close(self, awaited: Awaited) -> None:
        """Wait no longer."""

    def leave(self, awaited: Awaited) -> None:
        """Wait no longer, but let the communication be answered."""


class HttpCommunication:
    """A communication over a channel; implements `protocols.plugin.OpenCommunication`."""

    def __init__(self, channel: HttpChannel, desk: CallbackPort, awaited: Awaited) -> None:
        self._channel = channel
        self._desk = desk
        self._awaited = awaited
        self.id = awaited.communication.id
        self.expires_at = awaited.communication.expires_at
        self.resumed = awaited.resumed

    @property
    def answered(self) -> bool:
        """True if the callback is there."""
        return self._awaited.callback is not None

    async def acknowledged(self) -> float:
        """Note that the server has the request; return the seconds since it was begun."""
        seconds = self._channel.elapsed()
        await self._desk.acknowledge(self._awaited)
        return seconds

    async def answer(self, state: str) -> Callback:
        """Wait for the callback; raises `PeerError` if it does not come in time."""
        awaited, last = self._awaited, self._channel.end
        end = last
        while awaited.callback is None and awaited.refusals < MOST_REFUSED:
            try:
                async with asyncio.timeout_at(end):
                    await awaited.change()
            except TimeoutError:
                break
            end = min(last, asyncio.get_running_loop().time() + REPAIR)
        if awaited.callback is None and await self._desk.expire(awaited):
            raise self._unanswered(state)
        while (callback := awaited.callback) is None:  # it was stored in the last moment
            await awaited.change()
        await self._channel.called_back(callback.body)
        return callback

    def _unanswered(self, state: str) -> PeerError:
        refused = self._awaited.refusal
        if refused is not None:
            return PeerError(refused.outcome, f"its callback was refused: {refused.message}")
        if self._awaited.resumed:
            message = "the hub was restarted in the meantime, and may have missed the callback"
            return PeerError(Outcome.CANCELLED, message)
        return self._channel.late(state)


# -- the exchange of one attempt or query with a server --------------------------------------------

SHORTAGE_PAUSE = 1.0  # seconds
CROWDED = "other jobs at its host were waiting for a look"
LAST_POLL = 1.0
"""Seconds before the deadline at which a wait that would exceed it ends."""

LOST = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)

T = TypeVar("T")


class HttpChannel:
    """A channel to a server; implements `protocols.plugin.ServerChannel`.

    `deadline` bounds everything, in seconds: requests, waits between them, and waits that a busy
    server asks for. The time begins when the first request has its place among the hub's. `limits`
    bound an answer, `login` is the secret in a request's body, if any.
    """

    def __init__(
        self,
        client: HttpClient,
        server: ServerName,
        target: ServerTarget,
        exchange: Exchange,
        deadline: float,
    ) -> None:
        self.limits = client.limits.answer
        self.login = target.login
        self._client = client
        self._server = server
        self._target = target
        self._exchange = exchange
        exchange.secrets = target.secrets
        self._deadline = deadline
        self._loop = asyncio.get_running_loop()
        self._end: float | None = None
        self._began = 0.0
        self._state = ""
        self._looked = 0.0  # the last turn of its own
        self._late = False  # the last wait before the deadline is over
        self._timer: asyncio.Timeout | None = None  # of the request under way

    @property
    def report(self) -> Report:
        """The notes on the last answer."""
        return self._exchange.report

    def hide(self, text: str) -> str:
        """Return a text from the server without the secrets that it was sent."""
        return self._target.hide(text) if self._target.secrets else text

    async def send(self, request: Request, reader: ReaderFactory[T]) -> Response[T]:
        """Send a request and read its answer; raises `PeerError` with a failure's outcome."""
        if request.pause:
            await self._turn(request)
        body = RequestBody(request)
        self._exchange.bytes_out += body.size or 0
        client, pause = self._client, 0.0
        for waits in itertools.count():
            async with client.place:  # released during the wait for a busy server
                if self._end is None:
                    self._began = client.watchdog.clock()
                    self._end = self._loop.time() + self._deadline
                try:
                    return await self._send_in_time(request, body, reader, self._end)
                except PeerError as error:
                    if body.failure is not None:
                        raise body.failure from None
                    self._excused(error)
                    if not isinstance(error, BusyError):
                        raise
                    if waits == MAX_WAITS or self._loop.time() + error.wait >= self._end:
                        self._exchange.asked_wait = min(error.wait, self._deadline)
                        raise error.out_of_time() from None
                    pause = error.wait
            await asyncio.sleep(pause)
        raise AssertionError  # `count` has no end

    async def _turn(self, request: Request) -> None:
        """Wait until a job's host may be polled again, whoever polls it."""
        assert request.url is not None
        origin, now = origin_of(URL(request.url)), self._loop.time()
        seconds = self._client.pace.turn(origin, request.pause, now, self.end)
        remaining = self.end - now
        await asyncio.sleep(min(seconds, max(0.0, remaining)))
        if seconds < remaining:
            self._looked = now + seconds
            return
        alone = now + seconds <= self._looked + request.pause
        raise self.late(self._state if alone else f"{self._state}; {CROWDED}")

    async def wait(self, seconds: float, state: str) -> None:
        """Wait, but no longer than the deadline allows; `state` is shown if it passes."""
        self._state = state
        remaining = self.end - self._loop.time()
        if seconds >= remaining and not self._late:
            self._late = True
            seconds = max(0.0, remaining - LAST_POLL)
        await asyncio.sleep(max(0.0, min(seconds, remaining)))
        if self._loop.time() >= self.end:
            raise self.late(state)

    @asynccontextmanager
    async def communication(
        self, about: Exchanged, document: bytes | None = None
    ) -> AsyncIterator[HttpCommunication]:
        """Hold a communication open, for a request that the server answers by a callback."""
        desk = self._client.callbacks
        if desk is None:
            message = "callbacks cannot be received here: only `metaserver serve` receives them"
            raise PeerError(Outcome.CANCELLED, message)
        awaited = await desk.open(self._server, about, self._deadline, self.limits, document)
        if awaited.resumed:  # the time goes on from where it began
            remaining = awaited.communication.expires_at - desk.clock()
            self._began = self._client.watchdog.clock()
            self._end = self._loop.time() + max(0.0, remaining)
            self._exchange.resumed()
        try:
            yield HttpCommunication(self, desk, awaited)
        except asyncio.CancelledError:
            desk.leave(awaited)  # the hub stops, and goes on with it when it is started again
            raise
        except BaseException:
            await desk.close(awaited)
            raise
        else:
            await desk.close(awaited)

    @property
    def end(self) -> float:
        """The deadline's time, by the event loop's clock; only once it is known."""
        assert self._end is not None, "nothing was sent yet"
        return self._end

    def elapsed(self) -> float:
        """Return the seconds since the first request was begun."""
        return self._loop.time() - (self.end - self._deadline)

    def late(self, state: str) -> PeerError:
        """Return the failure for a server that did not answer in time."""
        self._state = state
        return self._excused(self._failed(TimeoutError()))

    async def called_back(self, body: bytes) -> None:
        """Take a callback's body as the attempt's answer."""
        await self.work(self._exchange.called_back, body, size=len(body))

    async def work(self, function: Callable[..., T], *arguments: Any, size: int) -> T:
        """Call a function; in a thread if it has many bytes to work on, in turn if very many."""
        if size > LARGE:
            async with self._client.large:
                return await asyncio.to_thread(function, *arguments)
        if size > AT_ONCE:
            return await asyncio.to_thread(function, *arguments)
        return function(*arguments)

    def _excused(self, error: PeerError) -> PeerError:
        error.stalled = self._client.watchdog.stood_still(self._began)
        return error

    def _failed(self, error: Exception) -> PeerError:
        return peer_error(error, self._deadline, self._client.limits.connect, self._state)

    async def _send_in_time(
        self, request: Request, body: RequestBody, reader: ReaderFactory[T], end: float
    ) -> Response[T]:
        """Send the request until there is an answer to it, but no longer than until `end`.

        A kept-alive connection that was closed before any byte of the answer says nothing about
        the request, so it is sent again.
        """
        try:
            async with asyncio.timeout_at(end) as self._timer:
                while True:
                    self._exchange.restart()
                    try:
                        return await self._send_once(request, body, reader)
                    except LOST:
                        if not self._exchange.stale:
                            raise
        except FAILURES as error:
            failure = self._failed(error)
            if failure.outcome is Outcome.CANCELLED:
                await asyncio.sleep(SHORTAGE_PAUSE)  # the lane would try the next article at once
            raise failure from error

    @asynccontextmanager
    async def _large_turn(self) -> AsyncIterator[None]:
        """Hold the turn of large answers; the wait for it does not count as the server's time."""
        assert self._timer is not None
        asked = self._loop.time()
        self._timer.reschedule(None)
        async with self._client.large:
            self._end = self.end + self._loop.time() - asked
            self._timer.reschedule(self._end)
            yield

    async def _send_once(
        self, request: Request, body: RequestBody, reader: ReaderFactory[T]
    ) -> Response[T]:
        """Send the request once; a status that is not allowed may still carry a fault.

        Refused credentials and a busy server mean the same in every protocol.
        """
        exchange, target = self._exchange, self._target
        place, headers = target.at(request.url)
        body.exchange = exchange
        exchange.mark("begin")
        async with self._client.session.request(
            request.method,
            place,
            headers={**headers, "Accept": request.accept} if request.accept else headers,
            data=None if request.body is None else body,
            timeout=self._client.timeout,
            ssl=target.ssl,
            allow_redirects=False,
        ) as response:
            exchange.mark("header")
            allowed = request.statuses is None and response.status not in REFUSED | BUSY
            if response.status == 200 or allowed:
                value = await read(response, exchange, self.limits, reader, self._large_turn)
                exchange.answered()
                return Response(response.status, response.headers, value, place)
            raise await self._failure(response, reader)

    async def _failure(
        self, response: aiohttp.ClientResponse, reader: ReaderFactory[T]
    ) -> PeerError:
        """Return the error for an answer with a status that is not allowed."""
        failure = status_error(response)
        try:
            await read(response, self._exchange, self.limits, reader, self._large_turn)
        except FaultError as fault:
            failure = failure if response.status in REFUSED else fault
        except PeerError:
            pass
        wait = requested_wait(response.status, response.headers)
        return failure if wait is None else BusyError(failure, wait)
