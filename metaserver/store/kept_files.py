"""Queries for files made by jobs: in parts, so any of a hub's processes can send them.

A data package that an organiser released is recorded beside its file, at most one per phase.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import asdict, dataclass

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.phases import DataPackage
from metaserver.store.database import read_first
from metaserver.store.tables import data_packages, kept_files, kept_parts


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptFile:
    """A complete file in the store."""

    id: str
    name: str
    size: int
    made_at: float


async def begin(connection: AsyncConnection, file: KeptFile) -> None:
    """Begin to store a file, which is not whole yet."""
    await connection.execute(sa.insert(kept_files).values(**asdict(file), whole=False))


async def add_part(connection: AsyncConnection, key: str, part: int, content: bytes) -> None:
    """Store a file's next part."""
    await connection.execute(sa.insert(kept_parts).values(file_id=key, part=part, content=content))


async def finish(connection: AsyncConnection, file: KeptFile) -> None:
    """Let a complete file replace the file with its name."""
    same = sa.select(kept_files.c.id).where(
        kept_files.c.name == file.name, kept_files.c.id != file.id, kept_files.c.whole
    )
    await _delete(connection, set((await connection.execute(same)).scalars()))
    await connection.execute(
        sa.update(kept_files).where(kept_files.c.id == file.id).values(whole=True)
    )


async def find(connection: AsyncConnection, name: str) -> KeptFile | None:
    """Return the complete file with a name, or None."""
    query = sa.select(kept_files).where(kept_files.c.name == name, kept_files.c.whole)
    return await read_first(connection, query, KeptFile)


async def read_part(connection: AsyncConnection, key: str, part: int) -> bytes | None:
    """Return a file's part; None past its end, or if the file was replaced."""
    query = sa.select(kept_parts.c.content).where(
        kept_parts.c.file_id == key, kept_parts.c.part == part
    )
    content: bytes | None = await connection.scalar(query)
    return content


async def ids(connection: AsyncConnection) -> Set[str]:
    """Return all files' ids."""
    return set((await connection.execute(sa.select(kept_files.c.id))).scalars())


async def sweep(
    connection: AsyncConnection,
    *,
    begun_before: float,
    made_before: float,
    keep_names: Collection[str],
    keep_begin: str,
) -> None:
    """Delete files that were never finished, and old files.

    Files named in `keep_names`, or whose names begin with `keep_begin`, never get old.
    """
    query = sa.select(kept_files.c.id).where(
        sa.or_(
            sa.and_(~kept_files.c.whole, kept_files.c.made_at < begun_before),
            sa.and_(
                kept_files.c.whole,
                kept_files.c.made_at < made_before,
                kept_files.c.name.not_in(keep_names),
                ~kept_files.c.name.startswith(keep_begin, autoescape=True),
            ),
        )
    )
    await _delete(connection, set((await connection.execute(query)).scalars()))


async def keep_only(connection: AsyncConnection, begin: str, names: Collection[str]) -> None:
    """Delete complete files whose names begin so, except some names."""
    query = sa.select(kept_files.c.id).where(
        kept_files.c.name.startswith(begin, autoescape=True),
        kept_files.c.whole,
        kept_files.c.name.not_in(names),
    )
    await _delete(connection, set((await connection.execute(query)).scalars()))


async def drop(connection: AsyncConnection, name: str) -> None:
    """Delete a complete file by name, if it exists."""
    query = sa.select(kept_files.c.id).where(kept_files.c.name == name, kept_files.c.whole)
    await _delete(connection, set((await connection.execute(query)).scalars()))


async def _delete(connection: AsyncConnection, keys: Collection[str]) -> None:
    await connection.execute(sa.delete(kept_parts).where(kept_parts.c.file_id.in_(keys)))
    await connection.execute(sa.delete(kept_files).where(kept_files.c.id.in_(keys)))


async def put_package(connection: AsyncConnection, phase_id: int, package: DataPackage) -> None:
    """Store a phase's package, replacing its last."""
    await delete_package(connection, phase_id)
    row = {"phase_id": phase_id, "package": msgspec.json.encode(package)}
    await connection.execute(sa.insert(data_packages).values(**row))


async def delete_package(connection: AsyncConnection, phase_id: int) -> None:
    """Delete any package of a phase."""
    await connection.execute(sa.delete(data_packages).where(data_packages.c.phase_id == phase_id))


async def data_package(connection: AsyncConnection, phase_id: int) -> DataPackage | None:
    """Return a phase's package, or None."""
    query = sa.select(data_packages.c.package).where(data_packages.c.phase_id == phase_id)
    document = (await connection.execute(query)).scalar_one_or_none()
    return None if document is None else msgspec.json.decode(document, type=DataPackage)


async def package_checksums(connection: AsyncConnection) -> Set[str]:
    """Return all packages' checksums."""
    documents = (await connection.execute(sa.select(data_packages.c.package))).scalars()
    return {msgspec.json.decode(document, type=DataPackage).sha256 for document in documents}
