"""The listening socket of the pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from yarl import URL

from metaserver.base import files
from metaserver.base.errors import InputError
from metaserver.config import WebSettings

WAITING = 128  # connections that the system keeps until they are accepted
ACCEPTED = 8  # of these at a time: all that are accepted have a file before one can be refused
LAST_SECONDS = 0.5  # in which requests under way may come to their end when a site closes


@asynccontextmanager
async def serve_app(app: web.Application, settings: WebSettings) -> AsyncIterator[str]:
    """Serve an application while the context lasts; gives its address.

    A connection has `idle_seconds` to bring a request's headers, and the same between two requests.
    If there are as many connections as the system's limit leaves for them, others are closed.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        auto_decompress=False,  # what is compressed is refused
        keepalive_timeout=settings.idle_seconds,
        shutdown_timeout=LAST_SECONDS,
    )
    await runner.setup()
    assert runner.server is not None
    listener = None
    try:
        listener = await _listen(runner.server, settings.host, settings.port)
        host, port = listener.sockets[0].getsockname()[:2]
        yield str(URL.build(scheme="http", host=host, port=port, path="/"))
    finally:
        if listener is not None:
            listener.close()
        await runner.cleanup()


async def _listen(server: web.Server, host: str, port: int) -> asyncio.Server:
    limit = files.current().clients

    def answer() -> asyncio.Protocol:
        full = limit is not None and len(server.connections) >= limit
        return _Refusing() if full else server()

    try:
        listener = await asyncio.get_running_loop().create_server(
            answer, host, port, backlog=ACCEPTED
        )
        for sock in listener.sockets:
            with sock.dup() as listening:  # asyncio has one number for both
                listening.listen(WAITING)
        return listener
    except OSError as error:
        raise _taken(host, port, error) from error


async def require_free(settings: WebSettings) -> None:
    """Check that pages can be served; `InputError` if not, before anything is changed."""
    host, port = settings.host, settings.port
    try:
        bound = await asyncio.get_running_loop().create_server(
            _Refusing, host, port, start_serving=False
        )
    except OSError as error:
        raise _taken(host, port, error) from error
    bound.close()


def _taken(host: str, port: int, error: OSError) -> InputError:
    message = f"the pages cannot be served there: {error.strerror}; choose another port"
    return InputError(f"{host}:{port}", message)


class _Refusing(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it, with nothing left to wait for."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
