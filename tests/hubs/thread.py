"""A hub as a service in a thread of its own, with its site, for tests without an event loop."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.hubs.inside import Running, at_work, settings
from tests.hubs.sites import site_of
from tests.waiting import PATIENCE

T = TypeVar("T")


class HubThread:
    """A service and its site while the context lasts; `changes` are of its settings.

    A variant says in `fill` what is there from the start.
    """

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.url = ""
        self.token = ""  # of who visits it
        self.running: Running
        self.clock: Callable[[], float] = time.time
        self.stack = AsyncExitStack()
        self.port: int | None = None  # of its site, if that is known before
        self._folder = folder
        self._changes = changes
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    async def fill(self) -> None:
        """Put into the hub what is there from the start: nothing."""

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the hub's event loop and return its result."""
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(timeout=PATIENCE)

    def call(self, act: Any) -> None:
        """Let the hub's event loop call `act` soon."""
        self._loop.call_soon_threadsafe(act)

    def ask(self, operation: str, **values: Any) -> Any:
        """Call an operation as an organiser."""
        return self.do(self.running.do(operation, **values))

    def ask_as_team(self, operation: str, **values: Any) -> Any:
        """Call an operation as team blue."""
        return self.do(self.running.do(operation, self.running.team("blue"), **values))

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.do(self._start())
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def _start(self) -> None:
        given = await settings(self._folder, **self._changes)
        self.running = await self.stack.enter_async_context(at_work(given, clock=self.clock))
        await self.fill()
        site = await self.stack.enter_async_context(site_of(self.running, self.port))
        self.url = str(site.make_url("")).rstrip("/")

    def stop(self) -> None:
        """End it, before the context does."""
        if not self._thread.is_alive():
            return
        self.do(self.stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
