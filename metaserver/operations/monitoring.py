"""What the hub measured of servers, and what was done in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.model.states import Role, ServerState
from metaserver.monitoring.windows import ServerWindow, Window
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import Limit, ServerField
from metaserver.operations.lanes import InPhase
from metaserver.operations.table import Nothing, operation
from metaserver.store import audit, states
from metaserver.store.audit import AuditEntry


class MeasuresQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which measures of a server."""

    server: ServerField
    phase: InPhase = None
    window: Annotated[Window, Meta(description="How far back: 1h, 24h, 7d or 30d")] = Window.DAY


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which changes of state of a server."""

    server: ServerField
    phase: InPhase = None
    since: Annotated[float, Meta(ge=0, description="From then on, Unix seconds")] = 0.0


class StateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A server came into a state at `at` (Unix seconds), and why."""

    at: float
    state: ServerState
    note: str


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entries of the audit log."""

    subject: Annotated[str | None, Meta(description="Done to this team, server, phase ...")] = None
    actor: Annotated[str | None, Meta(description="Done by: 'team blue', 'organiser ana'")] = None
    before: Annotated[int | None, Meta(description="Older than the entry of this id")] = None
    limit: Limit = 200


@operation("Servers.measures", "GET /servers/{server}/measures", Role.TEAM)
async def measures(hub: HubContext, caller: Caller, request: MeasuresQuery) -> ServerWindow:
    """Return what was measured of a server in the last hour, day, week or month."""
    registered = await hub.server(caller, request.server)
    return hub.phase(request.phase).windows.window(registered.server.name, request.window)


@operation("Servers.events", "GET /servers/{server}/events", Role.TEAM)
async def events(hub: HubContext, caller: Caller, request: EventQuery) -> Sequence[StateEvent]:
    """Return the states that a server came into, oldest first."""
    registered = await hub.server(caller, request.server)
    key = hub.phase(request.phase).key(registered)
    async with hub.store.reading() as connection:
        found = await states.of(connection, key, since=request.since)
    return [StateEvent(at=one.at, state=one.state, note=one.note) for one in found]


@operation("Audit.list", "GET /audit", Role.ORGANISER)
async def list_audit(hub: HubContext, _caller: Caller, request: AuditQuery) -> Sequence[AuditEntry]:
    """Return who did what when, newest first."""
    async with hub.store.reading() as connection:
        return await audit.entries(
            connection,
            limit=request.limit,
            before=request.before,
            subject=request.subject,
            actor=request.actor,
        )


class HubDetail(msgspec.Struct, frozen=True, kw_only=True):
    """How the hub itself is; `blocked` is why nothing can be stored, empty if it can."""

    ready: bool
    blocked: str
    phases: int
    servers: int
    lanes: int


@operation("Hub.status", "GET /hub", Role.ORGANISER)
async def status(hub: HubContext, _caller: Caller, _given: Nothing) -> HubDetail:
    """Return how the hub itself is."""
    return hub_status(hub)


def hub_status(hub: HubContext) -> HubDetail:
    """Return how the hub itself is."""
    blocked = hub.store.blocked or ""
    phases = hub.dispatcher.phases.values()
    return HubDetail(
        ready=not blocked,
        blocked=blocked,
        phases=len(phases),
        servers=len({name for running in phases for name in running.servers}),
        lanes=hub.dispatcher.lanes.engine.count,
    )
