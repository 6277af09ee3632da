"""Connections to annotation servers: to permitted addresses, with one answer per request.

aiohttp keeps a connection for the next request. It would take any data that a server sends on it
meanwhile for the next request's answer, and buffer all of it until then.
"""

from __future__ import annotations

import asyncio
import functools
import re
import socket
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, cast

import aiohttp
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from aiohttp.tracing import Trace

from metaserver.exchange.http.articles import RequestBody
from metaserver.exchange.http.guard import AddressGuard
from metaserver.exchange.http.transfer import Exchange

# -- headers of answers that state their length twice: by `Content-Length` and as chunks -----------
# RFC 9112, section 6.3: `Transfer-Encoding` overrides `Content-Length`, and the connection is not
# used again. aiohttp's parser refuses such an answer, but Perl's RPC::XML sends one above 1 MiB.
# Only an unambiguous header is corrected; any other is left to the parser.

MAX_HEADER_BYTES: Final = 65_536
"""The most bytes held back until a header is complete; more go to the parser unchanged."""

_PROTOCOL: Final = b"HTTP/1."
_END: Final = re.compile(rb"\r?\n\r?\n")
_INTERIM: Final = re.compile(rb"HTTP/1\.1 1\d\d[ \r]")
_CODING: Final = re.compile(rb"\ntransfer-encoding", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/1\.1 [2-5]\d\d(?: [^\x00\r\n]*)?")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~\w-]+):([^\x00\r\n]*)")


class HeaderBuffer:
    """An answer's beginning, held back until its header is complete.

    `take` returns the bytes for the parser: a complete header and the bytes after it, or all bytes
    if they are no header. `interim` is True if that was an interim header, which another header
    follows; `overridden` if a length was removed.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0
        self.interim = False
        self.overridden = False

    def add(self, data: bytes) -> None:
        """Append the next bytes."""
        self._held += data

    def take(self) -> bytes:
        """Return the bytes for the parser; none while the header is incomplete."""
        data, self.interim = self._held, False
        if not data.startswith(_PROTOCOL[: len(data)]):
            return self.rest()
        end = _END.search(data, max(0, self._searched - 3), MAX_HEADER_BYTES)
        if end is None:
            self._searched = len(data)
            return b"" if len(data) < MAX_HEADER_BYTES else self.rest()
        header = bytes(data[: end.end()])
        self.interim = _INTERIM.match(header) is not None
        if self.interim:
            del data[: end.end()]
            self._searched = 0
            return header
        corrected = without_content_length(header)
        if corrected is not None:
            self.overridden = True
            data[: end.end()] = corrected
        return self.rest()

    def rest(self) -> bytes:
        """Return all bytes held back, and forget them."""
        data = bytes(self._held)
        self._held.clear()
        return data


def without_content_length(header: bytes) -> bytes | None:
    """Return a header without the length that its chunks override; None for any other header.

    A header is corrected if it is an HTTP/1.1 header in standard lines, with a single length in
    digits and a single `Transfer-Encoding`, which is `chunked`.
    """
    if _CODING.search(header) is None:  # nearly always
        return None
    status, *lines = header.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields = [_FIELD.fullmatch(line) for line in lines]
    if not _STATUS.fullmatch(status) or None in fields:
        return None
    pairs = [(field[1].lower(), field[2].strip(b" \t")) for field in fields if field is not None]
    lengths = [value for name, value in pairs if name == b"content-length"]
    codings = [value.lower() for name, value in pairs if name == b"transfer-encoding"]
    if len(lengths) != 1 or not lengths[0].isdigit() or codings != [b"chunked"]:
        return None
    kept_lines = [
        line for line, (name, _) in zip(lines, pairs, strict=True) if name != b"content-length"
    ]
    return b"\r\n".join((status, *kept_lines)) + b"\r\n\r\n"


# -- connections to annotation servers: to permitted addresses, with one answer per request --------

KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}  # as far as a system has it


class OneAnswer(ResponseHandler):
    """A connection that is closed as soon as unrequested data arrives.

    `count` is called with 1 when it opens and with -1 when it closes.
    """

    _awaited = False
    _header: HeaderBuffer | None = None  # until the awaited answer's header went to the parser

    def __init__(self, count: Callable[[int], None], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._count = count

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection."""
        self._count(1)
        super().connection_made(transport)

    def set_response_params(self, **params: Any) -> None:
        """Expect an answer: aiohttp is about to send a request."""
        self._awaited = True
        self._header = HeaderBuffer()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Read data for the awaited or current answer; refuse any other."""
        under_way = self._payload is not None and not self._payload.is_eof()
        if self._header is not None and data:
            self._begin(self._header, data)
        elif self._awaited or under_way or not data:
            super().data_received(data)
        else:
            self.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Uncount the connection; the parser gets the buffered bytes, and reports the break."""
        self._count(-1)
        if self._header is not None and (rest := self._header.rest()):
            self._header = None
            super().data_received(rest)
        super().connection_lost(exc)

    def _begin(self, header: HeaderBuffer, data: bytes) -> None:
        """Read an answer's beginning, and the interim answers before it."""
        header.add(data)
        while self._awaited and (ready := header.take()):
            if header.overridden:
                self.force_close()
            if not header.interim:
                self._header = None
            super().data_received(ready)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take an answer's header, unless it is a second header."""
        if not self._awaited:
            self.close()
            return
        self._awaited = data[0].code < 200  # another follows: RFC 9110, section 15.2
        super().feed_data(data, size)


class Connector(aiohttp.TCPConnector):
    """A connector without a limit of connections, to addresses that the guard permits.

    No connection is kept for another request while more than `most` are open (None: no bound).
    """

    def __init__(
        self,
        guard: AddressGuard | None,
        resolver: AbstractResolver | None,
        limit: int | None,
        trusted: ssl.SSLContext | bool = True,
    ) -> None:
        super().__init__(limit=0, resolver=resolver, socket_factory=_factory(guard), ssl=trusted)
        self._most = limit
        self._open = 0
        handler: Callable[..., ResponseHandler] = functools.partial(OneAnswer, self._count)
        self._factory = functools.partial(handler, loop=self._loop)

    def _count(self, change: int) -> None:
        self._open += change

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109
    ) -> Connection:
        """Return a connection for a request, kept-alive or new."""
        connection = await super().connect(req, traces, timeout)
        if (exchange := _exchange_of(req)) is not None:
            exchange.connected()
        return connection

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109
    ) -> ResponseHandler:
        exchange = _exchange_of(req)
        if exchange is None:
            return await super()._create_connection(req, traces, timeout)
        exchange.mark("connect_begin")
        hooks = Trace(cast(Any, None), _LOOKUPS, SimpleNamespace(trace_request_ctx=exchange))
        created = await super()._create_connection(req, [*traces, hooks], timeout)
        exchange.mark("connect_end")
        return created

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        crowded = self._most is not None and self._open > self._most
        super()._release(key, protocol, should_close=should_close or crowded)


def _exchange_of(request: ClientRequest) -> Exchange | None:
    return request.body.exchange if isinstance(request.body, RequestBody) else None


def _lookups() -> aiohttp.TraceConfig:
    """Return the hooks that mark a name look-up; an address or a known name needs none."""
    hooks = aiohttp.TraceConfig()
    hooks.on_dns_resolvehost_start.append(_marker("dns_begin"))
    hooks.on_dns_resolvehost_end.append(_marker("dns_end"))
    hooks.freeze()
    return hooks


def _marker(name: str) -> Callable[..., Any]:
    async def marker(_session: object, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.mark(name)

    return marker


_LOOKUPS = _lookups()


def _factory(guard: AddressGuard | None) -> Callable[[Any], socket.socket]:
    """Return a socket factory that raises if the guard refuses the address."""

    def guarded(address_info: Any) -> socket.socket:
        if guard is not None:
            guard.check(address_info[4][0])
        return _socket(address_info)

    return guarded


def _socket(address_info: Any) -> socket.socket:
    """Return a socket with TCP keep-alive, which detects a lost peer during a long wait."""
    family, kind, protocol, _, _ = address_info
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock
