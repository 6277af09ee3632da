"""Background jobs: their progress, and links to their results."""

from __future__ import annotations

import time

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.states import JobState
from metaserver.operations import jobs
from metaserver.operations.jobs import JobDetail, JobQuery, OneJob
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsoleContext, ConsolePages, redisplayed
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"
PATH = "/organise/jobs"
SOON = 1.5
"""Seconds that a form waits for its job before it leads to the job's page."""


class JobPages(ConsolePages):
    """The handlers for jobs."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(PATH, self.list),
            web.get(f"{PATH}/{{job}}", self.show),
            web.post(f"{PATH}/{{job}}/cancel", self.cancel),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the jobs that are kept."""
        listed = await self.console.ask(request, jobs.list_, Nothing())
        return self.console.answer("organise_jobs.html", jobs=listed, now=time.time())

    async def show(self, request: web.Request, refused: RefusedError | None = None) -> web.Response:
        """Answer with how a job stands; a finished job leads to its result."""
        job = await self.console.ask(request, jobs.get, JobQuery(job=request.match_info["job"]))
        path = result_path(self.console, job)
        if job.state is JobState.DONE and refused is None and path != job_path(job):
            raise web.HTTPSeeOther(path)
        return self.console.answer(
            "organise_job.html",
            status=200 if refused is None else refused.refusal,
            job=job,
            next=path,
            now=time.time(),
            refused=refused,
        )

    async def cancel(self, request: web.Request) -> web.Response:
        """End a job."""
        key = request.match_info["job"]
        try:
            await self.console.ask(request, jobs.cancel, OneJob(job=key))
        except RefusedError as error:
            return await self.show(request, redisplayed(error))
        raise web.HTTPSeeOther(f"{PATH}/{key}")

    async def parts(self, request: web.Request, key: str) -> LiveParts:
        """Return the live part of a job's page."""
        job = await self.console.ask(request, jobs.get, JobQuery(job=key))
        path = result_path(self.console, job)
        part = self.console.templates.part(PARTS, "job", job, path, time.time())
        return LiveParts(html={"job": part})

    async def list_parts(self, request: web.Request) -> LiveParts:
        """Return the live part of the list."""
        listed = await self.console.ask(request, jobs.list_, Nothing())
        return LiveParts(
            html={"jobs": self.console.templates.part(PARTS, "jobs", listed, time.time())}
        )


async def soon(console: ConsoleContext, request: web.Request, begun: JobDetail) -> str:
    """Return the path of a job's result if it ends soon, else the job's."""
    job = await console.ask(request, jobs.get, JobQuery(job=begun.job, wait=SOON))
    return result_path(console, job)


def job_path(job: JobDetail) -> str:
    """Return the path of a job's page."""
    return f"{PATH}/{job.job}"


def result_path(console: ConsoleContext, job: JobDetail) -> str:
    """Return the path of a job's result: that of its own page if it is not done."""
    if job.state is not JobState.DONE:
        return job_path(job)
    return console.results.get(job.kind, job_path)(job)
