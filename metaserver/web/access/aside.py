"""Work on what may be large: in a thread, and charged to the request that it is for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from aiohttp import web

LARGE = 65_536
"""More bytes than this are large."""
CHARGE: web.RequestKey[Callable[[float], None]] = web.RequestKey("CHARGE")
"""A function that charges seconds of work to those who pay for a request."""

P = ParamSpec("P")
T = TypeVar("T")


class TimedWork(Generic[P, T]):
    """Work for a thread; `seconds` is the processor time that it took, 0 until it has ended."""

    def __init__(self, work: Callable[P, T]) -> None:
        self.seconds = 0.0
        self._work = work

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do it."""
        start = time.thread_time()
        try:
            return self._work(*args, **kwargs)
        finally:
            self.seconds = time.thread_time() - start


async def aside(
    request: web.Request, large: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what `work` returns, from a thread if what it works on is, or may be, large."""
    if not large:
        return work(*args, **kwargs)

    timed = TimedWork(work)
    try:
        return await asyncio.to_thread(timed, *args, **kwargs)
    finally:
        if (charge := request.get(CHARGE)) is not None:  # a site without a gate charges nobody
            charge(timed.seconds)
