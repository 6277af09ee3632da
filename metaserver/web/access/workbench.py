"""Work in threads for a client: a few at a time, and charged like its event loop time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from metaserver.web.access.aside import TimedWork

PLACES = 2
"""Threads that work for a client at a time: they take processor time from the event loop too."""

P = ParamSpec("P")
T = TypeVar("T")


class ClientWorkbench:
    """A client's threads.

    `require_share` raises `RefusedError` if the client has used its share of the hub's time: it is
    called before each work begins, so that what waits meanwhile is refused. `charge` takes seconds.
    """

    def __init__(self, require_share: Callable[[], None], charge: Callable[[float], None]) -> None:
        self._require_share = require_share
        self._charge = charge
        self._places = asyncio.Semaphore(PLACES)

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a thread and return its result; `RefusedError` if the client has used its
        share.

        A place is taken until its thread has ended, even if nobody waits for it any more.
        """
        await self._places.acquire()
        timed = TimedWork(work)

        def end(future: asyncio.Future[T]) -> None:
            self._places.release()
            self._charge(timed.seconds)
            if not future.cancelled():
                future.exception()  # perhaps nobody else asks for it

        try:
            self._require_share()
        except BaseException:
            self._places.release()
            raise
        working = asyncio.ensure_future(asyncio.to_thread(timed, *args, **kwargs))
        working.add_done_callback(end)
        return await asyncio.shield(working)
