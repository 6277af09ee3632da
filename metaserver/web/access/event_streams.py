"""Event streams: how each begins, and ends, at the latest when its viewer may read no more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from aiohttp import hdrs, web

from metaserver.base.errors import RefusedError
from metaserver.web.access.auth import authenticate
from metaserver.web.access.visitor import VISITOR, caller_of

STALLED_SECONDS = 30.0
"""Seconds after which a reader who takes no bytes is let go; a browser connects again."""

HEADERS: Final[Mapping[str, str]] = {
    hdrs.CONTENT_TYPE: "text/event-stream",
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",  # nginx would hold events back
}


class OpenStreams:
    """The event streams that are open at one place."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def serve(
        self,
        request: web.Request,
        response: web.StreamResponse,
        feed: Coroutine[Any, Any, None],
    ) -> web.StreamResponse:
        """Answer with a stream, which `feed` prepares and writes, until that ends or `close`."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await feed
        except ConnectionError:
            pass  # the reader has gone
        except TimeoutError:  # it takes nothing, so that no end of the answer would reach it
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._tasks.discard(task)
        return response

    async def close(self) -> None:
        """End every stream: a shutdown does not wait for readers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def write(response: web.StreamResponse, data: bytes) -> None:
    """Send bytes of a stream; `TimeoutError` if its reader takes none."""
    async with asyncio.timeout(STALLED_SECONDS):
        await response.write(data)


HELD_SECONDS = 10.0
"""A stream ends so soon after the session or token that it began with."""


async def while_held(
    request: web.Request, stream: Coroutine[Any, Any, web.StreamResponse]
) -> web.StreamResponse:
    """Answer with a stream for as long as its viewer's session or token holds.

    A caller without either reads for ever: what is for everybody, or the pages of a run.
    """
    if VISITOR not in request or caller_of(request).role is None:
        return await stream
    watch = asyncio.create_task(_until_over(request), name="token holds")
    feed = asyncio.create_task(stream, name="stream")
    try:
        await asyncio.wait({watch, feed}, return_when=asyncio.FIRST_COMPLETED)
        if not feed.done():
            raise asyncio.CancelledError  # closes the connection, as a shutdown does
        return await feed
    finally:
        await _ended(watch, feed)


async def _until_over(request: web.Request) -> None:
    """Return once the caller may ask no more."""
    name = caller_of(request).name
    with suppress(RefusedError):
        while True:
            await asyncio.sleep(HELD_SECONDS)
            if (await authenticate(request)).name != name:
                return


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
