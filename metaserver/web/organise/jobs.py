"""Background jobs: their progress, and links to their results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.states import JobState
from metaserver.curation.operations import consensus_models
from metaserver.operations import jobs
from metaserver.operations.jobs import JobDetail, JobQuery, OneJob
from metaserver.operations.table import Nothing
from metaserver.publication.operations import data_packages, results
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsoleContext, mended
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"
PATH = "/organise/jobs"
SOON = 1.5
"""Seconds that a form waits for its job before it leads to the job's page."""


@dataclass(frozen=True, kw_only=True)
class JobPages:
    """The handlers of jobs."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(PATH, self.list),
            web.get(f"{PATH}/{{job}}", self.show),
            web.post(f"{PATH}/{{job}}/cancel", self.cancel),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the jobs that are kept."""
        known = await self.console.ask(request, jobs.list_, Nothing())
        return self.console.answer("organise_jobs.html", jobs=known, now=time.time())

    async def show(self, request: web.Request) -> web.Response:
        """Answer with how a job stands; one that is done leads to its result."""
        return await self._show(request)

    async def _show(
        self, request: web.Request, refused: RefusedError | None = None
    ) -> web.Response:
        job = await self.console.ask(request, jobs.get, JobQuery(job=request.match_info["job"]))
        if job.state is JobState.DONE and refused is None and result_path(job) != job_path(job):
            raise web.HTTPSeeOther(result_path(job))
        return self.console.answer(
            "organise_job.html",
            status=200 if refused is None else refused.refusal,
            job=job,
            next=result_path(job),
            now=time.time(),
            refused=refused,
        )

    async def cancel(self, request: web.Request) -> web.Response:
        """End a job."""
        key = request.match_info["job"]
        try:
            await self.console.ask(request, jobs.cancel, OneJob(job=key))
        except RefusedError as error:
            return await self._show(request, mended(error))
        raise web.HTTPSeeOther(f"{PATH}/{key}")

    async def parts(self, request: web.Request, key: str) -> LiveParts:
        """Return the live part of a job's page."""
        job = await self.console.ask(request, jobs.get, JobQuery(job=key))
        part = self.console.templates.part(PARTS, "job", job, result_path(job), time.time())
        return LiveParts(html={"job": part})

    async def list_parts(self, request: web.Request) -> LiveParts:
        """Return the live part of the list."""
        known = await self.console.ask(request, jobs.list_, Nothing())
        return LiveParts(
            html={"jobs": self.console.templates.part(PARTS, "jobs", known, time.time())}
        )


async def soon(console: ConsoleContext, request: web.Request, begun: JobDetail) -> str:
    """Return the path of a job's result if it ends soon, else that of the job."""
    return result_path(await console.ask(request, jobs.get, JobQuery(job=begun.job, wait=SOON)))


def job_path(job: JobDetail) -> str:
    """Return the path of a job's page."""
    return f"{PATH}/{job.job}"


def gold_path(phase: str, task: str) -> str:
    """Return the path of a task's gold."""
    return f"{phase_path(phase)}/gold/{quote(task, safe='')}"


def result_path(job: JobDetail) -> str:
    """Return the path of a job's result: that of its own page where it is not done."""
    report = job.report or {}
    match job.kind if job.state is JobState.DONE else "":
        case "gold.set":
            return f"{gold_path(report['phase'], report['task'])}?set={report['version']}"
        case "gold.preview":
            return f"{gold_path(report['phase'], report['task'])}/previews/{job.job}"
        case results.KIND:
            return f"{phase_path(job.subject)}/results"
        case consensus_models.KIND:
            return "/organise/consensus"
        case data_packages.KIND:
            return f"{phase_path(job.subject)}/data"
    return job_path(job)
