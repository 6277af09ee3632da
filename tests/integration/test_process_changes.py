"""Changes that another process of the hub has made: each process takes them in, and waits for none.

A gold change keeps a phase's `scoring` for minutes; a test holds it where one would.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metaserver.model.boards import RAW
from metaserver.model.records import ServerName, TaskName
from tests.hubs.inside import Running, plan_phase
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
