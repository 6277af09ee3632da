"""Results packages: all that a paper on a phase needs, made in the background, then fetched."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import PhaseName
from metaserver.base.states import OVER, JobState, Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import END, LONG, OnePhase, PhaseField
from metaserver.operations.jobs import JobDetail, begun_alone, newest
from metaserver.operations.kept import (
    PUBLISHED,
    clear_workplaces,
    copy_of,
    keep,
    kept_file,
    offer,
    published_name,
    workplace,
)
from metaserver.operations.table import Scope, operation
from metaserver.phases.jobs import Job, Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.publication.making import PackageOrder
from metaserver.publication.packing import FOLDER, PackageReport, Packaging
from metaserver.store import kept_files
from metaserver.store.kept_files import KeptFile

KIND = "results-package.make"
MOST_READ = 2**20
"""The maximum package bytes in an answer."""

License = Annotated[
    str,
    Meta(
        pattern=rf"^(https?://[!-~]+)?{END}",
        max_length=200,
        description="The URL of the licence that it shall be under; none: not said",
    ),
]


@dataclass(frozen=True, slots=True)
class PublicationParts:
    """The parts of a hub for its packages: by phase, the job that made the last one."""

    last_packages: dict[PhaseName, Job] = field(default_factory=dict)


class NewPackage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A results package to make."""

    phase: PhaseField
    gold: Annotated[bool, Meta(description="With the gold, and what reveals it")] = False
    license: License = ""
    authors: Annotated[
        str,
        Meta(
            max_length=10_000,
            description="Who it is by, for its metadata: one person per line",
            extra=LONG,
        ),
    ] = ""
    public: Annotated[
        bool,
        Meta(
            description="For everybody, on the page of results while these are public: only"
            " without the gold"
        ),
    ] = False


class PackagePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a phase's package."""

    phase: PhaseField
    offset: Annotated[int, Meta(ge=0, le=2**40, description="Its first byte")] = 0


class PackageDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A phase's latest results package; `job` is null before the first.

    `size` is its zip's size in bytes, 0 without a zip. `public`: it is for everybody.
    """

    phase: str
    job: JobDetail | None
    size: int
    public: bool = False


class PackageContent(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes from a package's zip, beginning at `offset`; `size` is the whole zip's size."""

    phase: str
    offset: int
    size: int
    content: bytes


@operation(
    "ResultsPackage.make",
    "POST /phases/{phase}/results-package",
    Role.ORGANISER,
    scope=Scope.PHASE,
    report=PackageReport,
)
async def make(hub: HubContext, caller: Caller, request: NewPackage) -> JobDetail:
    """Make the results package for a frozen or closed phase.

    It has tables, figures, pairwise tests, response statistics, runs, signatures and a report; the
    gold only on request. It replaces the phase's last package.
    """
    running = hub.phase(request.phase)
    if request.public and request.gold:
        message = "a package with the gold is not for everybody: leave out one of the two"
        raise RefusedError(Refusal.INVALID, message, field="public")
    if running.state not in OVER:
        message = f"{running.label} is {running.state}: its results are final once it is frozen"
        raise RefusedError(Refusal.STATE, message, field="phase")
    if not running.gold:
        message = f"{running.label} has no gold: nothing was scored"
        raise RefusedError(Refusal.STATE, message, field="phase")
    order = PackageOrder(
        phase=running.name, gold=request.gold, license=request.license, authors=request.authors
    )
    name = published_name(running) if request.public else _name(running.name)
    work = partial(_make, hub, caller, order, name)
    job, is_new = await begun_alone(hub, caller, KIND, running.name, work)
    if not is_new:
        message = f"the package of {running.label} is being made: wait, or cancel its job"
        raise RefusedError(Refusal.STATE, message, field="phase")
    last_job = hub.jobs.own.get(job.job)
    assert last_job is not None
    hub.part(PublicationParts).last_packages[running.name] = last_job
    return job


async def _make(
    hub: HubContext, caller: Caller, order: PackageOrder, name: str, progress: Progress
) -> PackageReport:
    """Make the package, then its audit entry, before which nobody can fetch it.

    `name` is that of its file in the store.
    """
    packaging = _packaging(hub)
    packed = await packaging.make(order, progress)
    try:
        shared_file = await offer(hub, name, packaging.package(order.phase), progress)
        progress.fix("storing")
        await run_uncancelled(_note(hub, caller, order, shared_file))
    except BaseException:
        packaging.package(order.phase).unlink(missing_ok=True)
        raise
    if shared_file is not None:
        packaging.package(order.phase).unlink(missing_ok=True)  # all have it from the store
    return packed


def _name(phase: str) -> str:
    return f"{FOLDER}/{phase}"


async def _note(
    hub: HubContext, caller: Caller, order: PackageOrder, shared_file: KeptFile | None
) -> None:
    public = shared_file is not None and shared_file.name.startswith(PUBLISHED)
    last_names = {published_name(hub.phase(order.phase)), _name(order.phase)}
    async with hub.store.writing() as connection:
        await keep(connection, shared_file)
        for name in last_names - ({shared_file.name} if shared_file else set()):
            await kept_files.drop(connection, name)
        await audit_log(connection, caller, KIND, order.phase, gold=order.gold, public=public)


@operation(
    "ResultsPackage.get", "GET /phases/{phase}/results-package", Role.ORGANISER, scope=Scope.PHASE
)
async def get(hub: HubContext, _caller: Caller, request: OnePhase) -> PackageDetail:
    """Return the state of a phase's results package; pages link to the zip itself."""
    running = hub.phase(request.phase)
    name, shared_file = running.name, await _shared(hub, running)
    if not hub.phases.member.is_alone:
        last = await newest(hub, KIND, name)
    else:
        job = hub.part(PublicationParts).last_packages.get(name)
        last = None if job is None else JobDetail.of(job)
    size = 0 if shared_file is None else shared_file.size
    if shared_file is None and (place := await _place(hub, running)) is not None:
        size = place.stat().st_size
    return PackageDetail(
        phase=name,
        job=last,
        size=size,
        public=shared_file is not None and shared_file.name.startswith(PUBLISHED),
    )


@operation(
    "ResultsPackage.read",
    "GET /phases/{phase}/results-package/content",
    Role.ORGANISER,
    scope=Scope.PHASE,
)
async def read(hub: HubContext, _caller: Caller, request: PackagePart) -> PackageContent:
    """Return a part of a phase's results package, a zip: at most 1 MiB from `offset` on."""
    running = hub.phase(request.phase)
    place = await _place(hub, running)
    if place is None:
        message = f"there is no package of {running.label}: make one first"
        raise RefusedError(Refusal.UNKNOWN, message, field="phase")
    return await read_part(running.name, place, request.offset)


async def read_part(phase: str, place: Path, offset: int) -> PackageContent:
    """Return a part of a package's file."""
    content, size = await asyncio.to_thread(_read, place, offset)
    return PackageContent(phase=phase, offset=offset, size=size, content=content)


def _read(place: Path, offset: int) -> tuple[bytes, int]:
    with place.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(offset)
        return file.read(MOST_READ), size


async def package_of(hub: HubContext, caller: Caller, phase: str) -> Path | None:
    """Return a package's file, None without a package; `RefusedError` for non-organisers.

    It is only for pages, which send it in one piece.
    """
    caller = await hub.in_challenge(caller, Scope.PHASE, OnePhase(phase=phase))
    caller.require_role(Role.ORGANISER)
    return await _place(hub, hub.phase(phase))


class KeptPackages(AbstractAsyncContextManager[None]):
    """The context within which packages are kept; at its end jobs are cancelled.

    It is not a generator: a hub stopped while it starts closes all of them at once, inner before
    outer.
    """

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub

    async def __aenter__(self) -> None:
        clear_workplaces(self._hub, FOLDER)

    async def __aexit__(self, *_: object) -> None:
        for job in self._hub.part(PublicationParts).last_packages.values():
            await _end(self._hub, job)
        _packaging(self._hub).clear()


async def _end(hub: HubContext, job: Job) -> None:
    if job.ended_at is None:
        if not job.progress.fixed:
            hub.jobs.own.cancel(job)
        await job.ended()


def _packaging(hub: HubContext) -> Packaging:
    return Packaging(hub.store.place, workplace(hub, FOLDER), hub.settings)


async def _shared(hub: HubContext, running: RunningPhase) -> KeptFile | None:
    """Return a phase's package if the store has it: that for everybody, or that of processes."""
    published = await kept_file(hub, published_name(running))
    return published or await kept_file(hub, _name(running.name))


async def _place(hub: HubContext, running: RunningPhase) -> Path | None:
    if (shared_file := await _shared(hub, running)) is not None:
        return await copy_of(hub, shared_file.name)
    job = hub.part(PublicationParts).last_packages.get(running.name)
    place = _packaging(hub).package(running.name)
    is_done = job is not None and job.state is JobState.DONE
    return place if is_done and place.is_file() else None
