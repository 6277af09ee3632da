"""The processor time of requests: measured on the event loop, or spent in threads; charged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, ParamSpec, TypeVar

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


PLACES = 2
"""Threads that work for a client at a time: they take processor time from the event loop too."""


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
        """Return the result of `work`, from a thread.

        Raises `RefusedError` if the client has used its share. A place is taken until
        its thread has ended, even if nobody waits for it any more.
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
        await asyncio.wait([working])  # unlike asyncio.shield, says nothing if the caller has gone
        return working.result()


class Measured(Generic[T]):
    """Something to be awaited, once; `seconds` is what it took of the event loop, without waiting.

    What it does in threads, or in tasks of its own, is not in it. `spend` is given the seconds of
    each step as it ends, so that what lasts is charged for while it lasts.
    """

    def __init__(
        self,
        awaited: Awaitable[T],
        clock: Callable[[], float],
        spend: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.seconds = 0.0
        self._awaited = awaited
        self._clock = clock
        self._spend = spend

    def __await__(self) -> Generator[Any, Any, T]:
        """Do it, a step at a time as the event loop does."""
        steps = self._awaited.__await__()
        step: Callable[[Any], Any] = steps.send
        thrown: Any = None
        while True:
            start = self._clock()
            try:
                awaited = step(thrown)
            except StopIteration as end:
                returned: T = end.value
                return returned
            finally:
                thrown = None  # an error's traceback leads here: it must not lead back to the error
                elapsed = self._clock() - start
                self.seconds += elapsed
                self._spend(elapsed)
            try:
                step, thrown = steps.send, (yield awaited)
            except BaseException as error:  # it is cancelled: that is for what is awaited
                step, thrown = steps.throw, error
