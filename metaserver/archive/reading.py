"""An archive read back into a store that is not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.archive.layout import FORMAT, MANIFEST, TABLES, ArchivedTable, Kept, Names
from metaserver.archive.writing import Manifest
from metaserver.archive.zips import ZipReader
from metaserver.errors import InputError
from metaserver.packing import pack
from metaserver.store.database import open_sqlite, writing
from metaserver.store.tables import hub_keys, phases, servers

BATCH = 500


def import_archive(archive: Path, store: Path) -> Manifest:
    """Read an archive into a new store, which is there when all of it is read and checked.

    Raises `InputError` where there is a store already, and for an archive that is damaged, was
    changed, or comes from a newer hub.
    """
    if store.exists():
        raise InputError(store, "there is a store already; expected a folder without one")
    draft = store.with_name(f".{store.name}.new")
    try:
        _remove(draft)
        with closing(ZipReader(archive)) as reader:
            manifest = asyncio.run(_read(reader, archive, draft))
        draft.replace(store)
    except OSError as error:
        raise InputError(store, f"cannot be written: {error.strerror}") from error
    finally:
        _remove(draft)
    return manifest


def _remove(draft: Path) -> None:
    for suffix in ("", "-wal", "-shm", ".lock"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


async def _read(reader: ZipReader, archive: Path, store: Path) -> Manifest:
    manifest = _manifest(reader, archive)
    async with open_sqlite(store) as engine:
        async with writing(engine, store) as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
            if found != manifest.schema:
                raise InputError(
                    archive, f"is of schema {manifest.schema}; this hub's is {found}: use the other"
                )
            await connection.execute(sa.delete(hub_keys))  # the archive has those of its hub
            for archived in TABLES:
                await _table(reader, archive, archived, connection)
        async with engine.connect() as connection:  # all into one file, before it is renamed
            await connection.exec_driver_sql("COMMIT")
            await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            await connection.exec_driver_sql("BEGIN")
    return manifest


def _manifest(reader: ZipReader, archive: Path) -> Manifest:
    try:
        found = msgspec.json.decode(reader.read(MANIFEST), type=dict[str, Any])
        if found.get("format") != FORMAT:
            message = f"is of format {found.get('format')}; this hub reads {FORMAT}"
            raise InputError(archive, message)
        return msgspec.convert(found, Manifest)
    except msgspec.MsgspecError as error:
        raise InputError(archive, f"{MANIFEST}: {error}") from error


async def _table(
    reader: ZipReader, archive: Path, archived: ArchivedTable, connection: AsyncConnection
) -> None:
    names = await _names(connection)
    for rows in _batches(_rows(reader, archive, archived, names)):
        try:
            await connection.execute(sa.insert(archived.table), rows)
        except (sa.exc.IntegrityError, sa.exc.StatementError) as error:
            raise InputError(archive, f"{archived.name} does not fit: {error.orig}") from error


async def _names(connection: AsyncConnection) -> Names:
    kept_phases = await connection.execute(sa.select(phases.c.id, phases.c.name))
    kept_servers = await connection.execute(sa.select(servers.c.id, servers.c.name))
    return Names(
        phases={row.id: row.name for row in kept_phases},
        servers={row.id: row.name for row in kept_servers},
    )


def _rows(
    reader: ZipReader, archive: Path, archived: ArchivedTable, names: Names
) -> Iterator[dict[str, Any]]:
    known = {column.name for column in archived.table.columns}
    for number, line in enumerate(reader.lines(archived.name), start=1):
        place = f"{archive}/{archived.name}"
        try:
            row = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if odd := sorted(row.keys() - known):
                raise InputError(place, f"unknown column {odd[0]!r}", line=number)
            values = {name: _kept(archived, name, raw) for name, raw in row.items()}
            if archived.file_column is not None:
                content = reader.read(archived.file(values, names))
                values[archived.file_column] = pack(content)
        except (msgspec.MsgspecError, KeyError) as error:
            raise InputError(place, f"not a row of an archive: {error}", line=number) from error
        yield values


def _kept(archived: ArchivedTable, name: str, raw: msgspec.Raw) -> Any:
    """Return a value as the store keeps it."""
    data = bytes(raw)
    kept = archived.kept.get(name)
    if data == b"null" or kept is None:
        return msgspec.json.decode(data)
    msgspec.json.decode(data, type=archived.types.get(name, Any))  # it is used as it is
    return pack(data) if kept is Kept.PACKED_JSON else data


def _batches(rows: Iterator[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
