"""Data packages: a phase's articles and gold as files, which its organiser releases to teams.

The gold of a test phase is a secret until its freeze, its articles until the organiser confirms
otherwise; the same holds for articles that another phase shares with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence, Set
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import HubError, Refusal, RefusedError
from metaserver.base.files import FOLDER_MODE
from metaserver.base.phases import DataPackage, PackedData
from metaserver.base.records import ArticleId
from metaserver.base.states import JobState, PhaseState, Role
from metaserver.base.structs import convert
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OnePhase, PhaseField
from metaserver.operations.jobs import JobDetail, begun_alone, newest
from metaserver.operations.kept import (
    DATA,
    DATA_FOLDER,
    data_file,
    fetch,
    guarded,
    keep,
    kept_file,
    offer,
    offered,
)
from metaserver.operations.table import Scope, operation
from metaserver.phases.jobs import Progress
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.publication.data import DataMaker, DataOrder, MadeData
from metaserver.publication.operations.results import (
    License,
    PackageContent,
    PackagePart,
    PublicationParts,
    read_part,
)
from metaserver.store import kept_files
from metaserver.store.kept_files import KeptFile
from metaserver.tasks.plugin import CorpusTask, LabelledTask

MOST_NAMED = 3


def data_maker(hub: HubContext) -> DataMaker:
    """Return the maker of data packages, which knows their files."""
    return DataMaker(hub.store.place, Path(hub.settings.folder) / DATA_FOLDER)


def check_release(
    running: RunningPhase,
    other_phases: Collection[RunningPhase],
    now: float,
    *,
    gold: bool,
    confirmed: bool,
    challenge: str | None = None,
) -> None:
    """Raise `RefusedError` if a package may not be released; slow for large gold.

    `other_phases` are all others, `confirmed` that teams would have test articles beforehand, which
    who organises one `challenge` alone cannot confirm for another.
    """
    hidden = guarded(running, now)
    if gold and hidden:
        message = f"{running.label} is a test phase: its gold is released from its freeze on"
        raise RefusedError(Refusal.STATE, message, field="gold")
    if gold and not running.gold:
        message = f"{running.label} has no gold"
        raise RefusedError(Refusal.STATE, message, field="gold")
    positions = set(running.positions)
    labelled = _gold_articles(running) if gold else set()
    for phase in other_phases:
        if not guarded(phase, now):
            continue
        own = challenge in (None, phase.phase.challenge)
        name = phase.label if own else "a test phase of another challenge"
        theirs = set(phase.positions) | _gold_articles(phase)
        if shared := labelled & theirs:
            message = (
                f"the gold has {_named(shared)} of {name}, which is not frozen:"
                " release the articles alone"
            )
            raise RefusedError(Refusal.STATE, message, field="without_gold")
        if not (shared := positions & theirs):
            continue
        if not own:
            message = (
                f"it has {_named(shared)} of {name}: ask an organiser of the hub to release it"
            )
            raise RefusedError(Refusal.STATE, message, field="test_articles")
        if not confirmed:
            raise _unconfirmed(f"it has {_named(shared)} of {name}")
    if hidden and not confirmed:
        raise _unconfirmed(f"{running.label} is a test phase")


def _unconfirmed(reason: str) -> RefusedError:
    message = f"{reason}: confirm that teams would have these test articles beforehand"
    return RefusedError(Refusal.STATE, message, field="test_articles")


def _gold_articles(running: RunningPhase) -> Set[ArticleId]:
    articles: set[ArticleId] = set()
    for scored in running.boards.scoreboard.scored():
        if isinstance(scored.plugin, CorpusTask):
            articles.update(scored.plugin.gold_articles(scored.gold))
        elif isinstance(scored.plugin, LabelledTask):
            articles.update(scored.plugin.labels(scored.gold))
        articles.update(scored.outside)
    return articles


def _named(articles: Set[ArticleId]) -> str:
    first: Sequence[str] = sorted(articles)[:MOST_NAMED]
    more = len(articles) - len(first)
    return f"articles {', '.join(first)}" + (f" and {more:,} more" if more else "")


KIND = "data-package.release"
SHARE_SECONDS = 2.0
"""Seconds between two looks for packages that other processes have released, or need."""

log = logging.getLogger(__name__)


class DataRelease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data package to be made and released.

    A training phase's package has any gold that there is, a test phase's only with `gold`.
    """

    phase: PhaseField
    gold: Annotated[bool, Meta(description="With the gold of a test phase that is frozen")] = False
    without_gold: Annotated[bool, Meta(description="Without the gold of a training phase")] = False
    test_articles: Annotated[
        bool, Meta(description="Confirmed: teams would have the test articles beforehand")
    ] = False
    xml: Annotated[bool, Meta(description="With the XML that the articles came in as")] = False
    public: Annotated[bool, Meta(description="For everybody, not for teams alone")] = False
    license: License = ""
    terms: Annotated[
        str, Meta(max_length=10_000, description="The rules for its use, in words, for its README")
    ] = ""


class DataDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A phase's data package; readable only if `released`.

    `xml` is the number of original XML files in it, `size` its zip's size in bytes, `sha256` the
    zip's checksum, `gold` each task's gold version in it; `outdated` says what changed since, or to
    organisers that its file is gone. `job` is the last release job since the hub was started, for
    organisers only.
    """

    phase: str
    released: bool
    released_at: float | None = None
    public: bool = False
    size: int = 0
    sha256: str = ""
    files: int = 0
    articles: int = 0
    xml: int = 0
    gold: dict[str, int] = {}
    license: str = ""
    outdated: str = ""
    job: JobDetail | None = None


@operation(
    "DataPackage.release",
    "POST /phases/{phase}/data",
    Role.ORGANISER,
    scope=Scope.PHASE,
    report=MadeData,
)
async def release(hub: HubContext, caller: Caller, request: DataRelease) -> JobDetail:
    """Make a phase's data package, and release it to teams: texts, BioC, gold, checksums.

    It replaces the phase's last one. A test phase's gold is released from its freeze on, its
    articles before that only with confirmation. XML that has accessions of such a gold, and its
    text has not, is refused.
    """
    running = hub.phase(request.phase)
    if request.gold and request.without_gold:
        raise RefusedError(Refusal.INVALID, "choose one of the two", field="without_gold")
    await _check(hub, caller, running, request)
    work = partial(_release, hub, caller, request)
    job, is_new = await begun_alone(hub, caller, KIND, running.name, work)
    if not is_new:
        message = f"the data of {running.label} are being packed: wait, or cancel its job"
        raise RefusedError(Refusal.STATE, message, field="phase")
    return job


async def _check(
    hub: HubContext, caller: Caller, running: RunningPhase, request: DataRelease
) -> None:
    other_phases = [
        phase for phase in hub.phases.scheduler.phases.values() if phase.name != running.name
    ]
    await asyncio.to_thread(
        check_release,
        running,
        other_phases,
        hub.clock(),
        gold=_with_gold(running, request),
        confirmed=request.test_articles,
        challenge=caller.challenge,
    )


def _with_gold(running: RunningPhase, request: DataRelease) -> bool:
    training = running.phase.plan.kind is PhaseState.TRAINING
    return request.gold or (training and bool(running.gold) and not request.without_gold)


async def _release(
    hub: HubContext, caller: Caller, request: DataRelease, progress: Progress
) -> MadeData:
    """Make the package, check again that it may be released, then store that it is."""
    gold = _with_gold(hub.phase(request.phase), request)
    order = DataOrder(
        phase=request.phase,
        gold=gold,
        xml=request.xml,
        secret=tuple(
            phase.name
            for phase in hub.phases.scheduler.phases.values()
            if guarded(phase, hub.clock())
        ),
        license=request.license,
        terms=request.terms,
    )
    made_data = await data_maker(hub).make(order, progress)
    try:
        shared_file = await offer(
            hub, DATA + made_data.sha256, data_file(hub, made_data.sha256), progress
        )
        progress.fix("storing")
        await _check(hub, caller, hub.phase(request.phase), request)
        await run_uncancelled(_store(hub, caller, request, made_data, shared_file))
    finally:
        await sweep_data(hub)
    return made_data


async def _store(
    hub: HubContext,
    caller: Caller,
    request: DataRelease,
    made_data: MadeData,
    shared_file: KeptFile | None,
) -> None:
    running = hub.phase(request.phase)
    async with running.scoring:  # its gold does not change meanwhile
        versions = {task: version.version for task, version in running.gold.items()}
        if made_data.corpus_id != running.phase.corpus_id or (
            made_data.gold and made_data.gold != versions
        ):
            message = f"the plan or the gold of {running.label} has changed: try again"
            raise RefusedError(Refusal.STATE, message, field="phase")
        package = DataPackage(
            **{name: getattr(made_data, name) for name in PackedData.__struct_fields__},
            license=request.license,
            public=request.public,
            confirmed=request.test_articles,
            released_at=hub.clock(),
        )
        async with hub.store.writing() as connection:
            await keep(connection, shared_file)
            await kept_files.put_package(connection, running.phase.id, package)
            await audit_log(
                connection,
                caller,
                KIND,
                running.name,
                gold=made_data.gold,
                public=request.public,
                test_articles=request.test_articles,
                sha256=made_data.sha256,
            )
        await hub.phase(running.name).reload(Part.DATA)


@operation("DataPackage.withdraw", "DELETE /phases/{phase}/data", Role.ORGANISER, scope=Scope.PHASE)
async def withdraw(hub: HubContext, caller: Caller, request: OnePhase) -> None:
    """Withdraw a phase's data package: nobody can read it any more; copies stay with teams."""
    running = hub.phase(request.phase)
    if running.data is None:
        message = f"no data of {running.label} are released"
        raise RefusedError(Refusal.STATE, message, field="phase")
    async with hub.store.writing() as connection:
        await kept_files.delete_package(connection, running.phase.id)
        await audit_log(connection, caller, "data-package.withdraw", running.name)
    await running.reload(Part.DATA)
    await sweep_data(hub)


@operation("DataPackage.get", "GET /phases/{phase}/data", None, scope=Scope.PHASE)
async def get(hub: HubContext, caller: Caller, request: OnePhase) -> DataDetail:
    """Return what a phase's data package is, once it is released."""
    running = hub.phase(request.phase)
    package = offered(hub, running)
    job = await _last_job(hub, running.name) if caller.organiser else None
    if package is None:
        lost = _lost(hub, running) if caller.organiser else ""
        return DataDetail(phase=running.name, released=False, outdated=lost, job=job)
    return convert(
        package,
        DataDetail,
        phase=running.name,
        released=True,
        outdated=_outdated(running, package),
        job=job,
    )


def _lost(hub: HubContext, running: RunningPhase) -> str:
    """Return that a release has no file; empty if it has a file or there is no release."""
    package = running.data
    if package is None or data_file(hub, package.sha256).is_file():
        return ""
    return "the file of what was released is gone, as after a restore: nobody can read it"


def _outdated(running: RunningPhase, package: DataPackage) -> str:
    newer = [
        f"{task} has gold version {newest.version} by now, the package version {version}"
        for task, newest in running.gold.items()
        if (version := package.gold.get(task, newest.version)) != newest.version
    ]
    return "; ".join(newer)


async def _last_job(hub: HubContext, phase: str) -> JobDetail | None:
    """Return the last release of a phase that did not end well or is under way."""
    last = await newest(hub, KIND, phase)
    return None if last is None or last.state is JobState.DONE else last


@operation("DataPackage.read", "GET /phases/{phase}/data/content", None, scope=Scope.PHASE)
async def read(hub: HubContext, caller: Caller, request: PackagePart) -> PackageContent:
    """Return a part of a phase's data package, a zip: at most 1 MiB from `offset` on."""
    name = hub.phase(request.phase).name
    return await read_part(name, data_of(hub, caller, name), request.offset)


def data_of(hub: HubContext, caller: Caller, phase: str) -> Path:
    """Return a package's file; `RefusedError` if it is not there or may not be read."""
    hub.require_announced(caller, phase)
    running = hub.phase(phase)
    package = offered(hub, running)
    if package is None:
        message = f"the data of {running.label} are not released"
        raise RefusedError(Refusal.UNKNOWN, message, field="phase")
    if not package.public:
        caller.require_role(Role.TEAM)
    return data_file(hub, package.sha256)


class KeptData(AbstractAsyncContextManager[None]):
    """The context of data packages: as it begins, files that no release has are deleted.

    They are what a killed hub leaves. It is no generator, as `KeptPackages` is none.
    """

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
        self._sharing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        data_maker(self._hub).clear_drafts()
        await sweep_data(self._hub)
        if not self._hub.phases.member.is_alone:
            self._sharing = asyncio.create_task(_share_data(self._hub), name="data packages")

    async def __aexit__(self, *_: object) -> None:
        if self._sharing is not None:
            self._sharing.cancel()
            await asyncio.wait([self._sharing])


async def _share_data(hub: HubContext) -> None:
    """Share the packages that are released with the other processes, until cancelled."""
    shared: set[str] = set()  # those that are here and in the store, by checksum
    while True:
        try:
            for running in list(hub.phases.scheduler.phases.values()):
                if running.data is not None:
                    await _share_one(hub, running.data.sha256, shared)
        except (HubError, OSError) as error:
            log.warning("a data package is not shared: %s", error)
        await asyncio.sleep(SHARE_SECONDS)


async def _share_one(hub: HubContext, checksum: str, shared: set[str]) -> None:
    """Fetch a package from the store, or put it there if a single-process hub released it."""
    name, path = DATA + checksum, data_file(hub, checksum)
    is_here = path.is_file()
    if is_here and checksum in shared:
        return
    shared_file = await kept_file(hub, name)
    if is_here:
        shared.add(checksum)
        if shared_file is None:
            shared_file = await offer(hub, name, path, Progress())
            async with hub.store.writing() as connection:
                await keep(connection, shared_file)
    elif shared_file is not None:
        await asyncio.to_thread(path.parent.mkdir, mode=FOLDER_MODE, parents=True, exist_ok=True)
        await fetch(hub, shared_file, path)


async def sweep_data(hub: HubContext) -> None:
    """Delete package files that no release has."""
    async with hub.store.reading() as connection:
        checksums = await kept_files.package_checksums(connection)
    await asyncio.to_thread(data_maker(hub).keep, set(checksums))
    if not hub.phases.member.is_alone:
        async with hub.store.writing() as connection:
            checksums = await kept_files.package_checksums(connection)
            await kept_files.keep_only(
                connection, DATA, {DATA + checksum for checksum in checksums}
            )


def add_publication(hub: HubContext) -> None:
    """Add to a hub what it has for packages; those of a phase that was deleted are deleted."""
    hub.add(PublicationParts())
    hub.phases.deleted.append(partial(sweep_data, hub))
