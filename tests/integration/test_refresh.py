"""What a process shows of its store after one look: changes and lanes as others left them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from metaserver.base.lanes import StateChange
from metaserver.base.records import ServerName
from metaserver.base.states import Control, PhaseState, ServerState
from metaserver.cli.serve import open_service
from metaserver.phases.refresh import StoreFollower
from metaserver.store import audit, leases, phases, servers, states
from metaserver.store.tables import lanes
from tests.fakes.clock import FakeClock
from tests.hubs.inside import Running, plan_phase, settings
from tests.waiting import until

NAME = ServerName("blue-1")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_800_000_000.0)


@pytest.fixture
async def running(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Running]:
    """A hub that nothing drives, with a server that is due in an open phase."""
    async with open_service(await settings(tmp_path), clock=clock) as hub:
        running = Running(hub)
        await plan_phase(running, teams=["blue"], is_open=True)
        url = "http://127.0.0.1:9/"
        await running.do("servers.register", running.team("blue"), server=NAME, url=url)
        async with hub.store.writing() as connection:
            registered = await servers.get(connection, NAME)
            assert registered is not None
            key = hub.phase("test").key(registered)
            await servers.set_control(connection, key, Control.RUNNING)
            await leases.order(connection, key, due=True)
            await changed(connection)
        await hub.phases.follower.look()
        yield running


async def changed(connection: Any) -> None:
    """Note a change by another process, without which nothing is read again."""
    await audit.add(connection, actor="a test", action="changed", subject=NAME)


async def left(running: Running, **columns: Any) -> None:
    """Let another process leave the lane so, and look once."""
    async with running.service.store.writing() as connection:
        await connection.execute(sa.update(lanes).values(**columns))
    await running.service.phases.follower.look()


async def test_a_lane_is_shown_as_another_process_left_it(running, clock):
    count = running.service.phases.scheduler.lanes
    phase = running.service.phase("test")
    before = phase.paces.measured(NAME).seconds
    clock.now += 5.0  # it is due, so that it takes time, although nobody has taken it yet
    assert phase.paces.measured(NAME).seconds == before + 5.0
    assert count.count == 0
    await left(running, worker="elsewhere", in_flight=3)
    assert (running.status().in_flight, count.count) == (3, 1)
    await left(running, in_flight=2, down="connect: refused")
    assert (running.status().in_flight, running.status().state) == (2, ServerState.DOWN)
    await left(running, worker=None, in_flight=0, due=False, down="", ended="paused")
    assert (running.status().in_flight, count.count) == (0, 0)
    before = phase.paces.measured(NAME).seconds
    clock.now += 5.0
    assert phase.paces.measured(NAME).seconds == before


async def test_a_log_that_was_changed_is_read_again(running):
    is_behind = running.service.phase("test").follower.is_behind
    await left(running, in_flight=1)
    assert not is_behind(NAME)
    await left(running, revision=1)
    assert is_behind(NAME)


async def test_what_another_process_stored_is_taken_over(running):
    hub, phase = running.service, running.service.phase("test")
    async with hub.store.writing() as connection:
        key = phase.key(phase.servers[NAME])
        down = StateChange(key=key, at=hub.clock(), state=ServerState.DOWN, note="away")
        await states.add(connection, [down])
    version = phase.boards.version
    await hub.phases.follower.look()
    assert phase.boards.version > version
    async with hub.store.writing() as connection:
        await phases.change(connection, phase.phase.id, standing=PhaseState.FROZEN)
        await changed(connection)
    await hub.phases.follower.look()
    assert phase.state is PhaseState.FROZEN


async def test_changes_that_could_not_be_read_are_read_again(running, caplog):
    follower: StoreFollower = running.service.phases.follower
    fails, reads = [RuntimeError("a fault")], list[int]()

    async def listener() -> None:
        if fails:
            raise fails.pop()
        reads.append(1)

    follower.listeners.append(listener)
    async with running.service.store.writing() as connection:
        await changed(connection)
    with pytest.raises(RuntimeError):
        await follower.look()
    await follower.look()
    await follower.look()
    assert reads == [1]
    assert follower.lag == float("inf")  # nobody has looked in turn
    fails.append(RuntimeError("a fault"))
    async with running.service.store.writing() as connection:
        await changed(connection)
    following = asyncio.create_task(follower.run())
    await until(lambda: "are read again" in caplog.text)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert "changes of other processes cannot be read" in caplog.text
    assert 0 <= follower.lag < 600
