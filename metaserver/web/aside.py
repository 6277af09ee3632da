"""Work on what may be large: in a thread, and charged to the request that it is for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from aiohttp import web

LARGE = 65_536
"""More bytes than this are large."""
ASIDE = web.RequestKey("ASIDE", float)
"""The seconds that threads worked for a request."""

P = ParamSpec("P")
T = TypeVar("T")


async def aside(
    request: web.Request, large: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what `work` returns, from a thread if what it works on is, or may be, large."""
    if not large:
        return work(*args, **kwargs)

    def timed() -> T:
        begun = time.thread_time()
        try:
            return work(*args, **kwargs)
        finally:
            request[ASIDE] = request.get(ASIDE, 0.0) + time.thread_time() - begun

    return await asyncio.to_thread(timed)
