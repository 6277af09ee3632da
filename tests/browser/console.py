"""A hub as a service in a thread of its own, with annotation servers that do as a test wants."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.web.service import make_service_app
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.integration.kits import answer_for, served

T = TypeVar("T")
NOBODY = "http://127.0.0.1:9/"


class Annotator:
    """An annotation server; `wrong` makes its answers partial, `waits` holds them back.

    After `enough` wrong answers it holds them back by itself.
    """

    def __init__(self) -> None:
        self.url = ""
        self.wrong = False
        self.markup = "P00000"
        self.enough: int | None = None
        self.answered = 0
        self.waits = asyncio.Event()
        self.waits.set()

    async def annotate(self, text: str, _context: Context) -> Answer:
        if self.wrong and self.answered == self.enough:
            self.waits.clear()
        await self.waits.wait()
        answer = answer_for(text)
        if self.wrong:
            self.answered += 1
            answer["normalizations"][1]["rank"] = 0
            answer["normalizations"][3]["confidence"] = 7.0
            answer["normalizations"][4]["dbid"] = self.markup
        return answer


class Hub:
    """A service with a phase that is not open yet, team blue, and an annotation server."""

    def __init__(self, folder: Path) -> None:
        self.url = ""
        self.token = ""
        self.annotator = Annotator()
        self.running: Running
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._stack = AsyncExitStack()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the hub's event loop and return its result."""
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(timeout=30)

    def ask(self, operation: str, **values: Any) -> Any:
        """Do an operation as an organiser."""
        return self.do(self.running.do(operation, **values))

    def ask_as_team(self, operation: str, **values: Any) -> Any:
        """Do an operation as team blue."""
        return self.do(self.running.do(operation, self.running.team("blue"), **values))

    def wait(self, *, held: bool) -> None:
        """Hold the annotation server's answers back, or let them go."""
        event = self.annotator.waits
        self._loop.call_soon_threadsafe(event.clear if held else event.set)

    def start(self) -> None:
        """Start it all."""
        self._thread.start()
        self.do(self._start())

    async def _start(self) -> None:
        self.running = await self._stack.enter_async_context(at_work(await settings(self._folder)))
        await self.fill()
        self.annotator.url = await self._stack.enter_async_context(
            served(Kit(self.annotator.annotate))
        )
        runner = web.AppRunner(make_service_app(self.running.service), shutdown_timeout=1.0)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def fill(self) -> None:
        """Put into the hub what is there from the start."""
        await plan_phase(self.running, freezes="2030-01-15T17:00")
        await self.running.do("teams.create", team="blue", title="The blue team")
        issued = await self.running.do("tokens.create", team="blue", role="team", label="browser")
        self.token = issued.token

    def stop(self) -> None:
        """End it all."""
        self.do(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
