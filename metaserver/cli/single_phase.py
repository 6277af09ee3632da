"""A single-phase challenge whose servers nobody registers, for `run` and `demo`."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import HubError, InputError, UnavailableError
from metaserver.base.lanes import LaneKey
from metaserver.base.plans import PhasePlan
from metaserver.base.records import Article, LaneControl, PhaseName, Server, ServerName, TaskName
from metaserver.base.states import OPEN_STATES, Control, Role, Visibility
from metaserver.boards.gold import no_accession, unanswerable
from metaserver.cli.hub import open_hub, work
from metaserver.config import Settings
from metaserver.exchange.http.guard import AddressGuard
from metaserver.exchange.http.urls import check_url, masked
from metaserver.lanes.events import LaneEnd
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.store import phases, runs, servers
from metaserver.store.articles import pack_articles, store_articles
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary

# -- options and files of a command, read and checked before anything is written -------------------

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class GoldContent(NamedTuple):
    """A gold file: its name, and its bytes, which its task can read."""

    source: str
    content: bytes


def read_servers(options: Sequence[str], concurrency: int) -> Sequence[Server]:
    """Read `NAME=URL` options; names are file names too, so they are kept plain.

    >>> [server] = read_servers(["good=http://127.0.0.1:8001/"], concurrency=1)
    >>> server.name, server.url
    ('good', 'http://127.0.0.1:8001/')
    """
    servers: dict[str, Server] = {}
    for option in options:
        name, equals, url = option.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise InputError(
                "--server",
                f"{masked(option)!r}; expected NAME=URL, NAME of letters, digits, '.', '_' and '-'",
            )
        if name in servers:
            raise InputError("--server", f"the name {name!r} is given twice")
        url = check_url(url, f"--server {name}")
        servers[name] = Server(name=ServerName(name), url=url, concurrency=concurrency)
    return list(servers.values())


def read_gold(files: Mapping[TaskName, Path], release: Release) -> Mapping[TaskName, GoldContent]:
    """Read each task's gold file; `InputError` names the line that the task cannot read.

    It is also raised if a file has none of the release's accessions.
    """
    vocabulary = ReleaseVocabulary(release=release)
    return {task: _gold(task, path, vocabulary) for task, path in files.items()}


def _gold(task: TaskName, path: Path, vocabulary: ReleaseVocabulary) -> GoldContent:
    plugin = installed_tasks()[task]
    if unanswerable(plugin, plugin.read_gold(path), vocabulary).is_all:
        raise InputError(path, no_accession(vocabulary.release.name))
    try:
        return GoldContent(path.name, path.read_bytes())
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error


# -- a challenge of one phase whose servers nobody registers: that of `run` and `demo` -------------

NEVER_STARTED = LaneControl(control=Control.PAUSED, note="")


@dataclass(frozen=True, kw_only=True, slots=True)
class SinglePhase:
    """A phase but for its articles, which are kept in the store alone.

    `visibility` is of its scores in a service that serves the store later.
    """

    name: PhaseName
    servers: Sequence[Server]
    gold: Mapping[TaskName, GoldContent]
    release: Release
    visibility: Visibility = Visibility.HIDDEN

    @property
    def caller(self) -> Caller:
        """The caller that the audit log names: the command."""
        return Caller(role=Role.ORGANISER, name=self.name)


@asynccontextmanager
async def open_phase(
    single: SinglePhase,
    articles: Iterable[Article],
    settings: Settings,
    guard: AddressGuard | None = None,
) -> AsyncIterator[tuple[HubContext, RunningPhase]]:
    """Open a hub that works on a single phase, to be driven by `work_to_end`.

    The phase is stored, open, with a lane for each server. An existing phase goes on, with the
    present gold; servers that are not given now are sent nothing. What does not fit it is an
    `InputError`: then nothing is stored.
    """
    async with open_hub(
        settings,
        guard,
        patience=settings.circuit.patience,
        releases={single.release.name: single.release},
    ) as hub:
        yield hub, await _begin(hub, single, articles)


async def _begin(hub: HubContext, single: SinglePhase, articles: Iterable[Article]) -> RunningPhase:
    packed = await asyncio.to_thread(pack_articles, articles)
    async with hub.store.writing() as connection:
        corpus = await store_articles(connection, packed)
        phase_id = await _phase(
            connection, single, corpus.id, _vocabulary(hub, single), str(hub.store.place)
        )
        await _set_gold(connection, single, phase_id)
        place = str(hub.store.place)
        by_id = {
            await _server(connection, single, server, place): server.name
            for server in single.servers
        }
        await _set_controls(connection, single, phase_id, by_id, place)
        phase = await phases.get(connection, single.name)
    assert phase is not None
    return await hub.phases.scheduler.take_over(phase)


async def work_to_end(
    hub: HubContext,
    running: RunningPhase,
    then: Callable[[], Awaitable[None]] | None = None,
) -> Mapping[ServerName, LaneEnd]:
    """Drive the hub until a phase's lanes have ended; return how each did.

    What comes `then` is done while the hub is still driven. Its boards are final then: an article
    that a server was not asked for counts as zero. `HubError` if one was stopped by a fault of the
    hub, when the others have ended.
    """
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work(hub, notices=False), name="hub")
        ended = await hub.phases.scheduler.lanes.ended(running)
        async with running.scoring:
            await running.catch_up()
            running.end()
        if then is not None:
            await then()
        working.cancel()
    with suppress(UnavailableError):
        # the last states: the recorder looks once a second
        await hub.part(ServerStateRecorder).record()
    for name, lane in ended.items():
        if lane.failure is not None:
            message = f"lane {name} stopped by a fault of the hub: {lane.failure!r}"
            raise HubError(message) from lane.failure
    return {name: lane.end for name, lane in ended.items()}


def _vocabulary(hub: HubContext, single: SinglePhase) -> str:
    policies = hub.settings.policies()
    return ReleaseVocabulary(release=single.release, **policies._asdict()).name


async def _phase(
    connection: AsyncConnection, single: SinglePhase, corpus_id: int, release: str, place: str
) -> int:
    """Return the phase's id, making it if it is new.

    It keeps its corpus and its UniProt release, with the policy for secondary accessions: answers
    belong to the corpus and were checked by the release.
    """
    phase = await phases.get(connection, single.name)
    if phase is None:
        return await _add_phase(connection, single, corpus_id, release)
    if phase.corpus_id != corpus_id:
        raise InputError(
            place, "begun with other articles; give the same ones to go on, or another --out"
        )
    if phase.release != release:
        raise InputError(
            place,
            f"begun with UniProt release {phase.release}, not {release}; give the same"
            " one to go on, or another --out",
        )
    if (state := phase.state(time.time())) not in OPEN_STATES:
        raise InputError(place, f"its phase {phase.name} is {state}; give another --out")
    return phase.id


async def _add_phase(
    connection: AsyncConnection, single: SinglePhase, corpus_id: int, release: str
) -> int:
    name, source = single.name, f"metaserver {single.name}"
    challenge = await _challenge(connection, single)
    version = await phases.add_corpus_version(connection, name, corpus_id, source)
    await audit_log(connection, single.caller, "corpora.import", name, version=version)
    plan = PhasePlan(visibility=single.visibility)
    phase_id = await phases.add(
        connection, name, challenge, plan, corpus_id=corpus_id, release=release
    )
    await phases.change(connection, phase_id, standing=plan.kind)
    await audit_log(connection, single.caller, "phases.create", name, release=release)
    return phase_id


async def _set_gold(connection: AsyncConnection, single: SinglePhase, phase_id: int) -> None:
    newest = await phases.newest_gold(connection, phase_id)
    for task, gold in single.gold.items():
        if task in newest and newest[task].content == gold.content:
            continue
        version = await phases.set_gold(connection, phase_id, task, gold.source, gold.content)
        await audit_log(
            connection, single.caller, "gold.set", single.name,
            task=task, version=version, source=gold.source,
        )  # fmt: skip


async def _challenge(connection: AsyncConnection, single: SinglePhase) -> int:
    """Return the id of the challenge with the phase's name, which may already be an organiser's."""
    ids = {challenge.name: challenge.id for challenge in await phases.list_challenges(connection)}
    if single.name not in ids:
        await phases.set_challenge(connection, single.name, "", "UTC")
        await audit_log(connection, single.caller, "challenges.set", single.name)
        ids = {
            challenge.name: challenge.id for challenge in await phases.list_challenges(connection)
        }
    return ids[single.name]


async def _set_controls(
    connection: AsyncConnection,
    single: SinglePhase,
    phase_id: int,
    by_id: Mapping[int, ServerName],
    place: str,
) -> None:
    """Let the named servers' lanes run, and pause the others.

    `InputError` if an organiser of a service has suspended a lane.
    """
    controls: dict[int, LaneControl] = {}
    for server, lane in await servers.in_phase(connection, phase_id):
        controls[server.id] = lane
        if lane.control is Control.RUNNING and server.id not in by_id:
            await servers.set_control(connection, LaneKey(phase_id, server.id), Control.PAUSED)
            await _note_control(connection, single, "servers.pause", server.server.name)
    for server_id, name in by_id.items():
        lane = controls.get(server_id, NEVER_STARTED)
        if lane.control is Control.SUSPENDED:
            raise InputError(
                place,
                f"its server {name} is suspended ({lane.note}); leave it out, or resume it as an"
                " organiser of a service on this folder",
            )
        if lane.control is not Control.RUNNING:
            await servers.set_control(connection, LaneKey(phase_id, server_id), Control.RUNNING)
            await _note_control(connection, single, "servers.start", name)


async def _note_control(
    connection: AsyncConnection, single: SinglePhase, action: str, server: ServerName
) -> None:
    await audit_log(connection, single.caller, action, server, phase=single.name)


async def _server(
    connection: AsyncConnection, single: SinglePhase, server: Server, place: str
) -> int:
    """Return the id of a server without a team, making or changing it if need be."""
    registered = await servers.get(connection, server.name)
    if registered is None and not await runs.is_offline(connection, server.name):
        await audit_log(connection, single.caller, "servers.register", server.name)
        return await servers.add(connection, server, None)
    if registered is None or registered.team is not None or registered.retired_at is not None:
        raise InputError(
            place, f"the name {server.name!r} is taken here; give another name, or another --out"
        )
    if registered.server != server:
        await audit_log(connection, single.caller, "servers.update", server.name)
        await servers.change(connection, registered.id, server)
    return registered.id
