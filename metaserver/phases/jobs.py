"""Background jobs: long work of the hub that does not depend on a waiting client.

Jobs belong to one process (ADR 18): those that run when it ends have changed nothing.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias, TypeVar

import msgspec

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import (
    HubError,
    MetaserverError,
    Refusal,
    RefusedError,
    UnavailableError,
)
from metaserver.base.states import JobState

MOST_KEPT = 32
"""The maximum number of jobs remembered per owner, including running jobs; the oldest ended job
goes first.
"""
MOST_AT_WORK, TEAM_AT_WORK = 4, 16
"""The maximum number of concurrent jobs: of all organisers together, of a team."""
REPORT_ROWS = 100
"""The number of rows between two progress reports."""
ID_BYTES = 8
FAULT = "the hub failed to do this; the reason is in its log"

log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class Progress:
    """A job's progress, as reported by its work; `total` is 0 while unknown.

    `fixed`: its result is being stored, so that it can no longer be cancelled.
    """

    step: str = ""
    done: int = 0
    total: int = 0
    fixed: bool = False

    def begin(self, step: str, total: int = 0) -> None:
        """Begin the next step."""
        self.step, self.done, self.total = step, 0, total

    def advance(self, count: int) -> None:
        """Add to the step's done part."""
        self.done += count

    def fix(self, step: str) -> None:
        """Begin the last step, after which the job cannot be cancelled."""
        self.begin(step)
        self.fixed = True


OnProgress: TypeAlias = Callable[[Progress], None]
"""A function called from time to time with the progress."""


def ignore_progress(_: Progress) -> None:
    """Ignore the progress."""


class RowCounter:
    """A counter of the rows written or read, which reports the progress from time to time."""

    def __init__(self, progress: Progress, on_progress: OnProgress) -> None:
        self._progress = progress
        self._on_progress = on_progress

    def begin(self, step: str, total: int = 0) -> None:
        """Begin the next step; `total` is 0 if it is unknown."""
        self._progress.begin(step, total)
        self._on_progress(self._progress)

    def count(self, rows: int = 1) -> None:
        """Count the step's rows."""
        before = self._progress.done // REPORT_ROWS
        self._progress.advance(rows)
        if self._progress.done // REPORT_ROWS > before:
            self._on_progress(self._progress)


Work: TypeAlias = Callable[[Progress], Awaitable[msgspec.Struct]]
"""A job's work: it returns the report, or raises and has changed nothing."""


@dataclass(kw_only=True, slots=True, eq=False)
class Job:
    """A job; times are Unix seconds. `report` is set once it is done, `error` if it failed.

    `team` is its team, empty for the organisers.
    """

    id: str
    kind: str
    subject: str
    asked_by: str
    began_at: float
    team: str = ""
    progress: Progress = field(default_factory=Progress)
    state: JobState = JobState.RUNNING
    ended_at: float | None = None
    report: msgspec.Struct | None = None
    error: str = ""
    task: asyncio.Task[None] | None = None

    async def ended(self, seconds: float | None = None) -> bool:
        """Wait until the job has ended, at most `seconds`; return whether it has."""
        assert self.task is not None
        await asyncio.wait([self.task], timeout=seconds)
        return self.ended_at is not None

    def when_done(self, then: Callable[[], None]) -> None:
        """Call `then` once the job is done; not if it fails or is cancelled."""
        assert self.task is not None
        self.task.add_done_callback(lambda _: then() if self.state is JobState.DONE else None)


class Jobs:
    """A hub's jobs; `clock` returns Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._closed = False

    def begin(self, kind: str, subject: str, asked_by: str, work: Work, *, team: str = "") -> Job:
        """Begin a job; `RefusedError` if its owner has the maximum running."""
        if self._closed:
            raise RefusedError(Refusal.STATE, "the hub stops: try again later")
        require_room(team, sum(job.state is JobState.RUNNING for job in self.list_all(team)))
        key = secrets.token_hex(ID_BYTES)
        job = Job(
            id=key,
            kind=kind,
            subject=subject,
            asked_by=asked_by,
            began_at=self._clock(),
            team=team,
        )
        self._jobs[key] = job
        self._forget(team)
        job.task = asyncio.create_task(self._run(job, work), name=f"job {kind} {subject}")
        job.task.add_done_callback(lambda _: self._settle(job))
        return job

    def get(self, key: str) -> Job | None:
        """Return a job; None if it was forgotten, or belongs to an earlier process."""
        return self._jobs.get(key)

    def list_all(self, team: str = "") -> Sequence[Job]:
        """Return a team's (or the organisers') remembered jobs, newest first."""
        return [job for job in reversed(self._jobs.values()) if job.team == team]

    def at_work(self, kind: str) -> Job | None:
        """Return a running job of a kind, if any."""
        running = (job for job in self._jobs.values() if job.state is JobState.RUNNING)
        return next((job for job in running if job.kind == kind), None)

    def withdraw(self, job: Job) -> None:
        """Cancel a job that was not to begin, and forget it."""
        assert job.task is not None
        job.task.cancel()
        del self._jobs[job.id]

    def forget(self, job: Job) -> None:
        """Forget a job that has ended."""
        self._jobs.pop(job.id, None)

    def cancel(self, job: Job) -> None:
        """Cancel a job that has changed nothing yet; `RefusedError` for any other."""
        if job.ended_at is not None:
            raise RefusedError(Refusal.STATE, f"it has ended: {job.state}")
        if job.progress.fixed:
            raise RefusedError(Refusal.STATE, "its result is being stored: it cannot be cancelled")
        assert job.task is not None
        job.task.cancel()

    async def close(self) -> None:
        """End all jobs: those that are storing their result finish, the others change nothing."""
        self._closed = True
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: Job, work: Work) -> None:
        try:
            job.report = await work(job.progress)
            job.state = JobState.DONE
        except UnavailableError as error:
            job.state = JobState.FAILED
            job.error = f"perhaps nothing was done, the hub can store nothing now: {error.reason}"
        except MetaserverError as error:
            job.state, job.error = JobState.FAILED, str(error)
        except Exception:
            log.exception("job %s (%s of %s) failed", job.id, job.kind, job.subject)
            job.state, job.error = JobState.FAILED, FAULT

    def _settle(self, job: Job) -> None:
        """Record that a job has ended; a cancelled job may not have begun."""
        if job.state is JobState.RUNNING:
            job.state = JobState.CANCELLED
        job.ended_at = self._clock()

    def _forget(self, team: str) -> None:
        jobs_of_team = self.list_all(team)
        ended = [job for job in reversed(jobs_of_team) if job.state is not JobState.RUNNING]
        for job in ended[: max(0, len(jobs_of_team) - MOST_KEPT)]:
            del self._jobs[job.id]


def require_room(team: str, at_work: int) -> None:
    """Check that an owner with so many jobs at work may begin another."""
    if at_work >= (TEAM_AT_WORK if team else MOST_AT_WORK):
        message = f"{at_work} jobs are running already: try again later"
        raise RefusedError(Refusal.STATE, message)


# -- work of a job in a process of its own, so that the event loop stays free ----------------------

REPORT_SECONDS = 0.2  # between two messages of how far it is

R = TypeVar("R", bound=msgspec.Struct)


async def in_process(work: Callable[..., R], arguments: tuple[Any, ...], progress: Progress) -> R:
    """Return the result of `work(*arguments, on_progress=...)`, done in its own process.

    Both are sent to the process, and `progress` follows it. A `MetaserverError` there is raised
    here, with its message. Cancelled, or if the hub ends, the process is killed.
    """
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_work, args=(work, arguments, theirs), daemon=True)
    try:
        await run_uncancelled(asyncio.to_thread(process.start))  # unbegun, it cannot be ended
        theirs.close()
        result: R = await asyncio.to_thread(_heard, ours, progress)
        await asyncio.to_thread(process.join)
        return result
    finally:
        _end(process)
        ours.close()


def _end(process: BaseProcess) -> None:
    if process.pid is not None:
        process.kill()
        process.join()
    process.close()


def _heard(ours: Connection, progress: Progress) -> Any:
    """Take in how far the work is until it is done; raises `MetaserverError` if it fails."""
    while True:
        try:
            message = ours.recv()
        except (EOFError, OSError) as error:
            reason = "it was ended before it was whole; the hub's log may say why"
            raise HubError(reason) from error
        match message:
            case Progress():
                progress.step, progress.done = message.step, message.done
                progress.total = message.total
            case str():
                raise MetaserverError(message)
            case _:
                return message


def _work(work: Callable[..., Any], arguments: tuple[Any, ...], theirs: Connection) -> None:
    """Do the work; send its progress, then its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the hub's to handle
    last = 0.0
    step = ""

    def report(progress: Progress) -> None:
        nonlocal last, step
        if progress.step != step or time.monotonic() - last > REPORT_SECONDS:
            last, step = time.monotonic(), progress.step
            theirs.send(progress)

    try:
        theirs.send(work(*arguments, on_progress=report))
    except MetaserverError as error:
        theirs.send(str(error))
