"""An archive written from a copy of the store: its tables, and files for people."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from metaserver.archive.layout import (
    FORMAT,
    MANIFEST,
    TABLES,
    ArchivedTable,
    Kept,
    Names,
    of_phases,
)
from metaserver.archive.zips import ZipWriter
from metaserver.config import Settings
from metaserver.dispatch.boards import gold_marks, read_gold, scored_tasks
from metaserver.dispatch.rescoring import score_afresh
from metaserver.errors import InputError
from metaserver.packing import unpack
from metaserver.records import ArticleId, PhaseName, ServerName, TaskName
from metaserver.services.result_files import (
    ATTEMPT_HEAD,
    attempt_line,
    boards_json,
    result_file,
)
from metaserver.services.scoreboard import Scoreboard
from metaserver.store import phases as kept_phases
from metaserver.store import runs as kept_runs
from metaserver.store.copies import copy_store
from metaserver.store.reader import Corpus, Reader, open_reader
from metaserver.store.tables import phases, servers
from metaserver.store.writer import LaneKey
from metaserver.tasks.plugin import Payload, installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive is: its format, the store's schema, its phases, how many entries it has."""

    format: int
    schema: str
    phases: tuple[str, ...]
    whole: bool
    entries: int


def export_store(
    store: Path, out: Path, settings: Settings, only: Sequence[str] | None = None
) -> Manifest:
    """Write all that a store holds (or only some phases) into one zip, while its hub is at work.

    The store is copied first, so that the archive is of one moment; `out` is there when it is
    whole, or stays as it was. Raises `InputError` for unknown phases and missing UniProt releases.
    Slow: call it in a thread.
    """
    draft = out.with_name(f".{out.name}.new")
    try:
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out.parent) as folder:
            copy = Path(folder) / "store.sqlite"
            copy_store(store, copy)
            manifest = asyncio.run(_write(copy, draft, settings, only))
        draft.replace(out)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


async def _write(
    store: Path, out: Path, settings: Settings, only: Sequence[str] | None
) -> Manifest:
    writer = ZipWriter(out)
    try:
        async with open_reader(store) as reader:
            return await _Archive(reader, writer, settings).write(only)
    finally:
        writer.abandon()


class _Archive:
    def __init__(self, reader: Reader, out: ZipWriter, settings: Settings) -> None:
        self._reader = reader
        self._out = out
        self._settings = settings
        self._names = Names(phases={}, servers={})
        self._only: Mapping[int, int] | None = None  # corpus ids by phase id

    async def write(self, only: Sequence[str] | None) -> Manifest:
        rows = {row.name: row for row in await self._rows(sa.select(phases).order_by(phases.c.id))}
        if unknown := sorted(set(only or ()) - rows.keys()):
            raise InputError("--phase", f"{unknown[0]!r} is none of {', '.join(rows) or 'none'}")
        chosen = [row for name, row in rows.items() if only is None or name in only]
        if only is not None:
            self._only = {row.id: row.corpus_id for row in chosen}
        found = await self._rows(sa.select(servers.c.id, servers.c.name))
        self._names = Names(
            phases={row.id: row.name for row in rows.values()},
            servers={row.id: row.name for row in found},
        )
        for archived in TABLES:
            await self._table(archived)
            if archived.file_column is not None:
                await self._files(archived)
        for row in chosen:
            await self._phase(row)
        return await self._manifest([row.name for row in chosen])

    async def _manifest(self, names: Sequence[str]) -> Manifest:
        [schema] = await self._rows(sa.text("SELECT version_num FROM alembic_version"))
        manifest = Manifest(
            format=FORMAT,
            schema=schema[0],
            phases=tuple(names),
            whole=self._only is None,
            entries=self._out.count + 1,
        )
        self._out.write(MANIFEST, _pretty(manifest))
        self._out.finish()
        return manifest

    # -- tables ----------------------------------------------------------------------------------

    async def _table(self, archived: ArchivedTable) -> None:
        columns = [
            column for column in archived.table.columns if column.name != archived.file_column
        ]
        with self._out.entry(archived.name) as out:
            async for row in self._stream(archived, columns):
                out.write(msgspec.json.encode(_plain(archived, row)) + b"\n")

    async def _files(self, archived: ArchivedTable) -> None:
        async for row in self._stream(archived, list(archived.table.columns)):
            name = archived.file(row, self._names)
            self._out.write(name, unpack(row[str(archived.file_column)]))

    async def _stream(
        self, archived: ArchivedTable, columns: Sequence[sa.Column[Any]]
    ) -> AsyncIterator[Mapping[str, Any]]:
        query = sa.select(*columns).order_by(*archived.key)
        if self._only is not None:
            query = query.where(*of_phases(archived, self._only))
        async with self._reader.reading() as connection:
            async for row in (await connection.stream(query)).mappings():
                yield dict(row)

    async def _rows(self, query: Any) -> Sequence[sa.Row[Any]]:
        async with self._reader.reading() as connection:
            return (await connection.execute(query)).all()

    # -- files for people ------------------------------------------------------------------------

    async def _phase(self, row: sa.Row[Any]) -> None:
        folder, corpus = f"phases/{row.name}", await self._reader.corpus(row.corpus_id)
        lanes = {
            lane.server: lane.key
            for lane in await self._reader.lanes()
            if lane.key.phase_id == row.id
        }
        for name, key in lanes.items():
            await self._result_files(f"{folder}/runs", name, key, corpus)
        with self._out.entry(f"{folder}/attempts.tsv") as out:
            out.write(ATTEMPT_HEAD.encode())
            for name, key in lanes.items():
                async for stored in self._reader.attempts(key, name, corpus):
                    out.write(attempt_line(name, stored).encode())
        boards = await self._boards(row, corpus, lanes)
        self._out.write(f"{folder}/leaderboard.json", _pretty(boards))

    async def _result_files(
        self, folder: str, name: ServerName, key: LaneKey, corpus: Corpus
    ) -> None:
        runs: dict[TaskName, list[tuple[ArticleId, Payload]]] = {}
        async for position, payloads in self._reader.answers(key):
            for task, payload in payloads.items():
                runs.setdefault(task, []).append((corpus.ids[position], payload))
        for task, answers in sorted(runs.items()):
            lines = installed_tasks()[task].result_lines(answers)
            self._out.write_chunks(
                f"{folder}/{result_file(name, task)}", (line.encode() for line in lines)
            )

    async def _boards(
        self, row: sa.Row[Any], corpus: Corpus, lanes: Mapping[ServerName, LaneKey]
    ) -> Mapping[str, Any]:
        async with self._reader.reading() as connection:
            gold = await kept_phases.newest_gold(connection, row.id)
            offline = await kept_runs.every(connection, row.id)
        golds = {
            task: read_gold(task, version.content, version.source) for task, version in gold.items()
        }
        marks = gold_marks(gold)
        board = Scoreboard(scored_tasks(golds, self._vocabulary(row), marks) if golds else [])
        await score_afresh(self._reader, [board], corpus, lanes, offline)
        return {
            "phase": PhaseName(row.name),
            "uniprot_release": row.release,
            "articles": len(corpus),
            "gold": {task: version.version for task, version in gold.items()},
            "offline": {run.name: run.team for run in offline},
            "boards": boards_json(board),
        }

    def _vocabulary(self, row: sa.Row[Any]) -> ReleaseVocabulary:
        release = Release.open(self._settings.release_folder(row.release))
        return ReleaseVocabulary(release=release, secondary=self._settings.uniprot.secondary)


def _plain(archived: ArchivedTable, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row as JSON has it."""

    def plain(name: str, value: Any) -> Any:
        kept = archived.kept.get(name)
        if value is None or kept is Kept.LEFT_OUT:
            return None
        if kept is Kept.JSON:
            return msgspec.Raw(value)
        if kept is Kept.PACKED_JSON:
            return msgspec.Raw(unpack(value))
        return value

    return {name: plain(name, value) for name, value in row.items()}


def _pretty(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
