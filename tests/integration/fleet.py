"""A hub of several processes on PostgreSQL for tests, and what holds whatever has happened."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from tests import stores
from tests.hubs.process import Api, Hub, challenge, enrol, new_token, write_config
from tests.integration.kits import Asked, asked_server
from tests.integration.test_kill import write_challenge
from tests.integration.test_serve_kill import boards
from tests.waiting import patience

TEAMS = ("blue", "green", "red", "white")
TASKS = ("ACT", "INT", "IPT")
ARTICLES = 150


@dataclass
class Fleet:
    """The processes of a hub, its store, and the servers that it asks."""

    config: Path
    url: str
    session: aiohttp.ClientSession
    token: str
    asked: dict[str, Asked]
    processes: dict[str, Hub] = field(default_factory=dict)

    async def start(self, *names: str) -> None:
        """Start processes, `web-1` or `worker-2`, and wait until they are ready."""
        for name in names:
            self.processes[name] = await Hub.begin(self.config, name.split("-")[0])
        for name in names:
            await self.processes[name].ready()

    async def kill(self, name: str) -> None:
        """Kill a process without warning."""
        self.processes[name].kill()
        await self.processes.pop(name).ended()

    def api(self, web: str) -> Api:
        """Return an organiser's API of a process with pages."""
        return Api(self.session, self.processes[web].address, self.token)

    async def ask(self, statement: str) -> Sequence[Any]:
        """Send a statement to the store."""
        connection = await asyncpg.connect(self.url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    async def done(self) -> int:
        """Return the number of stored answers."""
        [(count,)] = await self.ask("SELECT count(*) FROM answers")
        return int(count)

    async def until_done(self, count: int) -> None:
        """Wait until so many answers are stored."""
        async with patience():
            while await self.done() < count:
                await asyncio.sleep(0.1)


@asynccontextmanager
async def fleet(
    folder: Path, seconds: float, teams: Sequence[str] = TEAMS, url: str = "", **plan: Any
) -> AsyncIterator[Fleet]:
    """Prepare a hub of several processes, none of which is started, and the plan of its phase."""
    write_challenge(folder)
    gold = {task: folder / f"{task.lower()}.tsv" for task in TASKS}
    url = url or stores.database_of(folder / "hub").secret
    async with AsyncExitStack() as stack:
        asked = {team: await stack.enter_async_context(asked_server(seconds)) for team in teams}
        timeout = aiohttp.ClientTimeout(total=60)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        config = await write_config(
            folder, challenges=[challenge(folder / "articles", gold, **plan)], store=url
        )
        made = Fleet(config, url, session, await new_token(config), asked)
        try:
            yield made
        finally:
            for name, process in made.processes.items():
                print(name, *process.log[-40:], sep="\n  ")  # shown where the test fails
            for name in list(made.processes):
                await made.kill(name)


async def begin(fleet: Fleet, web: str, *, start: bool = True, **server: Any) -> None:
    """Enrol the teams, open the phase and start their servers, which are asked for nothing else.

    Their servers are registered with what is given.
    """
    organiser = fleet.api(web)
    await organiser("POST", "/phases/test/open")
    for team, asked in fleet.asked.items():
        token = await enrol(organiser, team, {team: asked.url}, concurrency=2, **server)
        asked.texts.clear()  # of its test
        if start:
            await organiser.of(token)("POST", f"/servers/{team}/start")


async def require_whole(fleet: Fleet) -> None:
    """Check that nothing is missing, nothing is there twice, and nothing was charged."""
    rows = await fleet.ask("SELECT server_id, position FROM answers")
    assert len(rows) == len(set(rows)) == len(fleet.asked) * ARTICLES
    outcomes = await fleet.ask("SELECT DISTINCT outcome FROM attempts")
    assert set(outcomes) <= {("ok",), ("cancelled",)}
    serials = await fleet.ask(
        "SELECT l.serial, count(*), max(a.serial) FROM lanes l"
        " JOIN attempts a USING (phase_id, server_id) GROUP BY l.phase_id, l.server_id, l.serial"
    )
    assert all(serial == count == last for serial, count, last in serials)


async def require_same_boards(fleet: Fleet, *webs: str) -> None:
    """Check that processes show the same, within the time that they need to follow."""
    async with patience():
        while True:
            shown = [await boards(fleet.api(web)) for web in webs]
            rows = [row for board in shown[0] for row in board["rows"]]
            if rows and all(one == shown[0] for one in shown):
                return
            await asyncio.sleep(0.5)
