"""Queries for the data packages that organisers released, at most one per phase."""

from __future__ import annotations

from collections.abc import Set

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.phases import DataPackage
from metaserver.store.tables import data_packages


async def put(connection: AsyncConnection, phase_id: int, package: DataPackage) -> None:
    """Store a phase's package, replacing its last."""
    await delete(connection, phase_id)
    row = {"phase_id": phase_id, "package": msgspec.json.encode(package)}
    await connection.execute(sa.insert(data_packages).values(**row))


async def delete(connection: AsyncConnection, phase_id: int) -> None:
    """Delete any package of a phase."""
    await connection.execute(sa.delete(data_packages).where(data_packages.c.phase_id == phase_id))


async def get(connection: AsyncConnection, phase_id: int) -> DataPackage | None:
    """Return a phase's package, or None."""
    query = sa.select(data_packages.c.package).where(data_packages.c.phase_id == phase_id)
    document = (await connection.execute(query)).scalar_one_or_none()
    return None if document is None else msgspec.json.decode(document, type=DataPackage)


async def checksums(connection: AsyncConnection) -> Set[str]:
    """Return all packages' checksums."""
    documents = (await connection.execute(sa.select(data_packages.c.package))).scalars()
    return {msgspec.json.decode(document, type=DataPackage).sha256 for document in documents}
