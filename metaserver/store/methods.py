"""Queries for method descriptions, one per run that has any."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import MethodDescription
from metaserver.base.records import ServerName
from metaserver.store.tables import methods


async def put(
    connection: AsyncConnection, phase_id: int, run: ServerName, described: MethodDescription
) -> None:
    """Store a run's description, replacing its earlier description; an empty description is
    deleted.
    """
    await delete(connection, phase_id, run)
    if described:
        values = {"phase_id": phase_id, "run": run}
        document = msgspec.json.encode(described)
        await connection.execute(sa.insert(methods).values(**values, description=document))


async def delete(connection: AsyncConnection, phase_id: int, run: ServerName) -> None:
    """Delete a run's description, if any."""
    of_run = (methods.c.phase_id == phase_id, methods.c.run == run)
    await connection.execute(sa.delete(methods).where(*of_run))


async def list_all(
    connection: AsyncConnection, phase_id: int
) -> Mapping[ServerName, MethodDescription]:
    """Return a phase's descriptions by run, ordered by name."""
    query = sa.select(methods.c.run, methods.c.description).where(methods.c.phase_id == phase_id)
    return {
        ServerName(row.run): msgspec.json.decode(row.description, type=MethodDescription)
        for row in await connection.execute(query.order_by(methods.c.run))
    }
