"""Import of an archive into a new store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.archive.counting import OnProgress, RowCounter, ignore_progress
from metaserver.archive.layout import FORMAT, MANIFEST, TABLES, ArchivedTable, Names
from metaserver.archive.rows import Row, RowDecoder
from metaserver.archive.unzipping import ZipReader
from metaserver.archive.writing import Manifest
from metaserver.files.compression import pack
from metaserver.model.errors import InputError
from metaserver.phases.jobs import Progress
from metaserver.store import logs
from metaserver.store.database import writing
from metaserver.store.keys import DIGESTS, keys_are_whole
from metaserver.store.sqlite import open_sqlite
from metaserver.store.tables import hub_keys, phases, servers

BATCH, BATCH_BYTES = 500, 2**24


def import_archive(
    archive: Path, store: Path, on_progress: OnProgress = ignore_progress
) -> Manifest:
    """Import an archive into a new store, which appears when all of it is read and checked.

    Raises `InputError` where the store exists, and for an archive that is damaged, was changed, or
    comes from a newer hub. `on_progress` is called as by `export_store`.
    """
    if store.exists():
        raise InputError(store, "there is a store already; expected a folder without one")
    draft = store.with_name(f".{store.name}.new")
    try:
        _remove(draft)
        with closing(ZipReader(archive)) as reader:
            counter = RowCounter(Progress(), on_progress)
            manifest = asyncio.run(_read(reader, archive, draft, counter))
        draft.replace(store)
    except OSError as error:
        raise InputError(store, f"cannot be written: {error.strerror}") from error
    finally:
        _remove(draft)
    return manifest


def _remove(draft: Path) -> None:
    for suffix in ("", "-wal", "-shm", ".lock"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


async def _read(reader: ZipReader, archive: Path, store: Path, counted: RowCounter) -> Manifest:
    manifest = _manifest(reader, archive)
    counted.begin("tables", manifest.rows)
    async with open_sqlite(store) as engine:
        async with writing(engine, store) as connection:
            found = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
            if found != manifest.schema:
                raise InputError(
                    archive, f"is of schema {manifest.schema}; this hub's is {found}: use the other"
                )
            await connection.execute(sa.delete(hub_keys))  # the archive has its own hub's keys
            for archived in TABLES:
                await _table(reader, archive, archived, connection, counted)
            if not await logs.are_whole(connection):
                raise InputError(archive, "the attempts of a lane are not numbered from 1 on")
            if not await keys_are_whole(connection):
                message = f"{hub_keys.name} is not one key {DIGESTS!r} of 64 hexadecimal digits"
                raise InputError(archive, message)
        counted.begin("storing")
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
    reader: ZipReader,
    archive: Path,
    archived: ArchivedTable,
    connection: AsyncConnection,
    counted: RowCounter,
) -> None:
    names = await _names(connection)
    if archived.records is None:
        rows = _table_rows(reader, archived, names)
    else:
        groups = (await connection.execute(archived.records.source)).mappings().all()
        rows = _record_rows(reader, archived, names, groups)
    for batch in _batches(rows):
        try:
            await connection.execute(sa.insert(archived.table), batch)
        except (sa.exc.SQLAlchemyError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "orig", None) or error
            raise InputError(archive, f"{archived.table.name} does not fit: {reason}") from error
        counted.count(len(batch))


async def _names(connection: AsyncConnection) -> Names:
    phase_rows = await connection.execute(sa.select(phases.c.id, phases.c.name))
    server_rows = await connection.execute(sa.select(servers.c.id, servers.c.name))
    return Names(
        phases={row.id: row.name for row in phase_rows},
        servers={row.id: row.name for row in server_rows},
    )


def _table_rows(
    reader: ZipReader, archived: ArchivedTable, names: Names
) -> Iterator[tuple[int, Row]]:
    """Yield a table's rows, each with its size, from its lines."""
    entry, decoder = reader.entry(archived.name), RowDecoder(archived)
    for number, line in enumerate(entry.lines(), start=1):
        with _named(entry.place, number):
            values = archived.restored(decoder.row(line))
            size = len(line)
            if archived.file_column is not None:
                values[archived.file_column] = pack(reader.read(archived.file(values, names)))
                size += len(values[archived.file_column])
        yield size, values


def _record_rows(
    reader: ZipReader, archived: ArchivedTable, names: Names, groups: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Row]]:
    """Yield a table's rows, each with its size, from the records of its groups."""
    assert archived.records is not None
    assert archived.record_column is not None
    decoder = RowDecoder(archived)
    for group in groups:
        name = archived.records.name(group, names)
        if name not in reader:
            continue
        entry = reader.entry(name)
        records = enumerate(decoder.records(entry), start=1)
        while True:
            with _named(entry.place, 0):
                if (found := next(records, None)) is None:
                    break
                number, (values, blob) = found
                if any(values[key] != value for key, value in group.items()):
                    raise InputError(entry.place, f"record {number} is of another entry")
                if values[archived.record_column] is not None:
                    raise InputError(entry.place, f"record {number} has its bytes twice")
                values[archived.record_column] = pack(blob)
            yield len(values[archived.record_column]), values


@contextmanager
def _named(place: str, line: int) -> Iterator[None]:
    """Convert errors of an invalid row into an `InputError` with its place."""
    try:
        yield
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError, RecursionError) as error:
        message = f"not a row of an archive: {error}"
        raise InputError(place, message, line=line or None) from error


def _batches(rows: Iterator[tuple[int, Row]]) -> Iterator[Sequence[Row]]:
    """Yield rows in batches of a bounded number and size."""
    batch: list[Row] = []
    size = 0
    for more, row in rows:
        batch.append(row)
        size += more
        if len(batch) == BATCH or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
