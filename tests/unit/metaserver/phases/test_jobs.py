"""Background jobs: how they end, who may end them, how many there are."""

import asyncio
from collections.abc import AsyncIterator
from copy import copy

import msgspec
import pytest

from metaserver.base.errors import (
    InputError,
    MetaserverError,
    Refusal,
    RefusedError,
    UnavailableError,
)
from metaserver.base.states import JobState
from metaserver.phases.jobs import (
    FAULT,
    MOST_AT_WORK,
    MOST_KEPT,
    REPORT_ROWS,
    TEAM_AT_WORK,
    Job,
    Jobs,
    Progress,
    RowCounter,
    Work,
)


class Report(msgspec.Struct, frozen=True):
    number: int = 7


async def at_once(_: Progress) -> Report:
    return Report()


def raising(error: Exception) -> Work:
    async def work(_: Progress) -> Report:
        raise error

    return work


class Gated:
    """Work that goes on until it may end."""

    def __init__(self, *, fixed: bool = False) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.fixed = fixed

    async def __call__(self, progress: Progress) -> Report:
        progress.begin("counting", 3)
        progress.advance(2)
        if self.fixed:
            progress.fix("storing")
        self.begun.set()
        await self.may_end.wait()
        return Report()


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    made = Jobs(clock=lambda: 5.0)
    yield made
    await made.close()


def begin(jobs: Jobs, work: Work) -> Job:
    return jobs.begin("gold.set", "test INT", "organiser ana", work)


async def test_a_job_tells_how_far_it_is_and_leaves_its_report(jobs: Jobs) -> None:
    work = Gated()
    job = begin(jobs, work)
    assert jobs.get(job.id) is job
    assert jobs.at_work("gold.set") is job
    assert jobs.at_work("export") is None
    await work.begun.wait()
    assert not await job.ended(0.0)
    progress = job.progress
    assert (progress.step, progress.done, progress.total) == ("counting", 2, 3)
    work.may_end.set()
    assert await job.ended()
    assert (job.state, job.report, job.ended_at, job.error) == (JobState.DONE, Report(), 5.0, "")
    assert jobs.at_work("gold.set") is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RefusedError(Refusal.STATE, "not now", field="content"), "content: not now"),
        (InputError("x.tsv", "is bad"), "x.tsv: is bad"),
        (MetaserverError("so"), "so"),
        (UnavailableError("disk full", "/secret"), "store nothing now: disk full"),
        (ZeroDivisionError("secret"), FAULT),
    ],
)
async def test_a_job_that_fails_says_why(jobs: Jobs, error: Exception, told: str) -> None:
    job = begin(jobs, raising(error))
    await job.ended()
    assert (job.state, job.report) == (JobState.FAILED, None)
    assert job.error.endswith(told)


async def test_a_job_is_cancelled_until_it_stores(jobs: Jobs) -> None:
    work, fixed = Gated(), Gated(fixed=True)
    job, stored = begin(jobs, work), begin(jobs, fixed)
    await work.begun.wait()
    await fixed.begun.wait()
    jobs.cancel(job)
    await job.ended()
    assert (job.state, job.ended_at) == (JobState.CANCELLED, 5.0)
    with pytest.raises(RefusedError, match="it has ended: cancelled"):
        jobs.cancel(job)
    with pytest.raises(RefusedError, match="being stored"):
        jobs.cancel(stored)
    fixed.may_end.set()
    await stored.ended()
    assert stored.state is JobState.DONE


async def test_a_job_that_has_not_begun_is_cancelled(jobs: Jobs) -> None:
    job = begin(jobs, at_once)
    jobs.cancel(job)
    await job.ended()
    assert job.state is JobState.CANCELLED


async def test_few_are_at_work_and_few_are_kept(jobs: Jobs) -> None:
    works = [Gated() for _ in range(MOST_AT_WORK)]
    running = [begin(jobs, work) for work in works]
    with pytest.raises(RefusedError, match="4 jobs are running"):
        begin(jobs, at_once)
    jobs.cancel(running[-1])
    await running[-1].ended()
    for _ in range(2 * MOST_KEPT):
        await begin(jobs, at_once).ended()
    assert len(jobs.list_all()) == MOST_KEPT
    assert all(job in jobs.list_all() for job in running[:-1])  # the oldest, but at work
    assert jobs.get(running[-1].id) is None
    assert len({job.id for job in jobs.list_all()}) == MOST_KEPT


async def test_a_hub_that_stops_ends_its_jobs() -> None:
    jobs, work = Jobs(), Gated()
    job = begin(jobs, work)
    await work.begun.wait()
    await jobs.close()
    assert job.state is JobState.CANCELLED
    with pytest.raises(RefusedError, match="the hub stops"):
        begin(jobs, at_once)


async def test_a_team_has_jobs_of_its_own() -> None:
    jobs, work = Jobs(), Gated()
    own = [jobs.begin("t", "s", "team blue", work, team="blue") for _ in range(TEAM_AT_WORK)]
    with pytest.raises(RefusedError, match=f"{TEAM_AT_WORK} jobs are running already"):
        jobs.begin("t", "s", "team blue", work, team="blue")
    other = jobs.begin("t", "s", "team red", work, team="red")
    organisers = jobs.begin("t", "s", "organiser ana", work)
    assert jobs.list_all("blue") == list(reversed(own))
    assert (jobs.list_all("red"), jobs.list_all()) == ([other], [organisers])
    await jobs.close()


def test_progress_is_reported_at_a_step_and_each_hundred_rows() -> None:
    seen: list[Progress] = []
    counter = RowCounter(Progress(), lambda one: seen.append(copy(one)))
    counter.begin("tables", total=250)
    for _ in range(250):
        counter.count()
    counter.begin("storing")
    assert [(one.step, one.done, one.total) for one in seen] == [
        ("tables", 0, 250), ("tables", REPORT_ROWS, 250), ("tables", 2 * REPORT_ROWS, 250),
        ("storing", 0, 0),
    ]  # fmt: skip


def test_many_rows_at_once_are_one_report() -> None:
    seen: list[int] = []
    counter = RowCounter(Progress(), lambda one: seen.append(one.done))
    counter.count(REPORT_ROWS - 1)
    assert seen == []
    counter.count(2 * REPORT_ROWS)
    assert seen == [3 * REPORT_ROWS - 1]
