"""Hubs with curators: servers that behave as they are set, and callers with tokens."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.curations import UNFINISHED
from metaserver.base.states import Role
from metaserver.curation.operations.requests import RequestDetail
from metaserver.operations.caller import Caller
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.integration.kits import answer_for, served

TEXT = "EGFR binds GRB2\n\nWe show that EGFR binds GRB2 in living cells."


@dataclass
class Scripted:
    """A server whose answers wait for `open`, and fail where it is `faulty`."""

    faulty: bool = False
    answer: Answer | None = None
    respond: Callable[[str, Context], Awaitable[Answer]] | None = None
    texts: list[str] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    url: str = ""
    open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    async def annotate(self, text: str, context: Context) -> Answer:
        self.texts.append(text)
        self.contexts.append(context)
        if self.faulty:
            raise RuntimeError("out of order")
        await self.open.wait()
        if self.respond is not None:
            return await self.respond(text, context)
        return self.answer or answer_for(text)


@asynccontextmanager
async def scripted(names: Sequence[str]) -> AsyncIterator[dict[str, Scripted]]:
    """Serve a server of each name."""
    async with AsyncExitStack() as stack:
        found = {name: Scripted() for name in names}
        for one in found.values():
            one.url = await stack.enter_async_context(served(Kit(one.annotate)))
        yield found


async def register(running: Running, servers: dict[str, Scripted], **values: Any) -> None:
    """Register servers, each of the team of its name, test them, and agree to serve curators."""
    for name, one in servers.items():
        await running.do("teams.create", team=name)
        team = running.team(name)
        given = {"server": name, "url": one.url, "parameters": "text+context"} | values
        await running.do("servers.register", team, **given)
        assert (await running.do("servers.test", team, server=name)).passed
        await running.do("servers.serve-curators", team, server=name, serve=True)
        one.texts.clear()
        one.contexts.clear()


@asynccontextmanager
async def asked_hub(
    folder: Path,
    names: Sequence[str],
    *,
    clock: Callable[[], float] = time.time,
    visibility: str = "hidden",
    concurrency: int = 1,
    **changes: Any,
) -> AsyncIterator[tuple[Running, dict[str, Scripted]]]:
    """Run a hub with a phase, whose curators may ask servers of these names."""
    given = await settings(folder, **changes)
    async with scripted(names) as servers, at_work(given, clock=clock) as running:
        await plan_phase(running, visibility=visibility)
        await register(running, servers, concurrency=concurrency)
        yield running, servers


async def curator(running: Running, label: str = "ana") -> Caller:
    """Return a curator with a token."""
    issued = await running.do("tokens.create", role="curator", label=label)
    return Caller(role=Role.CURATOR, token_id=issued.id, name=f"curator {label}")


async def settled(running: Running, caller: Caller, asked: RequestDetail) -> RequestDetail:
    """Return a request when its state is the last, and no answer is outstanding."""
    version = 0
    while True:
        found: RequestDetail = await running.do(
            "consensus.get", caller, request=asked.request, since=version, wait=20.0
        )
        under_way = any(one.state in ("waiting", "busy", "asked", "again") for one in found.servers)
        if found.state not in UNFINISHED and not under_way:
            return found
        version = found.version


def states(found: RequestDetail) -> dict[str, str]:
    """Return the state of each server, by name."""
    return {one.server: str(one.state) for one in found.servers}
