"""Exports: everything that the hub holds as one archive, written while it goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from metaserver.archive.exporting import FOLDER, Exported, Exporting
from metaserver.concurrency import run_uncancelled
from metaserver.model.states import JobState, Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.jobs import JobDetail, begun_alone, newest
from metaserver.operations.kept import clear_workplaces, copy_of, keep, kept_file, offer, workplace
from metaserver.operations.table import Nothing, operation
from metaserver.phases.jobs import Job, Progress
from metaserver.store.kept_files import KeptFile

KIND = "hub.export"


class ExportDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The export that was begun last, null before the first; `size` is its archive's, in bytes.

    `size` is 0 while there is no archive. The archive itself is at /organise/export/archive.
    """

    job: JobDetail | None
    size: int


@operation("Hub.export", "POST /hub/export", Role.ORGANISER, report=Exported)
async def export(hub: HubContext, caller: Caller, _request: Nothing) -> JobDetail:
    """Write everything that the hub holds into one archive, or join the job that does so.

    It has no tokens, but it has the gold. It replaces the archive that there is.
    """
    job, is_new = await begun_alone(hub, caller, KIND, "hub", partial(_export, hub, caller))
    if is_new:
        hub.last_export.job = hub.jobs.get(job.job)
    return job


async def _export(hub: HubContext, caller: Caller, progress: Progress) -> Exported:
    """Write the archive, then its audit entry, before which nobody can fetch it."""
    exporting = _exporting(hub)
    exported = await exporting.write(progress)
    try:
        kept = await offer(hub, KIND, exporting.archive, progress)
        progress.fix("storing")
        await run_uncancelled(_note(hub, caller, kept))
    except BaseException:
        exporting.clear()
        raise
    if kept is not None:
        exporting.clear()  # all processes have it from the store
    return exported


async def _note(hub: HubContext, caller: Caller, kept: KeptFile | None) -> None:
    async with hub.store.writing() as connection:
        await keep(connection, kept)
        await audit_log(connection, caller, KIND, "hub")


@operation("Hub.lastExport", "GET /hub/export", Role.ORGANISER)
async def last_export(hub: HubContext, _caller: Caller, _request: Nothing) -> ExportDetail:
    """Return the state of the export that was begun last, and the size of its archive."""
    if not hub.member.is_alone:
        kept = await kept_file(hub, KIND)
        last = await newest(hub, KIND, "hub")
        return ExportDetail(job=last, size=0 if kept is None else kept.size)
    job = hub.last_export.job
    return ExportDetail(
        job=None if job is None else JobDetail.of(job),
        size=_exporting(hub).archive.stat().st_size if _is_whole(hub, job) else 0,
    )


async def archive_of(hub: HubContext, caller: Caller) -> Path | None:
    """Return the file of the archive, None where there is none; `RefusedError` for non-organisers.

    It is for pages alone: it may be larger than an answer of the other interfaces.
    """
    caller.require_role(Role.ORGANISER)
    if not hub.member.is_alone:
        return await copy_of(hub, KIND)
    return _exporting(hub).archive if _is_whole(hub, hub.last_export.job) else None


class KeptExports:
    """A context for the length of which archives are kept; at its end the job is cancelled.

    No generator: where a hub ends while it begins, those that are left are ended in any order.
    """

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub

    async def __aenter__(self) -> None:
        """Remove what an earlier process left."""
        clear_workplaces(self._hub, FOLDER)

    async def __aexit__(self, *_: object) -> None:
        """End the job and remove the archive."""
        job = self._hub.last_export.job
        if job is not None and job.ended_at is None:
            if not job.progress.fixed:
                self._hub.jobs.cancel(job)
            await job.ended()
        _exporting(self._hub).clear()


def _exporting(hub: HubContext) -> Exporting:
    return Exporting(hub.store.place, workplace(hub, FOLDER), hub.settings)


def _is_whole(hub: HubContext, job: Job | None) -> bool:
    done = job is not None and job.state is JobState.DONE
    return done and _exporting(hub).archive.is_file()
