"""All simulated servers in one process, each on its own port, so that each can be away.

`python -m metaserver.cli.rehearsal.servers PLAN` reads a list of `PlannedServer`, prints their
addresses as JSON, and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from aiohttp import web

from annotators.contract import Answer, Context
from annotators.faults import FAULTS
from annotators.server import Kit, application
from annotators.test_servers import asked_article
from metaserver.cli.rehearsal.plan import PlannedServer

HOST = "127.0.0.1"
PLAYS = {fault.name: fault.play for fault in FAULTS}
NOTHING: Answer = {"interaction": [False, 0.5], "normalizations": [], "pairs": []}
"""The answer to an article outside the plan: the hub's test of a server."""


class SimulatedKit(Kit):
    """A kit that answers as planned; `on_request` is called with every requested article.

    It returns how often that was, including this time.
    """

    def __init__(self, planned: PlannedServer, on_request: Callable[[str], int]) -> None:
        super().__init__(_nothing, workers=planned.concurrency)
        self._planned = planned
        self._on_request = on_request

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer an HTTP request."""
        article = asked_article(await request.read())
        name = article[1].get("article_id", "") if article else ""
        planned = self._planned.articles.get(name)
        if planned is None:
            return await super().handle(request)
        times = self._on_request(name)
        await asyncio.sleep(planned.seconds)
        healed = 0 < planned.failures < times
        play = PLAYS[planned.fault if planned.fault and not healed else "honest"]
        try:
            return await play(request, dict(planned.answer))
        except ConnectionError:  # the hub hung up
            return web.Response()


async def _nothing(_text: str, _context: Context) -> Answer:
    return NOTHING


class SimulatedServer:
    """A planned server at a port, which it leaves for a while and takes again."""

    def __init__(self, planned: PlannedServer) -> None:
        self._planned = planned
        self._requests: Counter[str] = Counter()
        self._port = 0
        self._runner: web.AppRunner | None = None
        self._away: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Listen; return the address. The port is the same each time."""
        kit = SimulatedKit(self._planned, self._count)  # one that was stopped stays shut down
        self._runner = web.AppRunner(
            application(kit), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port).start()
        self._port = self._runner.addresses[0][1]
        return f"http://{HOST}:{self._port}/"

    async def stop(self) -> None:
        """Stop listening, and drop what is connected."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _count(self, article: str) -> int:
        self._requests[article] += 1
        if self._requests.total() == self._planned.answers and self._planned.away:
            self._away = asyncio.create_task(self._restart())
        return self._requests[article]

    async def _restart(self) -> None:
        await self.stop()
        await asyncio.sleep(self._planned.away)
        await self.start()


async def serve(planned: Sequence[PlannedServer]) -> None:
    """Serve a plan until standard input is closed."""
    servers = [SimulatedServer(plan) for plan in planned]
    addresses = [await server.start() for server in servers]
    names = [plan.name for plan in planned]
    print(msgspec.json.encode(dict(zip(names, addresses, strict=True))).decode(), flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        plan = Path(sys.argv[1]).read_bytes()
        asyncio.run(serve(msgspec.json.decode(plan, type=list[PlannedServer])))
