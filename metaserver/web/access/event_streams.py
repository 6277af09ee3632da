"""The event streams that are open: how each begins, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from aiohttp import hdrs, web

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
