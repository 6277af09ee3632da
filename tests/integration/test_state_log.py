"""The log of servers' states: what has changed is stored once, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import LaneKey
from metaserver.base.records import Attempt, Server, ServerName, TeamName, Timings
from metaserver.base.states import Control, Outcome, RetryDecision, ServerState
from metaserver.boards.windows import Window
from metaserver.cli.serve import open_service
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.phases.runtime import Part
from metaserver.phases.state_log import ServerStateChange, ServerStateRecorder
from metaserver.store import servers, states, teams
from tests.hubs.inside import Running, plan_phase, settings
from tests.hubs.stored import stored
from tests.waiting import until

SERVER = Server(name=ServerName("blue-1"), url="http://127.0.0.1:9/")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """Return a hub with a phase and a server in it; nothing drives it."""
    async with open_service(await settings(tmp_path)) as service:
        running = Running(service)
        await plan_phase(running)
        phase = service.phase("test")
        async with service.store.writing() as connection:
            team = await teams.add(connection, TeamName("blue"), "", "")
            await servers.add(connection, SERVER, team)
            registered = await servers.get(connection, SERVER.name)
            key = LaneKey(phase.phase.id, registered.id)
            await servers.set_control(connection, key, Control.RUNNING)
        await phase.reload(Part.SERVERS, SERVER.name)
        yield running


async def logged(running: Running) -> list[ServerState]:
    phase = running.service.phase("test")
    key = phase.key(phase.servers[SERVER.name])
    async with running.service.store.reading() as connection:
        return [change.state for change in await states.list_changes(connection, key)]


def change(running: Running, *, down: str = "") -> None:
    phase = running.service.phase("test")
    phase.published(LaneChanged(server=SERVER, in_flight=1, down=down))


def answered(running: Running, serial: int, seconds: float) -> None:
    phase = running.service.phase("test")
    attempt = Attempt(
        server=SERVER.name,
        article=phase.corpus.ids[serial - 1],
        number=1,
        started_at=running.service.clock(),
        outcome=Outcome.OK,
        timings=Timings(total=seconds),
    )
    phase.published(
        AttemptEnded(
            server=SERVER,
            serial=serial,
            position=serial - 1,
            attempt=attempt,
            answer=None,
            decision=RetryDecision(answered=True),
        )
    )


async def lead(
    running: Running, recorder: ServerStateRecorder, state: ServerState
) -> ServerStateChange:
    """Let a recorder lead until it has stored a server's state; return what it told."""
    told: list[ServerStateChange] = []

    async def hear(connection: AsyncConnection, seen: ServerStateChange) -> None:
        told.append(seen)

    recorder.listeners.append(hear)
    phase = running.service.phase("test")
    phase.boards.server_monitor.put_back({SERVER.name: []})  # whoever begins to lead looks at all
    leading = asyncio.create_task(recorder.run())
    await until(lambda: told)
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
    recorder.listeners.remove(hear)
    [seen] = told
    assert seen.change.state is state
    return seen


async def recorders(running: Running) -> tuple[ServerStateRecorder, ServerStateRecorder]:
    """Return two processes' recorders, the first of which has told that the server is down."""
    service, phases = running.service, running.service.phases.scheduler.phases
    first, second = (
        ServerStateRecorder(service.store, phases.values, service.clock) for _ in range(2)
    )
    change(running, down="connect: refused")
    await lead(running, first, ServerState.DOWN)
    return first, second


async def test_a_leader_that_was_replaced_knows_what_the_other_one_told(running: Running) -> None:
    first, second = await recorders(running)
    change(running)
    answered(running, 1, seconds=0.1)
    assert (await lead(running, second, ServerState.UP)).was_down
    for serial in (2, 3):
        answered(running, serial, seconds=15.0)
    assert not (await lead(running, first, ServerState.SLOW)).was_down


async def test_a_server_that_was_paused_while_down_is_up_again_to_a_new_leader(running):
    service = running.service
    phase = service.phase("test")
    monitor = phase.boards.server_monitor
    first, second = await recorders(running)
    monitor.control(SERVER.name, Control.PAUSED, "")
    await lead(running, first, ServerState.PAUSED)
    monitor.control(SERVER.name, Control.RUNNING, "")
    change(running)
    answered(running, 1, seconds=0.1)
    assert (await lead(running, second, ServerState.UP)).was_down


@pytest.mark.both_stores
async def test_each_change_is_stored_once(running: Running) -> None:
    recorder = running.service.part(ServerStateRecorder)
    expected = [ServerState.WAITING]
    for down in ("", "connect: refused", "connect: refused again", ""):
        change(running, down=down)
        await recorder.record()
        await recorder.record()
        state = ServerState.DOWN if down else ServerState.WAITING
        if state is not expected[-1]:
            expected.append(state)
        assert await logged(running) == expected


async def test_a_change_that_could_not_be_stored_is_stored_later(running: Running) -> None:
    recorder = running.service.part(ServerStateRecorder)
    await recorder.record()
    failing = [True]

    async def fail(connection: AsyncConnection, seen: ServerStateChange) -> None:
        if failing.pop():
            raise ConnectionError("not now")

    recorder.listeners.append(fail)
    change(running, down="connect: refused")
    with pytest.raises(ConnectionError):
        await recorder.record()
    assert await logged(running) == [ServerState.WAITING]
    failing.append(False)
    await recorder.record()
    assert await logged(running) == [ServerState.WAITING, ServerState.DOWN]


async def test_a_server_that_was_down_between_two_checks_was_not_up_all_the_time(running):
    recorder, phase = running.service.part(ServerStateRecorder), running.service.phase("test")
    answered(running, 1, seconds=0.1)
    await recorder.record()
    for _ in range(2):  # what could not be stored is kept in its order
        change(running, down="connect: refused")
        change(running)
        phase.boards.server_monitor.put_back(phase.boards.server_monitor.take_changed())
    await recorder.record()
    up, down = ServerState.UP, ServerState.DOWN
    assert await logged(running) == [up, down, up, down, up]
    folder = Path(running.service.settings.folder)
    rows = [at for (at,) in stored(folder, "SELECT at FROM state_changes ORDER BY id")]
    window = phase.windows.window(SERVER.name, Window.HOUR)
    spans = [end - begin for begin, end in pairwise([*rows, window.until])]
    assert window.availability.failures == 2
    assert window.availability.down == pytest.approx(spans[1] + spans[3])
    assert window.availability.uptime == pytest.approx(1 - (spans[1] + spans[3]) / sum(spans))
