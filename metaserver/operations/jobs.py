"""Background jobs: their progress, and their reports when they are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.states import JobState, Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.table import Nothing, operation
from metaserver.phases.jobs import Job, Work

LONGEST_WAIT = 30.0

JobField = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)", description="The job's id")]


class OneJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job by id."""

    job: JobField


class JobQuery(OneJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job by id, returned when it has ended or after `wait` seconds."""

    wait: Annotated[
        float, Meta(ge=0, le=LONGEST_WAIT, description="Wait for its end, so many seconds at most")
    ] = 0.0


class JobDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A background job: `kind` is the operation that began it, `subject` the object it works on.

    `step` is the present step; `done` of `total` is that step's progress, `total` 0 where it is
    unknown. Times are Unix seconds. A job that is `failed` or `cancelled` has changed nothing, and
    `error` is the reason of a failure. `report` is the operation's result when it is done.
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
        """Return the present state of a job."""
        result = job.report if report else None
        return cls(
            job=job.id,
            kind=job.kind,
            subject=job.subject,
            asked_by=job.asked_by,
            state=job.state,
            step=job.progress.step,
            done=job.progress.done,
            total=job.progress.total,
            began_at=job.began_at,
            ended_at=job.ended_at,
            error=job.error,
            report=None if result is None else msgspec.to_builtins(result),
        )


def begun(
    hub: HubContext, caller: Caller, kind: str, subject: str, work: Work, *, team: str = ""
) -> JobDetail:
    """Begin a job for a caller; return its state. One of a `team` is shown to the team too."""
    return JobDetail.of(hub.jobs.begin(kind, subject, caller.name, work, team=team))


def when_done(hub: HubContext, job: str, then: Callable[[], None]) -> None:
    """Call `then` once a job is done; never where it fails, is cancelled or is kept no longer."""
    if (known := hub.jobs.get(job)) is not None:
        known.when_done(then)


def when_ended(hub: HubContext, job: str, then: Callable[[], object]) -> None:
    """Call `then` once a job has ended, however."""
    if (known := hub.jobs.get(job)) is not None and known.task is not None:
        known.task.add_done_callback(lambda _: then())


@operation("Jobs.list", "GET /jobs", Role.TEAM)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[JobDetail]:
    """Return the 32 newest background jobs, newest first, without their reports.

    A team sees its own, organisers those of organisers. Jobs are forgotten when the hub stops.
    """
    known = hub.jobs.list_all(caller.team or "")
    return [JobDetail.of(job, report=False) for job in known]


@operation("Jobs.get", "GET /jobs/{job}", Role.TEAM)
async def get(hub: HubContext, caller: Caller, request: JobQuery) -> JobDetail:
    """Return a background job; with `wait`, as soon as it has ended."""
    job = _known(hub, caller, request.job)
    if request.wait:
        await job.ended(request.wait)
    return JobDetail.of(job)


@operation("Jobs.cancel", "POST /jobs/{job}/cancel", Role.TEAM)
async def cancel(hub: HubContext, caller: Caller, request: OneJob) -> JobDetail:
    """Cancel a background job, which then has changed nothing. One that is being stored goes on."""
    job = _known(hub, caller, request.job)
    hub.jobs.cancel(job)
    await job.ended()
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, "jobs.cancel", job.id, kind=job.kind, of=job.subject)
    return JobDetail.of(job)


def _known(hub: HubContext, caller: Caller, key: str) -> Job:
    job = hub.jobs.get(key)
    if job is None or not caller.viewer.owns(job.team):
        message = "there is no such job: it ended long ago, or the hub was started again since"
        raise RefusedError(Refusal.UNKNOWN, message, field="job")
    return job
