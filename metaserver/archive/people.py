"""What an archive has of a phase for people: result files, attempts as a table, boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from metaserver.archive.zips import ZipWriter, pretty
from metaserver.config import Settings
from metaserver.dispatch.boards import read_gold, scored_tasks
from metaserver.dispatch.rescoring import score_answers
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
from metaserver.store.reader import Corpus, Reader, of_lane
from metaserver.store.tables import answers
from metaserver.store.writer import LaneKey
from metaserver.tasks.plugin import Payload, installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary


class PhaseFiles:
    """Writes a phase's files for people; `counted` is called with how many answers were read."""

    def __init__(
        self,
        connection: sa.Connection,
        reader: Reader,
        out: ZipWriter,
        settings: Settings,
        counted: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._out = out
        self._settings = settings
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
        """Write a lane's result files; its answers are read once a task, and never all held."""
        for task in self._tasks(key):
            answered = self._answers(key, task, corpus)
            lines = installed_tasks()[task].result_lines(answered)
            place = f"{folder}/{result_file(name, task)}"
            self._out.write_chunks(place, (line.encode() for line in lines))
        self._counted(self._connection.execute(_count(key)).scalar_one())

    def _tasks(self, key: LaneKey) -> Sequence[TaskName]:
        """Return the tasks that a lane has answers to, in the order of their names."""
        found: set[TaskName] = set()
        for _, members in self._members(key):
            found.update(members)
        return sorted(found & installed_tasks().keys())

    def _answers(
        self, key: LaneKey, task: TaskName, corpus: Corpus
    ) -> Iterator[tuple[ArticleId, Payload]]:
        for position, members in self._members(key):
            if (member := members.get(task)) is not None:
                yield corpus.ids[position], msgspec.json.decode(member)

    def _members(self, key: LaneKey) -> Iterator[tuple[int, Mapping[TaskName, msgspec.Raw]]]:
        query = sa.select(answers.c.position, answers.c.payloads).where(of_lane(answers, key))
        streamed = self._connection.execution_options(yield_per=200)
        for position, packed in streamed.execute(query.order_by(answers.c.position)):
            yield position, msgspec.json.decode(unpack(packed), type=dict[TaskName, msgspec.Raw])

    async def _boards(
        self, row: sa.Row[Any], corpus: Corpus, lanes: Mapping[ServerName, LaneKey]
    ) -> Mapping[str, Any]:
        async with self._reader.reading() as connection:
            gold = await kept_phases.newest_gold(connection, row.id)
            offline = await kept_runs.every(connection, row.id)
        golds = {
            task: read_gold(task, version.content, version.source) for task, version in gold.items()
        }
        board = Scoreboard(scored_tasks(golds, self._vocabulary(row)) if golds else [])

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


def _count(key: LaneKey) -> sa.Select[Any]:
    return sa.select(sa.func.count()).where(of_lane(answers, key))
