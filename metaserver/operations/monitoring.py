"""Measures and events of servers, the audit log, and the hub's own state."""

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
    """A selection of a server's measures."""

    server: ServerField
    phase: InPhase = None
    window: Annotated[Window, Meta(description="How far back: 1h, 24h, 7d or 30d")] = Window.DAY


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of a server's changes of state."""

    server: ServerField
    phase: InPhase = None
    since: Annotated[float, Meta(ge=0, description="From then on, Unix seconds")] = 0.0


class StateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a server into a state at `at` (Unix seconds), with its reason."""

    at: float
    state: ServerState
    note: str


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of entries of the audit log."""

    subject: Annotated[str | None, Meta(description="Done to this team, server, phase ...")] = None
    actor: Annotated[str | None, Meta(description="Done by: 'team blue', 'organiser ana'")] = None
    before: Annotated[int | None, Meta(description="Older than the entry of this id")] = None
    limit: Limit = 200


@operation("Servers.measures", "GET /servers/{server}/measures", Role.TEAM)
async def measures(hub: HubContext, caller: Caller, request: MeasuresQuery) -> ServerWindow:
    """Return the measures of a server over the last hour, day, week or month."""
    registered = await hub.server(caller, request.server)
    return hub.phase(request.phase).windows.window(registered.server.name, request.window)


@operation("Servers.events", "GET /servers/{server}/events", Role.TEAM)
async def events(hub: HubContext, caller: Caller, request: EventQuery) -> Sequence[StateEvent]:
    """Return a server's changes of state, oldest first."""
    registered = await hub.server(caller, request.server)
    key = hub.phase(request.phase).key(registered)
    async with hub.store.reading() as connection:
        found = await states.list_changes(connection, key, since=request.since)
    return [StateEvent(at=one.at, state=one.state, note=one.note) for one in found]


@operation("Audit.list", "GET /audit", Role.ORGANISER)
async def list_audit(hub: HubContext, _caller: Caller, request: AuditQuery) -> Sequence[AuditEntry]:
    """Return entries of the audit log (actor, action, subject, time), newest first."""
    async with hub.store.reading() as connection:
        return await audit.entries(
            connection,
            limit=request.limit,
            before=request.before,
            subject=request.subject,
            actor=request.actor,
        )


class HubDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the hub itself; `blocked` is why nothing can be stored, empty if it can."""

    ready: bool
    blocked: str
    phases: int
    servers: int
    lanes: int


@operation("Hub.status", "GET /hub", Role.ORGANISER)
async def status(hub: HubContext, _caller: Caller, _request: Nothing) -> HubDetail:
    """Return the state of the hub itself."""
    return hub_status(hub)


def hub_status(hub: HubContext) -> HubDetail:
    """Return the state of the hub itself."""
    blocked = hub.store.blocked or ""
    phases = hub.dispatcher.phases.values()
    return HubDetail(
        ready=not blocked,
        blocked=blocked,
        phases=len(phases),
        servers=len({name for running in phases for name in running.servers}),
        lanes=hub.dispatcher.lanes.engine.count,
    )
