"""Event streams that end when their viewer may read no more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.web.access.auth import authenticate
from metaserver.web.access.visitor import caller_of

HELD_SECONDS = 10.0
"""A stream ends so soon after the session or token that it began with."""


async def while_held(
    request: web.Request, stream: Coroutine[Any, Any, web.StreamResponse]
) -> web.StreamResponse:
    """Answer with a stream for as long as its viewer's session or token holds.

    Who has none reads what is for everybody, for ever.
    """
    if caller_of(request).role is None:
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
