"""Queries for conformance runs: each server's last run for each phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.conformance import NO_PHASE
from metaserver.store.tables import conformance_runs, phases


async def put(
    connection: AsyncConnection,
    server_id: int,
    phase_id: int | None,
    *,
    verdict: bytes,
    report: bytes,
) -> None:
    """Store a server's run for a phase, replacing any earlier run."""
    await connection.execute(sa.delete(conformance_runs).where(_of(server_id, phase_id)))
    row = {"server_id": server_id, "phase_id": phase_id, "verdict": verdict, "report": report}
    await connection.execute(sa.insert(conformance_runs), row)


async def forget(connection: AsyncConnection, server_id: int) -> None:
    """Delete a server's runs because the server has changed."""
    await connection.execute(
        sa.delete(conformance_runs).where(conformance_runs.c.server_id == server_id)
    )


async def report(connection: AsyncConnection, server_id: int, phase_id: int | None) -> bytes | None:
    """Return the report of a server's last run for a phase, None before the first."""
    content: bytes | None = await connection.scalar(
        sa.select(conformance_runs.c.report).where(_of(server_id, phase_id))
    )
    return content


async def verdicts(
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
