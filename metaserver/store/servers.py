"""Queries for registered annotation servers, and for their lanes' desired states.

A server has its last conformance run for each phase.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.conformance import NO_PHASE
from metaserver.base.lanes import LaneKey
from metaserver.base.records import (
    NO_ACCESS,
    Access,
    AuthKind,
    LaneControl,
    RegisteredServer,
    Server,
    ServerName,
    TaskName,
    TeamName,
    settings_of,
)
from metaserver.base.states import Control, Outcome
from metaserver.store import leases
from metaserver.store.database import insert
from metaserver.store.reader import of_lane
from metaserver.store.tables import attempts, conformance_runs, lanes, phases, servers, teams


def columns(server: Server) -> dict[str, Any]:
    """Return the columns that store a server's values."""
    return {
        "name": server.name,
        **settings_of(server),
        "tasks": list(server.tasks),
        "auth": server.access.auth.value,
        "auth_name": server.access.name,
        "secret": server.access.sealed or None,
        "certificate": server.access.certificate,
    }


async def add(connection: AsyncConnection, server: Server, team_id: int | None) -> int:
    """Store a new server for a team, or for none; return its id. Its name must be unused."""
    row = columns(server) | {"team_id": team_id, "created_at": time.time()}
    return await insert(connection, servers, row)


async def change(connection: AsyncConnection, server_id: int, server: Server) -> None:
    """Change a server; its conformance runs are forgotten, since they no longer apply."""
    await connection.execute(
        sa.update(servers).where(servers.c.id == server_id).values(**columns(server))
    )
    await delete_conformance(connection, server_id)


async def retire(connection: AsyncConnection, server_id: int) -> None:
    """Take a server out of use; its name and its runs stay, its secret does not."""
    values = {"retired_at": time.time(), "secret": None}
    await connection.execute(sa.update(servers).where(servers.c.id == server_id).values(**values))


async def serve_curators(connection: AsyncConnection, server_id: int, agreed: bool) -> None:
    """Store whether curators' requests are sent to a server."""
    await connection.execute(
        sa.update(servers).where(servers.c.id == server_id).values(serves_curators=agreed)
    )


async def has_secrets(connection: AsyncConnection) -> bool:
    """Return whether a server's secret is stored."""
    query = sa.select(servers.c.id).where(servers.c.secret.is_not(None)).limit(1)
    return (await connection.execute(query)).first() is not None


class SealedSecret(NamedTuple):
    """A server's secret, as it is stored: encrypted."""

    id: int
    name: ServerName
    sealed: str


async def sealed_secrets(connection: AsyncConnection) -> Sequence[SealedSecret]:
    """Return the servers' secrets, in the order the servers were registered."""
    query = sa.select(servers.c.id, servers.c.name, servers.c.secret)
    rows = await connection.execute(
        query.where(servers.c.secret.is_not(None)).order_by(servers.c.id)
    )
    return [SealedSecret(*row) for row in rows]


async def set_version(connection: AsyncConnection, name: ServerName, version: str) -> None:
    """Store the version that a server reports."""
    await connection.execute(
        sa.update(servers).where(servers.c.name == name).values(version=version)
    )


async def get(connection: AsyncConnection, name: ServerName) -> RegisteredServer | None:
    """Return a server by name."""
    row = (await connection.execute(_servers().where(servers.c.name == name))).first()
    if row is None:
        return None
    verdicts = await conformance_verdicts(connection, row.id)
    return _registered(row, verdicts.get(row.id, {}))


async def list_all(
    connection: AsyncConnection, team: TeamName | None = None
) -> Sequence[RegisteredServer]:
    """Return all servers, or a team's, in the order they were registered."""
    query = _servers().order_by(servers.c.id)
    if team is not None:
        query = query.where(teams.c.name == team)
    verdicts = await conformance_verdicts(connection)
    return [_registered(row, verdicts.get(row.id, {})) for row in await connection.execute(query)]


async def in_phase(
    connection: AsyncConnection, phase_id: int, name: str | None = None
) -> Sequence[tuple[RegisteredServer, LaneControl]]:
    """Return the servers with a lane in a phase, or one of them, and the lanes' desired states."""
    query: sa.Select[Any] = _servers().add_columns(lanes.c.control, lanes.c.control_note)
    query = query.join(lanes, lanes.c.server_id == servers.c.id)
    query = query.where(lanes.c.phase_id == phase_id).order_by(servers.c.id)
    if name is not None:
        query = query.where(servers.c.name == name)
    rows = (await connection.execute(query)).all()
    only = rows[0].id if name is not None and rows else None
    verdicts = await conformance_verdicts(connection, only)
    return [(_registered(row, verdicts.get(row.id, {})), _control(row)) for row in rows]


def _servers() -> sa.Select[Any]:
    return sa.select(servers, teams.c.name.label("team")).outerjoin(
        teams, teams.c.id == servers.c.team_id
    )


def _registered(row: sa.Row[Any], verdicts: Mapping[str, bytes]) -> RegisteredServer:
    return RegisteredServer(
        id=row.id,
        server=Server(
            name=ServerName(row.name),
            access=_access(row),
            **settings_of(row) | {"tasks": tuple(map(TaskName, row.tasks))},
        ),
        team=None if row.team is None else TeamName(row.team),
        created_at=row.created_at or 0.0,
        retired_at=row.retired_at,
        serves_curators=row.serves_curators,
        has_callback_key=row.callback_key is not None,
        version=row.version,
        verdicts=verdicts,
    )


def _access(row: sa.Row[Any]) -> Access:
    access = Access(
        auth=AuthKind(row.auth),
        name=row.auth_name,
        sealed=row.secret or "",
        certificate=row.certificate,
    )
    return NO_ACCESS if access == NO_ACCESS else access


# -- desired states of lanes -----------------------------------------------------------------------


async def set_control(
    connection: AsyncConnection, key: LaneKey, control: Control, note: str = ""
) -> None:
    """Store the desired state of a lane, creating the lane if there is none."""
    values = {"control": control.value, "control_note": note}
    changed = await connection.execute(sa.update(lanes).where(of_lane(lanes, key)).values(**values))
    if not changed.rowcount:
        row = {"phase_id": key.phase_id, "server_id": key.server_id, "epoch": 0, "cursor": 0}
        await connection.execute(sa.insert(lanes).values(**row, **values))


async def control(connection: AsyncConnection, key: LaneKey) -> LaneControl:
    """Return the desired state of a lane; paused if there is no such lane."""
    query = sa.select(lanes.c.control, lanes.c.control_note).where(of_lane(lanes, key))
    row = (await connection.execute(query)).first()
    if row is None:
        return LaneControl(control=Control.PAUSED, note="")
    return _control(row)


def _control(row: Any) -> LaneControl:
    return LaneControl(control=Control(row.control), note=row.control_note)


async def requeue(
    connection: AsyncConnection, key: LaneKey, positions: Sequence[int] | None
) -> int:
    """Put a lane's given-up articles (None: all) into its queue again; return their number.

    Their attempts stay, but are no longer charged to the team. The lane's epoch rises, which fences
    off the process that works on it: the lane is free, and is taken again if it is due. So does its
    revision: what was computed from its log before is void.
    """
    await leases.lock(connection, of_lane(lanes, key))  # as the writer does, before attempts
    lane = of_lane(attempts, key)
    given_up = sa.select(attempts.c.position).where(
        lane, attempts.c.final, attempts.c.outcome.not_in([Outcome.OK, Outcome.PARTIAL])
    )
    if positions is not None:
        given_up = given_up.where(attempts.c.position.in_(positions))
    positions_given_up = sorted(set((await connection.execute(given_up)).scalars()))
    if positions_given_up:
        await connection.execute(
            sa.update(attempts)
            .where(lane, attempts.c.position.in_(positions_given_up))
            .values(final=False, forgiven=True)
        )
        await connection.execute(
            sa.update(lanes)
            .where(of_lane(lanes, key))
            .values(
                epoch=lanes.c.epoch + 1,
                worker=None,
                revision=lanes.c.revision + 1,
                cursor=sa.case(
                    (lanes.c.cursor > positions_given_up[0], positions_given_up[0]),
                    else_=lanes.c.cursor,
                ),
            )
        )
    return len(positions_given_up)


async def put_conformance(
    connection: AsyncConnection,
    server_id: int,
    phase_id: int | None,
    *,
    verdict: bytes,
    report: bytes,
) -> None:
    """Store a server's run for a phase, replacing any earlier run."""
    await connection.execute(sa.delete(conformance_runs).where(_of(server_id, phase_id)))
    row = {
        "server_id": server_id,
        "phase_id": phase_id,
        "verdict": verdict,
        "report": report,
    }
    await connection.execute(sa.insert(conformance_runs), row)


async def delete_conformance(connection: AsyncConnection, server_id: int) -> None:
    """Delete a server's runs because the server has changed."""
    await connection.execute(
        sa.delete(conformance_runs).where(conformance_runs.c.server_id == server_id)
    )


async def conformance_report(
    connection: AsyncConnection, server_id: int, phase_id: int | None
) -> bytes | None:
    """Return the report of a server's last run for a phase, None before the first."""
    content: bytes | None = await connection.scalar(
        sa.select(conformance_runs.c.report).where(_of(server_id, phase_id))
    )
    return content


async def conformance_verdicts(
    connection: AsyncConnection, server_id: int | None = None
) -> Mapping[int, Mapping[str, bytes]]:
    """Return the verdicts on all servers, or on one: by server, then by phase name."""
    query = sa.select(conformance_runs.c.server_id, phases.c.name, conformance_runs.c.verdict)
    query = query.outerjoin(phases, phases.c.id == conformance_runs.c.phase_id)
    if server_id is not None:
        query = query.where(conformance_runs.c.server_id == server_id)
    by_server: defaultdict[int, dict[str, bytes]] = defaultdict(dict)
    for row in await connection.execute(query):
        by_server[row.server_id][row.name or NO_PHASE] = row.verdict
    return by_server


def _of(server_id: int, phase_id: int | None) -> sa.ColumnElement[bool]:
    same = (
        conformance_runs.c.phase_id.is_(None)
        if phase_id is None
        else conformance_runs.c.phase_id == phase_id
    )
    return sa.and_(conformance_runs.c.server_id == server_id, same)
