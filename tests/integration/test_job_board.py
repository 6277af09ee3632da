"""Background jobs of a hub of several processes: whichever is asked tells of all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import MetaserverError, RefusedError, UnavailableError
from metaserver.base.states import JobState, Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.jobs import LOST, JobDetail, begun, begun_alone
from metaserver.operations.table import perform
from metaserver.phases.jobs import MOST_AT_WORK, MOST_KEPT, Progress
from metaserver.store import jobs as stored_jobs
from metaserver.store import leases
from metaserver.store.jobs import LOST_SECONDS
from metaserver.store.leases import Process
from metaserver.store.place import PostgresUrl
from metaserver.store.postgres import WRITES
from metaserver.store.tables import jobs, workers
from tests import stores
from tests.hubs.inside import ORGANISER, Running, plan_phase
from tests.hubs.several import process, two
from tests.integration.kits import served, waiting
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


class Made(msgspec.Struct, frozen=True):
    """The report of a test's job."""

    number: int


class Gated:
    """Work that ends when it is told to."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.gate = asyncio.Event()
        self.failure = failure
        self.fixed = False
        self.begun = False

    async def __call__(self, progress: Progress) -> Made:
        self.begun = True
        progress.begin("counting", 10)
        progress.advance(3)
        if self.fixed:
            progress.fix("storing")
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return Made(7)


async def begin(hub: HubContext, work: Gated, *, team: str = "", kind: str = "test") -> JobDetail:
    return await begun(hub, ORGANISER, kind, "subject", work, team=team)


async def look(running: Running, job: JobDetail, **values: Any) -> JobDetail:
    found = await running.do("jobs.get", job=job.job, **values)
    assert isinstance(found, JobDetail)
    return found


@pytest.mark.slow
async def test_another_process_tells_how_a_job_stands_and_ends(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        gated = Gated()
        job = await begin(one.service, gated)
        assert (await look(other, job)).state is JobState.RUNNING  # at once
        await until(lambda: _done(other, job, 3))
        assert (await look(other, job)).step == "counting"
        [listed] = await other.do("jobs.list")
        assert listed.job == job.job
        waiting = asyncio.create_task(look(other, job, wait=30.0))
        gated.gate.set()
        ended = await waiting
        assert (ended.state, ended.report) == (JobState.DONE, {"number": 7})
        assert ended == await look(one, job)
        assert [one.report for one in await other.do("jobs.list")] == [None]


async def _done(running: Running, job: JobDetail, count: int) -> bool:
    return (await look(running, job)).done == count


async def test_a_job_fails_and_is_cancelled_for_all_processes(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        gated = Gated(MetaserverError("no such thing"))
        gated.gate.set()
        ended = await look(other, await begin(one.service, gated), wait=30.0)
        assert (ended.state, ended.error) == (JobState.FAILED, "no such thing")
        job = await begin(one.service, Gated())
        assert (await other.do("jobs.cancel", job=job.job)).state is JobState.CANCELLED
        assert (await look(one, job)).state is JobState.CANCELLED
        with pytest.raises(RefusedError, match="it has ended"):
            await other.do("jobs.cancel", job=job.job)
        gated = Gated()
        gated.fixed = True
        job = await begin(one.service, gated)
        await until(lambda: _step(other, job, "storing"))  # it is stored already
        with pytest.raises(RefusedError, match="cannot be cancelled"):
            await other.do("jobs.cancel", job=job.job)
        gated.gate.set()
        assert (await look(other, job, wait=30.0)).state is JobState.DONE


async def _step(running: Running, job: JobDetail, step: str) -> bool:
    return (await look(running, job)).step == step


async def test_jobs_of_a_process_that_is_gone_are_lost(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        job = await begin(one.service, Gated())
        await until(lambda: _done(other, job, 3))
        left = "f" * 16  # as that job, of a process that can no longer say anything of it
        async with other.service.store.writing() as connection:
            known = await stored_jobs.get(connection, job.job)
            assert known is not None
            await stored_jobs.put(connection, [replace(known, id=left, process="gone")])
        lost = await other.do("jobs.get", job=left, wait=30.0)
        assert (lost.state, lost.error) == (JobState.FAILED, LOST)
        with pytest.raises(RefusedError, match="it has ended"):
            await other.do("jobs.cancel", job=left)
        entered = Process(id="frozen", host="h", role="web", version="0", capacity=1)
        async with other.service.store.writing() as connection:
            await stored_jobs.put(connection, [replace(known, id=left, process="frozen")])
            await leases.enter(connection, entered, alone=False)
        assert (await other.do("jobs.get", job=left)).state is JobState.RUNNING
        async with other.service.store.writing() as connection:  # it was not seen for long
            seen = workers.c.seen - LOST_SECONDS
            of_it = workers.c.id == "frozen"
            await connection.execute(sa.update(workers).where(of_it).values(seen=seen))
        assert (await other.do("jobs.get", job=left)).error == LOST


async def test_a_stopped_process_leaves_its_jobs_cancelled(tmp_path: Path) -> None:
    async with process(tmp_path) as other:
        async with process(tmp_path) as one:
            job = await begin(one.service, Gated())
        assert (await look(other, job)).state is JobState.CANCELLED


async def test_of_two_processes_asked_at_once_one_begins_a_job_of_a_kind(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        work = [Gated(), Gated()]
        place = one.service.store.place
        assert isinstance(place, PostgresUrl)
        with stores.server().locked(WRITES, place.database):  # so that neither is first
            asked = [
                asyncio.create_task(begun_alone(hub.service, ORGANISER, "test", "subject", gated))
                for hub, gated in zip((one, other), work, strict=True)
            ]
            await until(lambda: all(hub.service.jobs.own.at_work("test") for hub in (one, other)))
            assert not any(gated.begun for gated in work)
        (job, is_new), (again, is_newer) = await asyncio.gather(*asked)
        assert is_new != is_newer
        assert job.job == again.job
        assert [gated.begun for gated in work] == [is_new, is_newer]
        for running in (one, other):
            assert [listed.job for listed in await running.do("jobs.list")] == [job.job]
        for hub, gated in zip((other, one), work, strict=True):  # later, too
            later = await begun_alone(hub.service, ORGANISER, "test", "another", gated)
            assert (later[0].job, later[1]) == (job.job, False)
        work[is_newer].gate.set()
        assert (await look(one, job, wait=30.0)).state is JobState.DONE
        assert (await begun_alone(other.service, ORGANISER, "test", "subject", Gated()))[1]


async def test_the_bound_on_jobs_at_work_is_that_of_all_processes(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        for number in range(MOST_AT_WORK):
            await begin((one, other)[number % 2].service, Gated())
        for running in (one, other):
            with pytest.raises(RefusedError, match=f"{MOST_AT_WORK} jobs are running already"):
                await begin(running.service, Gated())
            assert len(await running.do("jobs.list")) == MOST_AT_WORK
        await begin(other.service, Gated(), team="blue")  # which has a bound of its own


async def test_a_job_that_was_stored_unheard_of_is_not_left_running(tmp_path, monkeypatch):
    async with two(tmp_path) as (one, other):
        writing = one.service.store.writing

        @asynccontextmanager
        async def unheard() -> AsyncIterator[AsyncConnection]:
            async with writing() as connection:
                yield connection
            raise UnavailableError("the connection was lost")

        monkeypatch.setattr(one.service.store, "writing", unheard)
        with pytest.raises(UnavailableError):
            await begun_alone(one.service, ORGANISER, "test", "subject", Gated())
        [job] = await other.do("jobs.list")
        assert (await look(other, job, wait=30.0)).state is JobState.CANCELLED
        assert (await begun_alone(other.service, ORGANISER, "test", "subject", Gated()))[1]


@pytest.mark.slow
async def test_a_server_is_tested_by_one_process_at_a_time(tmp_path: Path) -> None:
    held = asyncio.Event()

    async with served(waiting(held)) as url, two(tmp_path) as (one, other):
        await plan_phase(one, "early", opens="2031-01-01T00:00")
        await plan_phase(one, "late", teams=["blue"], opens="2031-02-01T00:00")
        blue = one.team("blue")
        await one.do("servers.register", blue, server="blue-1", url=url)
        await other.service.reload_changes()
        begun = await begin_test(one, blue, "early")
        again = await begin_test(other, blue, "early")
        assert again.job == begun.job
        assert other.service.servers.conformance.under_way("blue-1") is None
        with pytest.raises(RefusedError, match="tested for another phase"):
            await begin_test(other, blue, "late")
        held.set()
        assert (await perform_get(other, blue, begun, wait=30.0)).state is JobState.DONE
        later = await begin_test(other, blue, "late")
        assert later.subject == "blue-1 late"


async def begin_test(running: Running, team: Caller, phase: str) -> JobDetail:
    """Begin to test blue-1, without waiting for the end."""
    values = {"server": "blue-1", "phase": phase}
    found = await perform(OPERATIONS["servers.test"], running.service, team, values)
    assert isinstance(found, JobDetail)
    return found


@pytest.mark.slow
async def test_a_job_is_its_owners_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        gated = Gated()
        gated.gate.set()
        mine = await begin(one.service, gated, team="blue")
        await look(one, mine, wait=30.0)
        assert (await perform_get(other, other.team("blue"), mine)).job == mine.job
        for stranger in (other.team("green"), Caller(role=Role.CURATOR, name="eve")):
            with pytest.raises(RefusedError):
                await perform_get(other, stranger, mine)
        for _ in range(MOST_KEPT + 3):
            await look(one, await begin(one.service, gated), wait=30.0)
        async with other.service.store.reading() as connection:
            query = sa.select(sa.func.count()).where(jobs.c.team == "")
            assert await connection.scalar(query) <= MOST_KEPT
        assert len(await other.do("jobs.list")) == MOST_KEPT
        assert (await perform_get(other, other.team("blue"), mine)).job == mine.job


async def perform_get(running: Running, caller: Caller, job: JobDetail, **values: Any) -> JobDetail:
    found = await running.do("jobs.get", caller, job=job.job, **values)
    assert isinstance(found, JobDetail)
    return found
