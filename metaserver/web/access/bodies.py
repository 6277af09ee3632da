"""Request bodies: how they are read, how long they may take, and which may be large."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from io import BytesIO
from typing import TypeVar

from aiohttp import StreamReader, hdrs, web
from aiohttp.typedefs import Handler, Middleware
from multipart import parse_options_header

UPLOADS_OF_ONE, UPLOADS, UPLOADS_KEPT = 2, 4, 1
"""At the same time: per team or token, in total, and how many of these only for organisers."""
DOWNLOADS_OF_ONE, DOWNLOADS, DOWNLOADS_KEPT = 2, 8, 4
"""Files at the same time: per team, token or address, in total, and for signed-in callers.
"""
RETRY_SECONDS = 5.0
LOST = 499
"""The status of a request whose client has gone; nobody is left to read it."""
BYTES_A_SECOND = 65_536
"""Bytes that earn a body another second: a large file over a slow line is no attack."""

BODY_BYTES = 2**20
"""The most that a request brings which brings no file."""

H = TypeVar("H")
_MARK = "takes_upload"


def upload(handler: H) -> H:
    """Let a handler take bodies up to `web.upload_bytes`, from teams, curators and organisers."""
    vars(handler)[_MARK] = True
    return handler


def takes_upload(handler: object) -> bool:
    """Return whether a handler was marked as `upload`."""
    return bool(getattr(handler, _MARK, False))


def is_large(request: web.Request) -> bool:
    """Return whether a request's body is larger than most, or of unknown size."""
    size = request.content_length
    return not request.content.is_eof() and (size is None or size > request.client_max_size)


def deadline(seconds: float) -> Middleware:
    """Return the middleware that ends requests whose body does not come.

    However a handler reads the body, it has `seconds`, and a second more for each 64 KiB that came.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.content.is_eof():
            return await handler(request)
        watch = _Watch(request.content, seconds)
        try:
            return await handler(request)
        except TimeoutError as error:
            if not watch.ended:
                raise
            raise web.HTTPRequestTimeout(text="The request's body did not come in time.") from error
        except OSError as error:
            if error is not request.content.exception():
                raise
            return web.Response(status=LOST)
        finally:
            watch.cancel()
            _release(request.content)

    return middleware


def end_stalled(seconds: float) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Return what lets the system end a connection whose client reads nothing for so long.

    It is called before each response; `TCP_USER_TIMEOUT` is Linux only.
    """

    async def prepare(request: web.Request, _: web.StreamResponse) -> None:
        connection = request.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))

    return prepare if hasattr(socket, "TCP_USER_TIMEOUT") else _nothing


def _release(content: StreamReader) -> None:
    """Let go of what read a body that was cut off.

    The stream keeps its error, the error its traceback, and that the reader, with all that had come
    in, and the stream again: only a full garbage collection would find them.
    """
    error = content.exception()
    if isinstance(error, BaseException):
        error.__traceback__ = None


async def _nothing(_: web.Request, __: web.StreamResponse) -> None:
    pass


class _Watch:
    """Ends a body that comes too slowly: who reads it gets a `TimeoutError`."""

    def __init__(self, content: StreamReader, seconds: float) -> None:
        self.ended = False
        self._content = content
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._check)

    def cancel(self) -> None:
        """Watch no longer."""
        self._timer.cancel()

    def _check(self) -> None:
        if self._content.is_eof():
            return
        due = self._due + self._content.total_bytes / BYTES_A_SECOND
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._check)
        else:
            self.ended = True
            self._content.set_exception(TimeoutError())


async def received(request: web.Request) -> bytes:
    """Return a request's body, at most `client_max_size` bytes."""
    body = BytesIO()
    async for data in pieces(request, request.client_max_size):
        body.write(data)
    return body.getvalue()


async def pieces(request: web.Request, limit: int, *, bytes_read: int = 0) -> AsyncIterator[bytes]:
    """Give a body's bytes as they come, once `read` of them were read; 413 beyond `most`."""
    check_plain(request)
    if (request.content_length or 0) > limit:
        raise too_large(limit)
    while data := await request.content.readany():
        bytes_read += len(data)
        if bytes_read > limit:
            raise too_large(limit)
        yield data


def too_large(limit: int) -> web.HTTPRequestEntityTooLarge:
    """Return the refusal of a body that is larger than may be sent there, in bytes."""
    setting = (
        ", and no setting allows more" if limit <= BODY_BYTES else ", as web.upload_bytes says"
    )
    return web.HTTPRequestEntityTooLarge(
        limit, text=f"The body is larger than {limit:,} bytes{setting}."
    )


def check_plain(request: web.Request) -> None:
    """Raise 415 for a compressed body: a small body could stand for a large body."""
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="A body must not be compressed.")


def content_type(request: web.Request) -> tuple[str, Mapping[str, str]]:
    """Return a body's type, in lower case, and its parameters.

    Not aiohttp's: it decodes parameters as RFC 2231 has them, in whatever encoding they name, and
    Python remembers every name of an encoding that it does not find.
    """
    kind, options = parse_options_header(request.headers.get(hdrs.CONTENT_TYPE, ""))
    return kind, options
