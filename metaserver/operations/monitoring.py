"""Servers' measures, the audit log, the hub's own state and its processes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.states import Role, ServerState
from metaserver.base.structs import convert
from metaserver.base.viewer import AuditEntry
from metaserver.boards.metrics import Metrics
from metaserver.boards.windows import ServerWindow, Window
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import Limit
from metaserver.operations.lanes import InLane
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.store import audit, leases, servers

LAG = "metaserver_event_loop_lag_seconds"
LAG_ALLOWED = 10.0
"""How old may be what a process shows about others, in seconds."""
RECENT = 3_600.0  # seconds for which a stall is shown


class MeasuresQuery(InLane, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of a server's measures."""

    window: Annotated[Window, Meta(description="How far back: 1h, 24h, 7d or 30d")] = Window.DAY


class StateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a server into a state at `at` (Unix seconds), with its reason."""

    at: float
    state: ServerState
    note: str


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of audit log entries."""

    subject: Annotated[
        str | None, Meta(description="Only actions on this team, server, phase ...")
    ] = None
    actor: Annotated[
        str | None, Meta(description="Only actions by, for example, 'team blue' or 'organiser ana'")
    ] = None
    before: Annotated[
        Annotated[int, Meta(ge=0, le=2**53)] | None,
        Meta(description="Only entries older than the entry with this id"),
    ] = None
    limit: Limit = 200


@operation("Servers.measures", "GET /servers/{server}/measures", Role.TEAM, scope=Scope.PHASE)
async def measures(hub: HubContext, caller: Caller, request: MeasuresQuery) -> ServerWindow:
    """Return a server's measures over the last hour, day, week or month."""
    registered = await hub.server(caller, request.server)
    return hub.phase(request.phase).windows.window(registered.server.name, request.window)


@operation("Audit.list", "GET /audit", Role.ORGANISER)
async def list_audit(hub: HubContext, _caller: Caller, request: AuditQuery) -> Sequence[AuditEntry]:
    """Return audit log entries (actor, action, subject, time), newest first."""
    async with hub.store.reading() as connection:
        return await audit.entries(
            connection,
            limit=request.limit,
            before=request.before,
            subject=request.subject,
            actor=request.actor,
        )


class StallDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which the hub stood still: its end in Unix seconds, and its length in seconds."""

    at: float
    seconds: float


class HubDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the hub itself; `blocked` is why nothing can be stored, empty if it can.

    `lanes_behind` counts the lanes whose stored answers are not on the boards yet, after a start.
    """

    ready: bool
    blocked: str
    phases: int
    servers: int
    lanes: int
    lanes_behind: int
    version: str
    lag: float
    disk_free: int
    disk_size: int
    stalls: tuple[StallDetail, ...]


@operation("Hub.status", "GET /hub", Role.ORGANISER)
async def status(hub: HubContext, _caller: Caller, _given: Nothing) -> HubDetail:
    """Return the hub's own state."""
    blocked = hub.store.blocked or ""
    phases = hub.phases.scheduler.phases.values()
    disk = shutil.disk_usage(hub.settings.folder)
    recent = [
        stall for stall in hub.servers.client.watchdog.stalls if stall.at > hub.clock() - RECENT
    ]
    return HubDetail(
        ready=not blocked,
        blocked=blocked,
        phases=len(phases),
        servers=len({name for running in phases for name in running.servers}),
        lanes=hub.phases.scheduler.lanes.count,
        lanes_behind=sum(running.boards.monitor().behind for running in phases),
        version=version("biocreative-metaserver"),
        lag=_lag(hub.part(Metrics)),
        disk_free=disk.free,
        disk_size=disk.total,
        stalls=tuple(convert(stall, StallDetail) for stall in recent),
    )


def is_ready(hub: HubContext) -> bool:
    """Return whether this process can do its work: answers can be stored, others are followed."""
    follows = hub.phases.member.is_alone or hub.phases.follower.lag < LAG_ALLOWED
    return follows and not hub.store.blocked


async def metrics_for(hub: HubContext, caller: Caller) -> tuple[bytes, str]:
    """Return the metrics that a caller may read, and their content type.

    A team reads those of its servers, a reader or curator those that name no server; the address
    that asks may have been let in without a token (`web.metrics`), and reads all.
    """
    if caller.team is not None:
        async with hub.store.reading() as connection:
            registered_servers = await servers.list_all(connection, caller.team)
        return hub.part(Metrics).render_of(
            {registered.server.name for registered in registered_servers}
        )
    if caller.role is None or caller.organiser:
        return hub.part(Metrics).render()
    return hub.part(Metrics).render_hub()


def _lag(metrics: Metrics) -> float:
    """Return how late the event loop last was; no other metric is collected."""
    restricted = metrics.registry.restricted_registry([LAG])
    return max(
        (sample.value for metric in restricted.collect() for sample in metric.samples), default=0
    )


class ProcessDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A hub process; `idle` is the time since it was seen, in seconds.

    `role` is `all`, `web` or `worker`. A process that does not live has lost its lanes. `blocked`
    says why it can store nothing, `lacks` what keeps it from working some servers, so that others
    have them, or they wait; each empty if nothing does.
    """

    process: str
    host: str
    role: str
    version: str
    lanes: int
    up: float
    idle: float
    lives: bool
    leads: bool
    blocked: str
    lacks: str


class MachinesDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's processes, and what is missing.

    `lanes_due` lanes should be at work, `lanes_unheld` among them have no process. `follower_lag`
    is the age of what this process shows about the others, in seconds.
    """

    processes: tuple[ProcessDetail, ...]
    lanes_due: int
    lanes_unheld: int
    follower_lag: float


@operation("Hub.machines", "GET /hub/machines", Role.ORGANISER)
async def machines(hub: HubContext, _caller: Caller, _given: Nothing) -> MachinesDetail:
    """Return the hub's processes, the leader, and each process' lanes."""
    async with hub.store.reading() as connection:
        processes = await leases.processes(connection)
        leader = await leases.current(connection)
        census = await leases.census(connection)
    member, lanes_held = hub.phases.member, hub.phases.scheduler.lanes.holder.engine.count
    own_lanes = {member.id: lanes_held} if member.is_alone else {}
    own_block = {member.id: hub.store.blocked or ""} if member.is_alone else {}
    own_lack = {member.id: member.lacks()} if member.is_alone else {}
    return MachinesDetail(
        processes=tuple(
            convert(
                process,
                ProcessDetail,
                process=process.id,
                lanes=own_lanes.get(process.id, process.lanes),
                leads=leader is not None and leader.process == process.id,
                blocked=own_block.get(process.id, process.blocked),
                lacks=own_lack.get(process.id, process.lacks),
            )
            for process in processes
        ),
        lanes_due=census.due,
        lanes_unheld=census.unheld,
        follower_lag=0.0 if member.is_alone else round(min(hub.phases.follower.lag, 1e6), 1),
    )
