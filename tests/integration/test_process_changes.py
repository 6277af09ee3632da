"""Changes that another process of the hub has made: each process takes them in, and waits for none.

A gold change keeps a phase's `scoring` for minutes; a test holds it where one would.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metaserver.model.boards import RAW
from metaserver.model.errors import UnavailableError
from metaserver.model.records import ServerName, TaskName
from metaserver.store import audit
from metaserver.store.phases import set_gold
from metaserver.store.store import Store
from tests import stores
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.several import two
from tests.integration.test_service_gold import INT_GOLD, run_file
from tests.waiting import patience

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

RUN = {"phase": "test", "task": "INT", "run": "file-1"}
INT = TaskName("INT")


async def names_of(running: Running) -> list[str]:
    """Return the offline runs that a request to this process shows."""
    await running.service.freshen()
    return [run.run for run in await running.do("runs.list", phase="test")]


def gold_without(count: int) -> bytes:
    """Return the demo's gold without its last lines."""
    return b"".join(INT_GOLD.splitlines(keepends=True)[:-count])


async def test_a_phase_is_deleted_while_a_change_is_taken_in(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        for name in ("test", "other"):
            await plan_phase(one, name)
        async with one.service.scheduler.lanes.lock:
            await other.do("challenges.set", challenge="bc", title="Another title")
            taking_in = asyncio.create_task(one.service.freshen())
            await asyncio.sleep(0.5)  # it waits for the lock, and has it before the deletion
            deleting = asyncio.create_task(one.do("phases.delete", phase="test"))
            await one.until(one.service.phase("test").scoring.locked)
        async with patience():
            await asyncio.gather(taking_in, deleting)
        await other.service.freshen()
        assert list(other.service.scheduler.phases) == ["other"]


async def test_requests_do_not_wait_for_a_gold_change(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one)
        await one.do("teams.create", team="blue")
        async with patience():
            assert await names_of(other) == []
            changing = other.service.phase("test")
            async with changing.scoring:
                await one.do("runs.upload", **RUN, team="blue", content=run_file())
                assert await names_of(other) == ["file-1"]
                assert changing.is_behind
            await other.caught_up()
            made, shown = (
                running.service.phase("test").boards.scoreboard for running in (one, other)
            )
            score = await made.average(INT, RAW, ServerName("file-1"))
            assert score is not None
            assert await shown.average(INT, RAW, ServerName("file-1")) == score
            async with changing.scoring:
                await one.do("runs.delete", phase="test", run="file-1")
                await names_of(other)  # its scores may be in use
            await other.caught_up()
            assert await names_of(other) == []
            assert shown.runs(INT) == []


async def test_gold_is_shown_that_came_while_the_version_before_was_scored(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one)
        await other.service.freshen()
        scored = other.service.phase("test")
        async with scored.scoring:
            for count in (1, 2):
                given = {"phase": "test", "task": "INT", "source": "gold.tsv"}
                await one.do("gold.set", **given, content=gold_without(count))
                await other.service.freshen()
        await other.until(lambda: scored.gold[INT].version == 3)


async def test_two_processes_do_not_replace_the_same_gold(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one)
        await other.service.freshen()
        given = {"phase": "test", "task": "INT", "source": "gold.tsv"}
        async with other.service.phase("test").scoring:
            second = asyncio.create_task(
                other.do("gold.set", **given, content=gold_without(2), replaces=1)
            )
            jobs = other.service.jobs
            await other.until(
                lambda: [job.progress.step for job in jobs.list_all()] == ["waiting for its turn"]
            )
            change = await one.do("gold.set", **given, content=gold_without(1), replaces=1)
        assert change.version == 2
        with pytest.raises(AssertionError, match="another version was set meanwhile"):
            await second
        kept = await one.do("gold.list", phase="test")
        assert [gold.version for gold in kept if gold.task == INT] == [2, 1]


async def test_a_lone_process_shows_what_was_stored_unheard_of(tmp_path: Path) -> None:
    url = stores.database_of(tmp_path / "hub").secret
    async with at_work(await settings(tmp_path, store=url)) as running:
        await plan_phase(running)
        store, phase = running.service.store, running.service.phase("test")
        with pytest.raises(UnavailableError):
            await commit_unheard_of(store, phase.phase.id)
        await running.until(lambda: phase.gold[INT].version == 2)


async def commit_unheard_of(store: Store, phase_id: int) -> None:
    """Store a gold, and break as where the connection is lost in the commit."""
    async with store.writing() as connection:
        await set_gold(connection, phase_id, INT, "gold.tsv", gold_without(1))
        await audit.add(connection, actor="ana", action="gold.set", subject="test")
        await connection.commit()
        raise UnavailableError("the connection was closed")
