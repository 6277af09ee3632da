"""Background jobs: their progress, and their reports when they are done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.compression import unpack_json
from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.states import JobState, Role
from metaserver.base.structs import convert
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.phases.jobs import MOST_KEPT, Job, Progress, Work
from metaserver.store.jobs import StoredJob

LONGEST_WAIT = 30.0
LOOK_SECONDS = 0.25
"""How often another process' job is checked, in seconds."""
CANCEL_SECONDS = 5.0
"""Seconds that another process has to cancel a job."""
LOST = "the process that did this has ended: ask again, unless the audit log says that it is done"

JobField = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)", description="The job's id")]


class OneJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job by id."""

    job: JobField


class JobQuery(OneJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job by id, returned when it has ended or after `wait` seconds."""

    wait: Annotated[
        float,
        Meta(
            ge=0, le=LONGEST_WAIT, description="Wait for the job's end, at most this many seconds"
        ),
    ] = 0.0


class JobDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A background job: `kind` is the operation that began it, `subject` the object it works on.

    `step` is the present step; `done` of `total` is that step's progress, `total` 0 if unknown.
    Times are Unix seconds. A job that is `failed` or `cancelled` has changed nothing, and `error`
    is why it failed. `report` is the operation's result when it is done.
    """

    job: str
    kind: str
    subject: str
    asked_by: str
    state: JobState
    step: str
    done: int
    total: int
    began_at: float
    ended_at: float | None
    error: str
    report: dict[str, Any] | None = None

    @classmethod
    def of(cls, job: Job, *, report: bool = True) -> JobDetail:
        """Return a job's present state."""
        result = job.report if report else None
        return convert(
            job,
            cls,
            job=job.id,
            step=job.progress.step,
            done=job.progress.done,
            total=job.progress.total,
            report=None if result is None else msgspec.to_builtins(result),
        )

    @classmethod
    def of_stored(cls, job: StoredJob) -> JobDetail:
        """Return the state of another process' job; a lost job has failed."""
        return convert(
            job,
            cls,
            job=job.id,
            state=JobState.FAILED if job.lost else job.state,
            error=LOST if job.lost else job.error,
            report=None if job.report is None else unpack_json(job.report),
        )


async def begun(
    hub: HubContext, caller: Caller, kind: str, subject: str, work: Work, *, team: str = ""
) -> JobDetail:
    """Begin a job for a caller; return its state. A `team`'s job is shown to the team too."""
    job = hub.jobs.own.begin(kind, subject, caller.name, work, team=team)
    await hub.jobs.board.post(job)
    return JobDetail.of(job)


async def begun_alone(
    hub: HubContext, caller: Caller, kind: str, subject: str, work: Work
) -> tuple[JobDetail, bool]:
    """Begin a job for the organisers and return it with True.

    If a job of its kind is at work in any process, that job is returned, with False.
    """

    def is_alike(job: StoredJob) -> bool:
        return job.kind == kind

    other_job = await hub.jobs.board.elsewhere("", is_alike)
    if (own_job := hub.jobs.own.at_work(kind)) is not None:
        return JobDetail.of(own_job), False
    if other_job is not None:
        return JobDetail.of_stored(other_job), False
    hub.store.require_writable()
    posted = asyncio.Event()

    async def work_once_posted(progress: Progress) -> msgspec.Struct:
        await posted.wait()
        return await work(progress)

    job = hub.jobs.own.begin(kind, subject, caller.name, work_once_posted)
    if (other_job := await hub.jobs.board.post(job, is_alike)) is not None:  # of the same moment
        return JobDetail.of_stored(other_job), False
    posted.set()
    return JobDetail.of(job), True


async def newest(hub: HubContext, kind: str, subject: str) -> JobDetail | None:
    """Return the organisers' newest job of a kind on a subject, in any process."""
    jobs_of_subject = (job for job in await _all(hub, "", kind) if job.subject == subject)
    return next(jobs_of_subject, None)


async def _all(hub: HubContext, team: str, kind: str | None = None) -> Sequence[JobDetail]:
    """Return an owner's jobs in all processes, newest first; this process' jobs as they are now."""
    own_jobs = [job for job in hub.jobs.own.list_all(team) if kind is None or job.kind == kind]
    ids = {job.id for job in own_jobs}
    other_jobs = [job for job in await hub.jobs.board.newest(team, kind) if job.id not in ids]
    details = [*map(JobDetail.of, own_jobs), *map(JobDetail.of_stored, other_jobs)]
    return (
        sorted(details, key=lambda job: job.began_at, reverse=True)[:MOST_KEPT]
        if other_jobs
        else details
    )


def when_done(hub: HubContext, job: str, then: Callable[[], None]) -> None:
    """Call `then` once a job is done; never if it fails, is cancelled or forgotten."""
    if (running := hub.jobs.own.get(job)) is not None:
        running.when_done(then)


@operation("Jobs.list", "GET /jobs", Role.TEAM, scope=Scope.OWN)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[JobDetail]:
    """Return the 32 newest background jobs, newest first, without their reports.

    A team sees its own jobs, organisers those of organisers, the organiser of one challenge those
    that it began. Jobs are forgotten when the hub stops;
    a hub with several processes keeps them for a week.
    """
    details = await _all(hub, caller.team or "")
    return [
        msgspec.structs.replace(job, report=None)
        for job in details
        if caller.challenge is None or job.asked_by == caller.name
    ]


@operation("Jobs.get", "GET /jobs/{job}", Role.TEAM, scope=Scope.JOB)
async def get(hub: HubContext, caller: Caller, request: JobQuery) -> JobDetail:
    """Return a background job; with `wait`, as soon as it has ended."""
    job = await _known(hub, caller, request.job)
    if isinstance(job, StoredJob):
        return await _ended(hub, job, request.wait)
    if request.wait:
        await job.ended(request.wait)
    if job.ended_at is not None:  # what one process has said, all say
        with suppress(UnavailableError):
            await hub.jobs.board.flush()
    return JobDetail.of(job)


@operation("Jobs.cancel", "POST /jobs/{job}/cancel", Role.TEAM, scope=Scope.JOB)
async def cancel(hub: HubContext, caller: Caller, request: OneJob) -> JobDetail:
    """Cancel a background job, which then has changed nothing. A job being stored goes on."""
    job = await _known(hub, caller, request.job)
    if isinstance(job, StoredJob):
        await hub.jobs.board.cancel(job)
        cancelled = await _ended(hub, job, CANCEL_SECONDS)
    else:
        hub.jobs.own.cancel(job)
        await job.ended()
        cancelled = JobDetail.of(job)
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, "jobs.cancel", job.id, kind=job.kind, of=job.subject)
    return cancelled


async def _ended(hub: HubContext, job: StoredJob, seconds: float) -> JobDetail:
    """Return another process' job once it has ended, or after `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    seen_job: StoredJob | None = job
    while seen_job is not None and seen_job.ended_at is None and not seen_job.lost:
        remaining = deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            break
        await asyncio.sleep(min(LOOK_SECONDS, remaining))
        job, seen_job = seen_job, await hub.jobs.board.find(job.id)
    return JobDetail.of_stored(seen_job or job)


async def _known(hub: HubContext, caller: Caller, key: str) -> Job | StoredJob:
    job = hub.jobs.own.get(key) or await hub.jobs.board.find(key)
    if job is None or not caller.viewer.owns(job.team):
        message = "there is no such job: it ended long ago, or the hub was started again since"
        raise RefusedError(Refusal.UNKNOWN, message, field="job")
    return job
