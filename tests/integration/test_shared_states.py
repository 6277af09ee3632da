"""States of servers, attempts and paces in a hub of several processes: each shows the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.model.records import ServerName
from metaserver.model.states import Control, ServerState
from metaserver.monitoring.windows import ServerWindow, Window
from metaserver.store import audit, leases, servers
from metaserver.store.tables import lanes, leader
from tests.hubs.inside import Running, plan_phase
from tests.hubs.several import process, two
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

NAME = ServerName("blue-1")


@asynccontextmanager
async def due(folder: Path, url: str = "http://127.0.0.1:9/") -> AsyncIterator[Sequence[Running]]:
    """Run two processes with pages, and a lane that is to be at work; no worker lives."""
    async with two(folder) as (first, second):
        await plan_phase(first)
        await first.do("teams.create", team="blue")
        await first.do("servers.register", first.team("blue"), server=NAME, url=url)
        await first.do("phases.open", phase="test")
        async with first.service.store.writing() as connection:
            registered = await servers.get(connection, NAME)
            assert registered is not None
            key = first.service.phase("test").key(registered)
            await servers.set_control(connection, key, Control.RUNNING)
            await leases.order(connection, key, due=True)
            await audit.add(connection, actor="a test", action="servers.start", subject=NAME)
        yield first, second


def measures(running: Running) -> ServerWindow:
    return running.service.phase("test").windows.window(NAME, Window.HOUR)


async def all_in(state: ServerState, *processes: Running) -> None:
    """Wait until the measures of a server have its state in all processes."""
    for running in processes:
        await until(lambda running=running: measures(running).state is state)


async def found(running: Running, down: str) -> None:
    """Report what a worker would report that holds the lane."""
    async with running.service.store.writing() as connection:
        await connection.execute(sa.update(lanes).values(down=down))


async def lead(running: Running) -> None:
    """Let a process lead instead of the one that does."""
    async with running.service.store.writing() as connection:
        await connection.execute(
            sa.update(leader).values(process=running.service.member.id, epoch=leader.c.epoch + 1)
        )
    await until(lambda: running.service.leader.leads)


async def test_each_process_has_the_states_that_the_leader_stores(tmp_path: Path) -> None:
    async with due(tmp_path) as (first, second):
        await all_in(ServerState.WAITING, first, second)
        await found(first, "connect: refused")
        await all_in(ServerState.DOWN, first, second)
        async with process(tmp_path) as third:
            await all_in(ServerState.DOWN, third)  # it was started later
            await lead(third)
            await found(third, "")
            await all_in(ServerState.WAITING, first, second, third)
            await lead(second)  # it has what the others recorded, and goes on
            await found(second, "connect: refused")
            await all_in(ServerState.DOWN, first, second, third)
            seen = [measures(one) for one in (first, second, third)]
            assert {one.note for one in seen} == {"connect: refused"}
            assert {one.availability.failures for one in seen} == {1}
            assert len({one.availability.neither for one in seen}) == 1  # the same times
            assert all(one.availability.down > 0.0 for one in seen)
