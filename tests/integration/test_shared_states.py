"""States of servers, attempts and paces in a hub of several processes: each shows the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from metaserver.cli.lane_worker import work_lanes
from metaserver.model.records import ServerName
from metaserver.model.states import Control, ServerState
from metaserver.monitoring.pace import KEPT, MeasuredPace
from metaserver.monitoring.windows import ServerWindow, Window
from metaserver.phases import follower
from metaserver.store import audit, leases, servers
from metaserver.store.tables import lanes, leader
from tests.hubs.inside import Running, plan_phase
from tests.hubs.several import process, two
from tests.integration.kits import asked_server
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

NAME = ServerName("blue-1")


@asynccontextmanager
async def due(
    folder: Path, url: str = "http://127.0.0.1:9/", *, is_due: bool = True
) -> AsyncIterator[Sequence[Running]]:
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
            await servers.set_control(
                connection, key, Control.RUNNING if is_due else Control.PAUSED
            )
            await leases.order(connection, key, due=is_due)
            await audit.add(connection, actor="a test", action="servers.start", subject=NAME)
        await second.service.follower.freshen()
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


@asynccontextmanager
async def worker(running: Running, folder: Path) -> AsyncIterator[None]:
    """Run a process that works lanes alone, on a machine of its own."""
    given = msgspec.structs.replace(running.service.settings, folder=str(folder / "worker"))
    task = asyncio.create_task(work_lanes(given))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def counted(running: Running) -> Mapping[str, float]:
    """Return the metrics of attempts, by name, all servers together."""
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(running.service.metrics.render()[0].decode()):
        for sample in family.samples:
            found[sample.name] += sample.value
    return found


@pytest.mark.parametrize("chunk", [256, 0], ids=["together", "one by one"])
async def test_each_process_counts_what_workers_store_while_it_lives(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "CHUNK", chunk)  # above it, a lane is behind and read by itself
    async with asked_server() as asked, due(tmp_path, asked.url) as (first, second):
        articles = len(first.service.phase("test").corpus)
        async with worker(first, tmp_path):
            for running in (first, second):
                await until(lambda hub=running: counted(hub)["metaserver_attempts_total"])
                await all_in(ServerState.FINISHED, running)
        for running in (first, second):
            found = counted(running)
            assert found["metaserver_attempts_total"] == articles
            assert found["metaserver_response_seconds_count"] == articles
            assert found["metaserver_hits_kept_total"] > 0
            assert found["metaserver_sent_bytes_total"] > 0
            pace = running.service.phase("test").paces.measured(NAME)
            assert pace.articles == min(articles, KEPT)
        async with process(tmp_path) as third:
            await third.caught_up()
            assert counted(third)["metaserver_attempts_total"] == 0  # it counts from its start


async def test_a_server_that_was_never_started_is_not_at_work(tmp_path: Path) -> None:
    async with due(tmp_path, is_due=False) as processes:
        await all_in(ServerState.PAUSED, *processes)
        for running in processes:
            assert running.service.phase("test").paces.measured(NAME) == MeasuredPace(0, 0.0)
