"""Export of an archive from a copy of the store: its tables, texts and raw answers."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from metaserver.archive.counting import OnProgress, RowCounter, ignore_progress
from metaserver.archive.layout import (
    FORMAT,
    MANIFEST,
    TABLES,
    ArchivedTable,
    Names,
    of_phases,
)
from metaserver.archive.people import PhaseFiles
from metaserver.archive.rows import RowEncoder
from metaserver.archive.zips import ZipWriter, pretty
from metaserver.config import Settings
from metaserver.files.compression import unpack
from metaserver.model.errors import InputError
from metaserver.phases.jobs import Progress
from metaserver.store.copies import copy_store
from metaserver.store.place import StorePlace
from metaserver.store.reader import open_reader
from metaserver.store.tables import answers, attempts, phases, servers

ROWS = 200
"""The number of rows read at a time."""
READ_AGAIN = (attempts, answers)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of an archive: its format, the store's schema, its phases and entries.

    `rows` is the number of rows of its tables; 0 in archives from before this field.
    """

    format: int
    schema: str
    phases: tuple[str, ...]
    whole: bool
    entries: int
    rows: Annotated[int, Meta(ge=0)] = 0


def export_store(
    store: StorePlace,
    out: Path,
    settings: Settings,
    only: Sequence[str] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Manifest:
    """Write all data of a store (or of some phases) into one zip, also while its hub is at work.

    The store is copied first, so that the archive is of one moment; `out` is replaced when the
    archive is complete. Except for the boards, memory does not grow with the answers. Raises
    `InputError` for unknown phases and missing UniProt releases. Slow: call it in a thread.
    """
    draft = out.with_name(f".{out.name}.new")
    counted = RowCounter(Progress(), on_progress)
    try:
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out.parent) as folder:
            copy = Path(folder) / "store.sqlite"
            counted.begin("copying the store")
            copy_store(store, copy)
            manifest = asyncio.run(_write(copy, draft, settings, only, counted))
        draft.replace(out)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


async def _write(
    store: Path, out: Path, settings: Settings, only: Sequence[str] | None, counted: RowCounter
) -> Manifest:
    """Write the zip; this function has an event loop of its own, so it may block."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(store)), hide_parameters=True)
    writer = ZipWriter(out)
    try:
        async with open_reader(store) as reader:
            with engine.connect() as connection:
                archive = _Archive(connection, writer, only, counted)
                archive.write_tables()
                chosen = archive.chosen
                counted.begin("runs and boards", archive.read_again())
                files = PhaseFiles(
                    connection, reader, writer, settings, store.parent, counted.count
                )
                for row in chosen:
                    await files.write(row)
                return archive.finish()
    finally:
        writer.abandon()
        engine.dispose()


class _Archive:
    def __init__(
        self,
        connection: sa.Connection,
        out: ZipWriter,
        only: Sequence[str] | None,
        counted: RowCounter,
    ) -> None:
        self._connection = connection.execution_options(yield_per=ROWS)
        self._out = out
        self._counted = counted
        rows = {row.name: row for row in self._connection.execute(sa.select(phases))}
        if unknown := sorted(set(only or ()) - rows.keys()):
            raise InputError("--phase", f"{unknown[0]!r} is none of {', '.join(rows) or 'none'}")
        self.chosen = sorted(
            (row for name, row in rows.items() if only is None or name in only),
            key=lambda row: int(row.id),
        )
        self._only = None if only is None else {row.id: row.corpus_id for row in self.chosen}
        self._total = sum(self._count(archived) for archived in TABLES)
        found = self._connection.execute(sa.select(servers.c.id, servers.c.name))
        self._names = Names(
            phases={row.id: row.name for row in rows.values()},
            servers={row.id: row.name for row in found},
        )

    def write_tables(self) -> None:
        """Write all tables, with their files and records."""
        self._counted.begin("tables", self._total)
        for archived in TABLES:
            if archived.records is not None:
                self._records(archived)
            else:
                self._table(archived)

    def read_again(self) -> int:
        """Return the number of rows that are read again for the files of phases."""
        return sum(self._count(archived) for archived in TABLES if archived.table in READ_AGAIN)

    def finish(self) -> Manifest:
        """Write the manifest, and close the archive."""
        schema = self._connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        manifest = Manifest(
            format=FORMAT,
            schema=str(schema),
            phases=tuple(row.name for row in self.chosen),
            whole=self._only is None,
            entries=self._out.count + 1,
            rows=self._total,
        )
        self._out.write(MANIFEST, pretty(manifest))
        self._out.finish()
        return manifest

    def _count(self, archived: ArchivedTable) -> int:
        query = sa.select(sa.func.count()).select_from(archived.table)
        return int(self._connection.execute(query.where(*self._conditions(archived))).scalar_one())

    def _table(self, archived: ArchivedTable) -> None:
        """Write a table's rows, then the files that belong to them."""
        encoder = RowEncoder(archived)
        with self._out.entry(archived.name) as out:
            for rows in self._rows(archived, encoder.columns):
                out.write(encoder.lines(rows))
                self._counted.count(len(rows))
        if (blob := archived.file_column) is not None:
            for rows in self._rows(archived, list(archived.table.columns)):
                for row in map(sa.Row._asdict, rows):
                    self._out.write(archived.file(row, self._names), unpack(row[blob]))

    def _records(self, archived: ArchivedTable) -> None:
        """Write a table as records, with one entry for each group that has rows."""
        assert archived.records is not None
        encoder = RowEncoder(archived)
        groups = [dict(row) for row in self._connection.execute(archived.records.source).mappings()]
        for group in groups:
            keys = [archived.table.c[name] == value for name, value in group.items()]
            found = self._rows(archived, encoder.columns, *keys)
            if (first := next(found, None)) is None:
                continue
            with self._out.entry(archived.records.name(group, self._names)) as out:
                for rows in itertools.chain([first], found):
                    for row in rows:
                        out.write(encoder.record(row))
                    self._counted.count(len(rows))

    def _rows(
        self,
        archived: ArchivedTable,
        columns: Sequence[sa.Column[Any]],
        *conditions: sa.ColumnElement[bool],
    ) -> Iterator[Sequence[sa.Row[Any]]]:
        """Yield a table's rows by key, `ROWS` at a time."""
        query = sa.select(*columns).where(*self._conditions(archived), *conditions)
        yield from self._connection.execute(query.order_by(*archived.key)).partitions()

    def _conditions(self, archived: ArchivedTable) -> Sequence[Any]:
        own = () if archived.where is None else (archived.where,)
        return own if self._only is None else (*own, *of_phases(archived, self._only))
