"""The story of the demo: a server that fails and recovers, and lines on what changes meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from rich.console import Console

from metaserver.base.records import ServerName
from metaserver.base.states import ServerState
from metaserver.boards.snapshots import ServerStatus
from metaserver.cli.console import say
from metaserver.cli.demo_servers import DemoServer
from metaserver.phases.live import LiveBoards

LOOK_SECONDS = 0.2
AWAY_SECONDS = 1.0
"""Time that the server stays away after the hub has noticed."""
BEFORE = 6
"""Articles that it answers before it is stopped."""
PLACED = 5
"""Articles of a run from which on its place is worth a line."""

NEXT = """
next:
  organise:   metaserver rehearse --out rehearsal   a week's challenge in minutes, simulated teams
  take part:  annotators new my-server              a server to start from, in eight languages
  run a hub:  metaserver serve                      the service; its pages explain it at /docs
"""
"""Commands that a newcomer may try next."""


@asynccontextmanager
async def story(boards: LiveBoards, fails: DemoServer, console: Console) -> AsyncIterator[None]:
    """Stop a server in the middle and start it again while the context lasts; say what changes."""
    tasks = [
        asyncio.create_task(_fail(boards, fails, console), name="failing server"),
        asyncio.create_task(_narrate(boards, console), name="story"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


async def _fail(boards: LiveBoards, server: DemoServer, console: Console) -> None:
    await _until(boards, server.name, lambda status: status.done >= BEFORE)
    say(console, f"{server.name} crashes after {BEFORE} articles (the demo stops it)")
    await server.stop()
    try:
        await _until(boards, server.name, lambda status: status.state is ServerState.DOWN)
        await asyncio.sleep(AWAY_SECONDS)
    finally:
        await server.start()


async def _until(
    boards: LiveBoards, name: ServerName, reached: Callable[[ServerStatus], bool]
) -> None:
    while True:
        if reached(_status(boards, name)):
            return
        await asyncio.sleep(LOOK_SECONDS)


def _status(boards: LiveBoards, name: ServerName) -> ServerStatus:
    return next(one for one in boards.monitor().servers if one.name == name)


async def _narrate(boards: LiveBoards, console: Console) -> None:
    states: dict[ServerName, ServerState] = {}
    leaders: dict[str, str] = {}
    while True:
        for status in boards.monitor().servers:
            before, states[status.name] = states.get(status.name), status.state
            if status.state is ServerState.DOWN and before is not ServerState.DOWN:
                say(console, f"{status.name} is down: its articles wait, and the hub probes it")
            elif before is ServerState.DOWN and status.state is not before:
                say(console, f"{status.name} is back, and gets the rest of its articles")
        for task in boards.tasks():
            first = [row for row in boards.board(task.name).rows if row.place == 1]
            if len(first) != 1 or first[0].articles_scored < PLACED:
                continue
            if leaders.get(task.name) != first[0].run:
                leaders[task.name] = first[0].run
                say(console, f"{first[0].run} leads {task.name}")
        await asyncio.sleep(LOOK_SECONDS)
