"""The course of a rehearsal: teams come, servers are tested and asked, the hub is killed once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metaserver.base.errors import HubError
from metaserver.base.zones import in_words
from metaserver.cli.rehearsal.checks import Stored, read_stored
from metaserver.cli.rehearsal.plan import PlannedServer
from metaserver.cli.rehearsal.processes import HubProcess
from metaserver.cli.remote.client import RemoteHub
from metaserver.cli.remote.following import followed

AT_ONCE = 8
"""Servers that are tested at the same time."""
LOOK_SECONDS = 0.5
SAY_SECONDS = 10.0
FREEZE_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The progress of all servers; `finished`: no article is left, or the phase is frozen.

    `cut_off`: it was frozen, by its date or by an organiser, with articles left.
    """

    ended: int
    total: int
    down: Sequence[str]
    finished: bool
    cut_off: bool


@dataclass(frozen=True, kw_only=True)
class Restart:
    """The restart of the hub: what its store had before, and the real seconds it was away."""

    at: float
    before: Stored
    away: float


class Course:
    """A phase of a running hub, asked as its organiser; times are the challenge's, in seconds."""

    def __init__(self, process: HubProcess, token: str, phase: str, speed: float) -> None:
        self.phase = phase
        self._process = process
        self._token = token
        self._speed = speed
        self._opened = 0.0

    @property
    def now(self) -> float:
        """The time since the phase was opened."""
        return (time.time() - self._opened) * self._speed

    async def ask(self, method: str, path: str, body: Any = None, **places: str) -> Any:
        """Ask the hub, and follow a job to its end."""
        return await asyncio.to_thread(self._ask, method, path, body, places)

    def _ask(self, method: str, path: str, body: Any, places: Mapping[str, str]) -> Any:
        hub = RemoteHub(url=self._process.address, token=self._token)
        answer = hub.ask(method, path, places=places, body=body)
        is_job = isinstance(answer, dict) and {"job", "began_at"} <= answer.keys()
        return followed(hub, answer) if is_job else answer

    async def enrol(self, servers: Sequence[PlannedServer], addresses: Mapping[str, str]) -> None:
        """Register all teams and servers, and test each server."""
        for team in dict.fromkeys(server.team for server in servers):
            await self.ask("POST", "/teams", {"team": team})
        turn = asyncio.Semaphore(AT_ONCE)

        async def register(server: PlannedServer) -> None:
            async with turn:
                registered = {
                    "server": server.name,
                    "url": addresses[server.name],
                    "parameters": "text+context",
                    "concurrency": server.concurrency,
                    "team": server.team,
                }
                await self.ask("POST", "/servers", registered)
                tested = await self.ask(
                    "POST", "/servers/{server}/test", {"phase": self.phase}, server=server.name
                )
                if not tested["passed"]:
                    failed = [step for step in tested["steps"] if step["state"] == "failed"]
                    raise HubError(f"{server.name} did not pass its test: {failed[0]['message']}")

        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(register(server))

    async def open(self, servers: Sequence[PlannedServer], length: float | None) -> None:
        """Open the phase, start all servers, and let it freeze by itself after `length`."""
        await self.ask("POST", "/phases/{phase}/open", {}, phase=self.phase)
        self._opened = time.time()
        for server in servers:
            start = {"phase": self.phase}
            await self.ask("POST", "/servers/{server}/start", start, server=server.name)
        if length is not None:  # after the starts, which a frozen phase would refuse
            freezes = datetime.fromtimestamp(self._opened + length / self._speed, UTC)
            dates = {"freezes": freezes.isoformat()}
            await self.ask("PATCH", "/phases/{phase}", dates, phase=self.phase)

    async def progress(self) -> Standing:
        """Return how far all servers are."""
        phase = await self.ask("GET", "/phases/{phase}", phase=self.phase)
        servers = await self.ask("GET", "/servers")
        lanes = {server["server"]: lane for server in servers for lane in server["phases"]}
        ended = [lane["done"] + lane["given_up"] for lane in lanes.values()]
        total = [lane["total"] for lane in lanes.values()]
        is_over = phase["state"] in ("frozen", "closed")
        return Standing(
            ended=sum(ended),
            total=sum(total),
            down=[name for name, lane in lanes.items() if lane["state"] == "down"],
            finished=is_over or (ended == total and not phase["catching_up"]),
            cut_off=is_over and ended != total,
        )

    async def play(self, folder: Path, say: Any) -> tuple[Restart, Standing]:
        """Wait until all servers have finished; meanwhile kill the hub once and start it again."""
        restart, said = None, 0.0
        while True:
            progress = await self.progress()
            if restart is None and (progress.finished or progress.ended * 2 >= progress.total):
                restart = await self._restart(folder)
                say(f"{in_words(restart.at)}: the hub was killed, and serves again after"
                    f" {restart.away:.1f} s")  # fmt: skip
                continue
            if progress.finished or time.time() - said > SAY_SECONDS:
                said = time.time()
                down = f"; down: {', '.join(progress.down)}" if progress.down else ""
                say(
                    f"{in_words(self.now)}: {progress.ended:,} of {progress.total:,} articles{down}"
                )
            if progress.finished:
                assert restart is not None
                return restart, progress
            await asyncio.sleep(LOOK_SECONDS)

    async def _restart(self, folder: Path) -> Restart:
        at, before = self.now, await read_stored(folder)
        killed = time.monotonic()
        await self._process.kill()
        await self._process.start()
        return Restart(at=at, before=before, away=time.monotonic() - killed)

    async def freeze(self, tasks: Sequence[str]) -> Mapping[str, Any]:
        """Freeze the phase, and return its frozen boards by task when they are there."""
        phase = await self.ask("GET", "/phases/{phase}", phase=self.phase)
        if phase["state"] not in ("frozen", "closed"):
            await self.ask("POST", "/phases/{phase}/freeze", {}, phase=self.phase)
        try:
            async with asyncio.timeout(FREEZE_SECONDS):
                while True:
                    frozen = await self.ask("GET", "/phases/{phase}/frozen", phase=self.phase)
                    newest = {one["task"]: one["board"] for one in reversed(frozen)}
                    if newest.keys() >= set(tasks):
                        break
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError as error:
            raise HubError("the boards were not frozen") from error
        return {
            task: await self.ask("GET", "/boards/{board}", board=newest[task]) for task in tasks
        }
