"""The processes of a rehearsal: the hub, which is killed and started again, and the servers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from metaserver.base.errors import HubError
from metaserver.cli.process import end_process

START_SECONDS = 120.0
STOP_SECONDS = 10.0
SERVING = "metaserver: serving at "
SERVERS = "metaserver.cli.rehearsal.servers"
COMMAND = "metaserver.cli.main"


async def _begin(module: str, *arguments: str, log: Path) -> asyncio.subprocess.Process:
    """Start a module; its standard error is added to the log. Ctrl-C is not for it."""
    with log.open("ab") as errors:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )  # fmt: skip


class HubProcess:
    """`metaserver serve` as a process of its own; `address` is where it is served."""

    def __init__(self, config: Path, log: Path) -> None:
        self.address = ""
        self._config = config
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves."""
        begun = self._log.stat().st_size if self._log.exists() else 0
        self._process = await _begin(COMMAND, "serve", "--config", str(self._config), log=self._log)
        try:
            async with asyncio.timeout(START_SECONDS):
                while not (address := self._address_after(begun)):
                    if self._process.returncode is not None:
                        raise HubError(f"the hub did not start: {self._said(begun)}")
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise HubError(f"the hub did not start within {START_SECONDS:.0f} s") from error
        self.address = address

    def _said(self, begun: int) -> str:
        return self._log.read_bytes()[begun:].decode("utf-8", "replace").strip()

    def _address_after(self, begun: int) -> str:
        lines = self._said(begun).splitlines()
        found = [line.removeprefix(SERVING) for line in lines if line.startswith(SERVING)]
        return found[0].strip() if found else ""

    async def kill(self) -> None:
        """Kill it without warning."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """Let it stop by itself, or kill it."""
        if self._process is not None:
            await end_process(self._process, STOP_SECONDS)

    async def new_token(self) -> str:
        """Return a new token of role organiser."""
        process = await _begin(
            COMMAND, "token", "create", "--role", "organiser", "--label", "rehearsal",
            "--config", str(self._config), log=self._log,
        )  # fmt: skip
        out, _ = await process.communicate()
        if process.returncode:
            raise HubError(f"no token was made: see {self._log}")
        return out.decode().strip()


@asynccontextmanager
async def simulated_servers(plan: Path, log: Path) -> AsyncIterator[Mapping[str, str]]:
    """Serve a plan while the context lasts; yields the address of each server by its name."""
    process = await _begin(SERVERS, str(plan), log=log)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        if not line:
            raise HubError(f"the simulated servers did not start: see {log}")
        addresses: Mapping[str, str] = json.loads(line)
        yield addresses
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
