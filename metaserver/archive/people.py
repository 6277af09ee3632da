"""Files of a phase for readers of an archive: result files, attempts as a table, boards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import sqlalchemy as sa

from metaserver.archive.zips import ZipWriter, pretty
from metaserver.config import Settings
from metaserver.files.compression import unpack
from metaserver.leaderboards.coverage import Coverage
from metaserver.leaderboards.gold import read_gold, scored_tasks
from metaserver.leaderboards.public_part import PublicPart
from metaserver.leaderboards.rescoring import score_answers
from metaserver.leaderboards.result_files import (
    ATTEMPT_HEAD,
    attempt_line,
    boards_json,
    result_file,
)
from metaserver.leaderboards.scoreboard import Scoreboard
from metaserver.model.lanes import Corpus, LaneKey, StoredAttempt
from metaserver.model.phases import GoldVersion
from metaserver.model.plans import PhasePlan
from metaserver.model.records import ArticleId, PhaseName, ServerName, TaskName
from metaserver.model.states import OPEN_STATES, PhaseState
from metaserver.phases.restore import gold_marks, vocabulary_of
from metaserver.store import phases as phase_queries
from metaserver.store import runs as run_queries
from metaserver.store.keys import digest_key
from metaserver.store.reader import ReadStore, of_lane, read_attempt
from metaserver.store.tables import answers, attempts
from metaserver.tasks.plugin import Payload, answered_tasks
from metaserver.uniprot import ReleaseVocabulary


class PhaseFiles:
    """The writer of a phase's files for readers.

    `connection` streams its results. Temporary files are in `folder`; `counted` is called with the
    number of answers and attempts read.
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
        async with self._reader.reading() as connection:
            gold = await phase_queries.newest_gold(connection, row.id)
            offline = await run_queries.list_all(connection, row.id)
            secret = await digest_key(connection)
        plan = msgspec.json.decode(row.plan, type=PhasePlan)
        part = PublicPart.of(secret, row.id, plan)
        coverage = self._coverage(row, lanes, corpus)
        board = self._empty_board(row, plan, gold, corpus, part, coverage)
        for name, key in lanes.items():
            self._result_files(f"{folder}/runs", name, key, corpus, board)
        self._out.write_lines(f"{folder}/attempts.tsv", self._attempts(lanes, corpus))
        await score_answers(self._reader, board, corpus, {}, offline, self._scored)
        boards = {
            "phase": PhaseName(row.name),
            "uniprot_release": row.release,
            "articles": len(corpus),
            "gold": {task: version.version for task, version in gold.items()},
            "offline": {run.name: run.team for run in offline},
            "boards": boards_json(board),
        }
        self._out.write(f"{folder}/leaderboard.json", pretty(boards))

    def _empty_board(
        self,
        row: sa.Row[Any],
        plan: PhasePlan,
        gold: Mapping[TaskName, GoldVersion],
        corpus: Corpus,
        part: PublicPart | None,
        coverage: Coverage,
    ) -> Scoreboard:
        golds = {
            task: read_gold(task, version.content, version.source) for task, version in gold.items()
        }
        marks = gold_marks(gold)
        if not golds:
            return Scoreboard([], plan.ranking)
        scored = scored_tasks(golds, self._vocabulary(row, plan), marks, corpus.ids, part)
        return Scoreboard(scored, plan.ranking, coverage)

    def _coverage(
        self, row: sa.Row[Any], lanes: Mapping[ServerName, LaneKey], corpus: Corpus
    ) -> Coverage:
        """Return which articles are over for each run: all, unless the phase is open."""
        is_open = row.standing is not None and PhaseState(row.standing) in OPEN_STATES
        over: dict[ServerName, bytes] = {}
        for name, key in lanes.items() if is_open else ():
            bits = np.zeros(len(corpus), dtype=bool)
            query = sa.select(attempts.c.position).where(of_lane(attempts, key), attempts.c.final)
            bits[list(self._connection.execute(query).scalars())] = True
            over[name] = np.packbits(bits, bitorder="little").tobytes()
        return Coverage(
            positions={article: position for position, article in enumerate(corpus.ids)},
            over=over.get,
            is_open=lambda: is_open,
        )

    def _result_files(
        self, folder: str, name: ServerName, key: LaneKey, corpus: Corpus, board: Scoreboard
    ) -> None:
        """Write a lane's result files, and score its answers.

        They are read once, and never all in memory.
        """
        scored = {task.name for task in board.tasks()}
        with ExitStack() as stack:
            spools: dict[TaskName, IO[bytes]] = {}
            for position, members in self._members(key):
                for task in members.keys() & answered_tasks().keys():
                    if task not in spools:
                        file = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
                        spools[task] = file
                    spools[task].write(b"%d %b\n" % (position, bytes(members[task])))
                payloads = {
                    task: msgspec.json.decode(member)
                    for task, member in members.items()
                    if task in scored
                }
                board.put(name, corpus.ids[position], payloads)
                self._counted(1)
            for task, spool in sorted(spools.items()):
                lines = answered_tasks()[task].result_lines(_spooled(spool, corpus))
                self._out.write_lines(f"{folder}/{result_file(name, task)}", lines)

    def _members(self, key: LaneKey) -> Iterator[tuple[int, Mapping[TaskName, msgspec.Raw]]]:
        decoder = msgspec.json.Decoder(dict[TaskName, msgspec.Raw])
        query = sa.select(answers.c.position, answers.c.payloads).where(of_lane(answers, key))
        for position, packed in self._connection.execute(query.order_by(answers.c.position)):
            yield position, decoder.decode(unpack(packed))

    def _attempts(self, lanes: Mapping[ServerName, LaneKey], corpus: Corpus) -> Iterator[str]:
        """Yield the lines of the table of attempts."""
        yield ATTEMPT_HEAD
        for name, key in lanes.items():
            query = sa.select(attempts).where(of_lane(attempts, key))
            began = query.order_by(attempts.c.started_at, attempts.c.position, attempts.c.number)
            for row in self._connection.execute(began):
                attempt = read_attempt(row, name, corpus)
                yield attempt_line(name, StoredAttempt(row.position, attempt, row.final))
                self._counted(1)

    async def _scored(self, answers: int) -> None:
        self._counted(answers)

    def _vocabulary(self, row: sa.Row[Any], plan: PhasePlan) -> ReleaseVocabulary:
        settings = self._settings.of_phase(plan)
        return vocabulary_of(settings, row.release)


def _spooled(spool: IO[bytes], corpus: Corpus) -> Iterator[tuple[ArticleId, Payload]]:
    """Yield the answers to one task from a file with one a line."""
    spool.seek(0)
    for line in spool:
        position, _, payload = line.partition(b" ")
        yield corpus.ids[int(position)], msgspec.json.decode(payload)
