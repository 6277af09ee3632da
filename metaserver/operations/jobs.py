"""Background jobs: how long work stands, and its report when it is done."""

from __future__ import annotations

from collections.abc import Sequence
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
    """A job by id, asked for when it has ended or `wait` seconds are over."""

    wait: Annotated[
        float, Meta(ge=0, le=LONGEST_WAIT, description="Wait for its end, so many seconds at most")
    ] = 0.0


class JobDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A background job: `kind` is the operation that began it, `subject` what it is done to.

    `step` is what it does now; `done` of `total` is how far that step is, `total` 0 where nobody
    knows. Times are Unix seconds. A job that is `failed` or `cancelled` has changed nothing, and
    `error` tells why it failed. `report` is what the operation tells when it is done.
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
        """Return how a job stands now."""
        told = job.report if report else None
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
            report=None if told is None else msgspec.to_builtins(told),
        )


def begun(hub: HubContext, caller: Caller, kind: str, subject: str, work: Work) -> JobDetail:
    """Begin a job for a caller; return how it stands."""
    return JobDetail.of(hub.jobs.begin(kind, subject, caller.name, work))


@operation("Jobs.list", "GET /jobs", Role.ORGANISER)
async def list_(hub: HubContext, _caller: Caller, _given: Nothing) -> Sequence[JobDetail]:
    """Return the background jobs that are kept, the newest first, without their reports.

    The 32 newest are kept, until the hub stops.
    """
    return [JobDetail.of(job, report=False) for job in hub.jobs.list_all()]


@operation("Jobs.get", "GET /jobs/{job}", Role.ORGANISER)
async def get(hub: HubContext, _caller: Caller, request: JobQuery) -> JobDetail:
    """Return how a background job stands; with `wait` as soon as it has ended."""
    job = _known(hub, request.job)
    if request.wait:
        await job.ended(request.wait)
    return JobDetail.of(job)


@operation("Jobs.cancel", "POST /jobs/{job}/cancel", Role.ORGANISER)
async def cancel(hub: HubContext, caller: Caller, request: OneJob) -> JobDetail:
    """End a background job; it has changed nothing then. One that is being stored goes on."""
    job = _known(hub, request.job)
    hub.jobs.cancel(job)
    await job.ended()
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, "jobs.cancel", job.id, kind=job.kind, of=job.subject)
    return JobDetail.of(job)


def _known(hub: HubContext, key: str) -> Job:
    job = hub.jobs.get(key)
    if job is None:
        message = "there is no such job: it ended long ago, or the hub was started again since"
        raise RefusedError(Refusal.UNKNOWN, message, field="job")
    return job
