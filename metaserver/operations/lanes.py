"""Lane control: a team starts and pauses its servers, an organiser suspends and requeues.

By default the open phase is meant.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.base.records import ArticleId, RegisteredServer
from metaserver.base.states import OPEN_STATES, JobState, Role
from metaserver.operations import jobs
from metaserver.operations.caller import Caller
from metaserver.operations.conformance import (
    ServerTest,
    TestState,
    require_passed,
    require_servers,
    test,
    tested_for,
)
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OnePhase, ServerField
from metaserver.operations.jobs import LONGEST_WAIT, JobDetail, JobQuery, begun
from metaserver.operations.servers import ServerDetail, detail
from metaserver.operations.table import Scope, operation
from metaserver.phases.jobs import Progress
from metaserver.phases.lane_control import AuditWriter
from metaserver.phases.runtime import RunningPhase
from metaserver.store import servers, teams

InPhase = Annotated[str | None, Meta(description="The phase; none: the one that is open")]
NEXT_SHOWN = 10
BASELINES = "servers.start-baselines"
"""The kind of the jobs that start a phase's baselines."""


class InLane(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server's lane in a phase."""

    server: ServerField
    phase: InPhase = None


class Suspension(InLane, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lane to suspend, and the reason that its team sees."""

    reason: Annotated[
        str,
        Meta(min_length=1, max_length=500, description="The reason, which the server's team sees"),
    ]


class Requeue(InLane, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Given-up articles to send a server again."""

    articles: Annotated[
        tuple[str, ...], Meta(description="The articles' ids; none: all that were given up")
    ] = ()


class Requeued(msgspec.Struct, frozen=True, kw_only=True):
    """The number of articles back in the queue."""

    articles: int


class QueueDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A lane's rest: the number of articles, the next ids, the seconds to the end."""

    phase: str
    state: str
    note: str
    waiting: int
    in_flight: int
    next: tuple[str, ...]
    eta: float | None


@operation("Servers.start", "POST /servers/{server}/start", Role.TEAM)
async def start(hub: HubContext, caller: Caller, request: InLane) -> ServerDetail:
    """Send a server the phase's articles, in turn, until all are answered.

    It must have passed its test for this phase.
    """
    registered, running = await _ready(hub, caller, request)
    note = _audit_writer(caller, "servers.start", running, registered)
    await hub.phases.scheduler.lanes.start(running, registered, note)
    return detail(hub, registered)


class BaselineStart(msgspec.Struct, frozen=True, kw_only=True):
    """A baseline's server: whether it is sent articles now, or why not."""

    server: str
    started: bool
    refused: str


class BaselineStarts(msgspec.Struct, frozen=True, kw_only=True):
    """A phase's baselines, as they were started."""

    phase: str
    servers: tuple[BaselineStart, ...]


@operation("Servers.startBaselines", "POST /phases/{phase}/baselines", Role.ORGANISER,
           scope=Scope.PHASE, report=BaselineStarts)  # fmt: skip
async def start_baselines(hub: HubContext, caller: Caller, request: OnePhase) -> JobDetail:
    """Begin to start the servers of the organisers' own teams in an open phase.

    It is a background job: it tests those that have not passed their test for the phase, all at
    once, then starts each as `servers start` does. Its report says which it could not start.
    """
    running = require_servers(hub.phase(request.phase))
    if running.phase.state(hub.clock()) not in OPEN_STATES:
        raise RefusedError(Refusal.STATE, f"{running.label} is not open", field="phase")
    async with hub.store.reading() as connection:
        hosts = {team.name for team in await teams.list_all(connection) if team.host}
        registered = [
            server
            for server in await servers.list_all(connection)
            if server.team in hosts and server.retired_at is None
        ]

    async def work(progress: Progress) -> BaselineStarts:
        progress.begin("testing", len(registered))
        problems = await asyncio.gather(
            *(_tested(hub, caller, server, running, progress) for server in registered)
        )
        progress.fix("starting")
        starts = []
        for server, problem in zip(registered, problems, strict=True):
            name, refused = server.server.name, problem
            try:
                if not refused:
                    await start(hub, caller, InLane(server=name, phase=running.name))
            except RefusedError as error:
                refused = error.message
            starts.append(BaselineStart(server=name, started=not refused, refused=refused))
        return BaselineStarts(phase=running.name, servers=tuple(starts))

    return await begun(hub, caller, BASELINES, running.name, work)


async def _tested(
    hub: HubContext,
    caller: Caller,
    registered: RegisteredServer,
    running: RunningPhase,
    progress: Progress,
) -> str:
    """Test a server for a phase unless it has passed; return why it could not be tested, or ""."""
    problem = ""
    if tested_for(hub, registered, running).state is not TestState.PASSED:
        request = ServerTest(server=registered.server.name, phase=running.name)
        try:
            job = await test(hub, caller, request)
            while job.state is JobState.RUNNING:
                job = await jobs.get(hub, caller, JobQuery(job=job.job, wait=LONGEST_WAIT))
            problem = job.error
        except RefusedError as error:
            problem = error.message
    progress.advance(1)
    return problem


@operation("Servers.next", "POST /servers/{server}/next", Role.TEAM)
async def next_(hub: HubContext, caller: Caller, request: InLane) -> ServerDetail:
    """Send a paused server only its queue's next article."""
    registered, running = await _ready(hub, caller, request)
    note = _audit_writer(caller, "servers.next", running, registered)
    await hub.phases.scheduler.lanes.start_next(running, registered, note)
    return detail(hub, registered)


@operation("Servers.pause", "POST /servers/{server}/pause", Role.TEAM)
async def pause(hub: HubContext, caller: Caller, request: InLane) -> ServerDetail:
    """Send a server no more articles; what is in flight is finished and counted."""
    registered, running = await lane_of(hub, caller, request)
    note = _audit_writer(caller, "servers.pause", running, registered)
    await hub.phases.scheduler.lanes.pause(running, registered, note)
    return detail(hub, registered)


@operation("Servers.cancel", "POST /servers/{server}/cancel", Role.TEAM, scope=Scope.PHASE)
async def cancel(hub: HubContext, caller: Caller, request: InLane) -> ServerDetail:
    """Pause a server and drop its requests in flight: they are sent again later, uncounted."""
    registered, running = await lane_of(hub, caller, request)
    note = _audit_writer(caller, "servers.cancel", running, registered)
    await hub.phases.scheduler.lanes.cancel(running, registered, caller.name, note)
    return detail(hub, registered, caller.challenge)


@operation("Servers.suspend", "POST /servers/{server}/suspend", Role.ORGANISER, scope=Scope.PHASE)
async def suspend(hub: HubContext, caller: Caller, request: Suspension) -> ServerDetail:
    """Send a server no more articles until an organiser resumes it."""
    registered, running = await lane_of(hub, caller, request)
    note = _audit_writer(caller, "servers.suspend", running, registered, reason=request.reason)
    await hub.phases.scheduler.lanes.suspend(running, registered, request.reason, note)
    return detail(hub, registered, caller.challenge)


@operation("Servers.resume", "POST /servers/{server}/resume", Role.ORGANISER, scope=Scope.PHASE)
async def resume(hub: HubContext, caller: Caller, request: InLane) -> ServerDetail:
    """Lift a suspension: the server is sent articles again."""
    registered, running = await lane_of(hub, caller, request)
    note = _audit_writer(caller, "servers.resume", running, registered)
    await hub.phases.scheduler.lanes.resume(running, registered, note)
    return detail(hub, registered, caller.challenge)


@operation("Servers.requeue", "POST /servers/{server}/requeue", Role.ORGANISER, scope=Scope.PHASE)
async def requeue(hub: HubContext, caller: Caller, request: Requeue) -> Requeued:
    """Send a server the articles that were given up again; earlier attempts do not count."""
    registered, running = await lane_of(hub, caller, request)
    positions = [position_of(running, article) for article in request.articles] or None
    note = _audit_writer(caller, "servers.requeue", running, registered)
    count = await hub.phases.scheduler.lanes.requeue(running, registered, positions, note)
    return Requeued(articles=count)


@operation("Servers.queue", "GET /servers/{server}/queue", Role.TEAM, scope=Scope.PHASE)
async def queue(hub: HubContext, caller: Caller, request: InLane) -> QueueDetail:
    """Return what is left in a server's queue, and the time that it will take."""
    registered, running = await lane_of(hub, caller, request)
    status = running.boards.server_monitor.status(registered.server.name)
    waiting = await hub.store.next_positions(
        running.key(registered), len(running.corpus), NEXT_SHOWN
    )
    return QueueDetail(
        phase=running.name,
        state=status.state,
        note=status.note,
        waiting=status.total - status.done - status.given_up,
        in_flight=status.in_flight,
        next=tuple(running.corpus.ids[position] for position in waiting),
        eta=status.eta,
    )


async def lane_of(
    hub: HubContext, caller: Caller, request: InLane
) -> tuple[RegisteredServer, RunningPhase]:
    """Return the server and the phase; `RefusedError` if it has no lane there."""
    registered = await hub.server(caller, request.server)
    running = require_servers(hub.phase(request.phase))
    if registered.server.name not in running.servers:
        message = f"{request.server} does not take part in {running.label}: start it first"
        raise RefusedError(Refusal.STATE, message, field="server")
    return registered, running


async def _ready(
    hub: HubContext, caller: Caller, request: InLane
) -> tuple[RegisteredServer, RunningPhase]:
    """Return a server that may be sent articles, and the phase."""
    registered = await hub.server_in_use(caller, request.server)
    running = require_servers(hub.phase(request.phase))
    require_passed(hub, registered, running)
    _within_limits(running, registered)
    return registered, running


def _within_limits(running: RunningPhase, registered: RegisteredServer) -> None:
    limits, name = running.phase.plan.limits, registered.server.name
    if limits.concurrency is not None and registered.server.concurrency > limits.concurrency:
        message = (
            f"{running.label} allows {counted(limits.concurrency, 'request')} in flight at most"
        )
        raise RefusedError(Refusal.STATE, message, field="concurrency")
    theirs = [server for server in running.servers.values() if server.team == registered.team]
    if name not in running.servers and len(theirs) >= limits.servers:
        message = (
            f"{running.label} allows {counted(limits.servers, 'server')} per team; each that was"
            " started in it counts, retired or not"
        )
        raise RefusedError(Refusal.STATE, message, field="server")


def position_of(running: RunningPhase, article: str) -> int:
    """Return an article's position in the phase; `RefusedError` if it is not there."""
    position = running.positions.get(ArticleId(article))
    if position is None:
        message = f"{running.label} has no article {article!r}"
        raise RefusedError(Refusal.UNKNOWN, message, field="article")
    return position


def _audit_writer(
    caller: Caller,
    action: str,
    running: RunningPhase,
    registered: RegisteredServer,
    reason: str | None = None,
) -> AuditWriter:
    """Return a function that writes a caller's action on a lane into the audit log."""
    return functools.partial(
        audit_log,
        caller=caller,
        action=action,
        subject=registered.server.name,
        phase=running.name,
        reason=reason,
    )
