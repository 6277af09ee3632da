"""The annotation servers of the demo: the kit's baselines, each a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from metaserver.base.errors import HubError
from metaserver.base.records import Server, ServerName
from metaserver.cli.process import end_process

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class DemoServer:
    """One of the kit's servers, on a port that it keeps when it is started again."""

    def __init__(self, name: str, options: Sequence[str]) -> None:
        self.name = ServerName(name)
        self._options = options
        self._port = "0"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def server(self) -> Server:
        """The server as it is registered."""
        return Server(name=self.name, url=f"http://127.0.0.1:{self._port}/")

    async def start(self) -> None:
        """Start it and wait until it listens; raises `HubError` if it does not."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "annotators", "serve", self.name, "--port", self._port,
            *self._options,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the hub, which stops its servers itself
        )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = (await self._process.stdout.readline()).decode().strip()
        if not line.startswith("listening on "):
            reason = line or "no word from it"
            raise HubError(f"the demo's server {self.name} did not start: {reason}")
        self._port = line.rstrip("/").rpartition(":")[2]

    async def stop(self) -> None:
        """End it, at once if it takes long; one that does not run stays as it is."""
        if self._process is not None:
            await end_process(self._process, STOP_SECONDS)


@asynccontextmanager
async def demo_server(name: str, options: Sequence[str]) -> AsyncIterator[DemoServer]:
    """Run a server while the context lasts."""
    server = DemoServer(name, options)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()
