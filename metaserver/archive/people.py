"""Files of a phase for readers of an archive: result files, attempts as a table, boards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec
import sqlalchemy as sa

from metaserver.archive.zips import ZipWriter, pretty
from metaserver.config import Settings
from metaserver.files.compression import unpack
from metaserver.leaderboards.gold import read_gold, scored_tasks
from metaserver.leaderboards.rescoring import score_answers
from metaserver.leaderboards.result_files import (
    ATTEMPT_HEAD,
    attempt_line,
    boards_json,
    result_file,
)
from metaserver.leaderboards.scoreboard import Scoreboard
from metaserver.model.lanes import Corpus, LaneKey
from metaserver.model.records import ArticleId, PhaseName, ServerName, TaskName
from metaserver.phases.restore import gold_marks
from metaserver.store import phases as phase_queries
from metaserver.store import runs as run_queries
from metaserver.store.reader import ReadStore, of_lane
from metaserver.store.tables import answers
from metaserver.tasks.plugin import Payload, installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary


class PhaseFiles:
    """The writer of a phase's files for readers.

    Temporary files are in `folder`; `counted` is called with the number of answers read.
    """

    def __init__(
        self,
        connection: sa.Connection,
        reader: ReadStore,
        out: ZipWriter,
        settings: Settings,
        folder: Path,
        counted: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._out = out
        self._settings = settings
        self._folder = folder
        self._counted = counted

    async def write(self, row: sa.Row[Any]) -> None:
        """Write the files of the phase of this row."""
        folder, corpus = f"phases/{row.name}", await self._reader.corpus(row.corpus_id)
        lanes = {
            lane.server: lane.key
            for lane in await self._reader.lanes()
            if lane.key.phase_id == row.id
        }
        for name, key in lanes.items():
            self._result_files(f"{folder}/runs", name, key, corpus)
        with self._out.entry(f"{folder}/attempts.tsv") as out:
            out.write(ATTEMPT_HEAD.encode())
            for name, key in lanes.items():
                async for stored in self._reader.attempts(key, name, corpus):
                    out.write(attempt_line(name, stored).encode())
        boards = await self._boards(row, corpus, lanes)
        self._out.write(f"{folder}/leaderboard.json", pretty(boards))

    def _result_files(self, folder: str, name: ServerName, key: LaneKey, corpus: Corpus) -> None:
        """Write a lane's result files; its answers are read once, and never all in memory."""
        with ExitStack() as stack:
            spools: dict[TaskName, IO[bytes]] = {}
            for position, members in self._members(key):
                for task in members.keys() & installed_tasks().keys():
                    if task not in spools:
                        file = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
                        spools[task] = file
                    spools[task].write(b"%d %b\n" % (position, bytes(members[task])))
                self._counted(1)
            for task, spool in sorted(spools.items()):
                lines = installed_tasks()[task].result_lines(_spooled(spool, corpus))
                place = f"{folder}/{result_file(name, task)}"
                self._out.write_chunks(place, (line.encode() for line in lines))

    def _members(self, key: LaneKey) -> Iterator[tuple[int, Mapping[TaskName, msgspec.Raw]]]:
        query = sa.select(answers.c.position, answers.c.payloads).where(of_lane(answers, key))
        streamed = self._connection.execution_options(yield_per=200)
        for position, packed in streamed.execute(query.order_by(answers.c.position)):
            yield position, msgspec.json.decode(unpack(packed), type=dict[TaskName, msgspec.Raw])

    async def _boards(
        self, row: sa.Row[Any], corpus: Corpus, lanes: Mapping[ServerName, LaneKey]
    ) -> Mapping[str, Any]:
        async with self._reader.reading() as connection:
            gold = await phase_queries.newest_gold(connection, row.id)
            offline = await run_queries.list_all(connection, row.id)
        golds = {
            task: read_gold(task, version.content, version.source) for task, version in gold.items()
        }
        marks = gold_marks(gold)
        board = Scoreboard(scored_tasks(golds, self._vocabulary(row), marks) if golds else [])

        async def scored(count: int) -> None:
            self._counted(count)

        await score_answers(self._reader, board, corpus, lanes, offline, scored)
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


def _spooled(spool: IO[bytes], corpus: Corpus) -> Iterator[tuple[ArticleId, Payload]]:
    """Yield the answers to one task from a file with one a line."""
    spool.seek(0)
    for line in spool:
        position, _, payload = line.partition(b" ")
        yield corpus.ids[int(position)], msgspec.json.decode(payload)
