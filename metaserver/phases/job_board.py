"""A hub's job board: what a process does is stored, so that the others can show it.

A single-process hub has its jobs only in memory. With several, each does its own jobs and stores
their state (ADR 18); any of them answers alike.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack_json
from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.states import JobState
from metaserver.base.structs import convert
from metaserver.phases.jobs import MOST_KEPT, Job, Jobs, require_room
from metaserver.phases.membership import HubMember
from metaserver.store import jobs as stored_jobs
from metaserver.store.jobs import StoredJob
from metaserver.store.store import Store

TICK_SECONDS = 0.5
KEPT_SECONDS = 7 * 86_400.0

log = logging.getLogger(__name__)


class JobBoard:
    """The jobs in all of a hub's processes; `clock` returns Unix seconds."""

    def __init__(
        self, store: Store, jobs: Jobs, member: HubMember, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._member = member
        self._clock = clock
        self._flushing = asyncio.Lock()
        self._posted: dict[Job, tuple[object, ...]] = {}  # how those under way were stored last

    @property
    def is_shared(self) -> bool:
        """True if other processes may do jobs too."""
        return not self._member.is_alone

    async def post(
        self, job: Job, excludes: Callable[[StoredJob], bool] = lambda _: False
    ) -> StoredJob | None:
        """Store a job that has begun, unless another process does a job that it `excludes`.

        That job is returned then, and this job withdrawn, as it is if all processes have the
        maximum at work (`RefusedError`). If nothing can be stored it is cancelled
        (`UnavailableError`). Simultaneous calls are processed in turn.
        """
        if not self.is_shared:
            return None
        elsewhere_job: StoredJob | None = None
        try:
            async with self._store.writing() as connection:
                elsewhere = await self._elsewhere(connection, job.team)
                elsewhere_job = next(filter(excludes, elsewhere), None)
                if elsewhere_job is None:
                    jobs_here = self._jobs.list_all(job.team)
                    here = sum(
                        other_job.state is JobState.RUNNING
                        for other_job in jobs_here
                        if other_job is not job
                    )
                    require_room(job.team, here + len(elsewhere))
                    before = self._clock() - KEPT_SECONDS
                    await stored_jobs.forget(connection, job.team, MOST_KEPT - 1, before)
                    await stored_jobs.put(connection, [self._stored(job)])
        except RefusedError:
            self._jobs.withdraw(job)
            raise
        except BaseException:
            assert job.task is not None
            job.task.cancel()
            self._posted[job] = ()  # it may be stored all the same, and then not as running
            raise
        if elsewhere_job is not None:
            self._jobs.withdraw(job)
        else:
            self._posted[job] = ()
        return elsewhere_job

    async def elsewhere(self, team: str, meant: Callable[[StoredJob], bool]) -> StoredJob | None:
        """Return a team's (or the organisers') job that is `meant` and runs in another process."""
        if not self.is_shared:
            return None
        async with self._store.reading() as connection:
            return next(filter(meant, await self._elsewhere(connection, team)), None)

    async def _elsewhere(self, connection: AsyncConnection, team: str) -> Sequence[StoredJob]:
        """Return the jobs that other processes do; its own are in memory, as they are now."""
        at_work = await stored_jobs.at_work(connection, team)
        return [job for job in at_work if job.process != self._member.id]

    async def run(self) -> None:
        """Store how jobs stand, and cancel those that others want cancelled, until cancelled."""
        while True:
            try:
                await self.flush()
                await self._obey()
            except UnavailableError as error:
                log.debug("the states of jobs are not stored: %s", error.reason)
            await asyncio.sleep(TICK_SECONDS)

    async def flush(self) -> None:
        """Store what has changed in this process' jobs; `UnavailableError` if that fails."""
        async with self._flushing:
            now = {job: self._standing(job) for job in self._posted}
            changed = [job for job, standing in now.items() if self._posted[job] != standing]
            if changed:
                async with self._store.renewing() as connection:
                    await stored_jobs.put(connection, map(self._stored, changed))
            for job in changed:
                self._posted[job] = now[job]
                if job.ended_at is not None and now[job] == self._standing(job):
                    del self._posted[job]  # its last word

    async def find(self, key: str) -> StoredJob | None:
        """Return any process' job as stored, or None."""
        if not self.is_shared:
            return None
        async with self._store.reading() as connection:
            return await stored_jobs.get(connection, key)

    async def newest(self, team: str, kind: str | None = None) -> Sequence[StoredJob]:
        """Return a team's (or the organisers') newest jobs in all processes."""
        if not self.is_shared:
            return []
        async with self._store.reading() as connection:
            return await stored_jobs.newest(connection, team, MOST_KEPT, kind=kind)

    async def cancel(self, job: StoredJob) -> None:
        """Ask another process to cancel its job; `RefusedError` if it is too late."""
        if job.ended_at is not None or job.lost:
            raise RefusedError(Refusal.STATE, "it has ended")
        if job.fixed:
            raise RefusedError(Refusal.STATE, "its result is being stored: it cannot be cancelled")
        async with self._store.writing() as connection:
            await stored_jobs.ask_to_cancel(connection, job.id)

    async def _obey(self) -> None:
        running = [job for job in self._posted if job.state is JobState.RUNNING]
        if not running:
            return
        async with self._store.reading() as connection:
            ids = await stored_jobs.to_cancel(connection, [job.id for job in running])
        for job in running:
            if job.id in ids and not job.progress.fixed and job.ended_at is None:
                self._jobs.cancel(job)

    def _standing(self, job: Job) -> tuple[object, ...]:
        progress = job.progress
        return (
            self._member.id,
            job.state,
            job.ended_at,
            progress.step,
            progress.done,
            progress.total,
            progress.fixed,
        )

    def _stored(self, job: Job) -> StoredJob:
        return convert(
            job,
            StoredJob,
            process=self._member.id,
            step=job.progress.step,
            done=job.progress.done,
            total=job.progress.total,
            fixed=job.progress.fixed,
            report=None if job.report is None else pack_json(job.report),
        )
