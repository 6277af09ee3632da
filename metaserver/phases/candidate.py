"""A candidate board: a task scored on another gold, while the live board goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import RAW, FrozenBoard, Score
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import GoldVersion
from metaserver.base.records import ServerName, TaskName
from metaserver.boards.gold import scored_tasks
from metaserver.boards.scoreboard import Scoreboard
from metaserver.phases.jobs import Progress
from metaserver.phases.live import Landed
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards, phases
from metaserver.store.store import Store
from metaserver.tasks.plugin import TaskPlugin

FEW = 16
"""Most answers that are scored on the event loop at a time."""


class AdoptedGold(NamedTuple):
    """A gold as stored, and the id of the previous gold's frozen board, if any."""

    gold: GoldVersion
    frozen: str | None


GoldAuditWriter: TypeAlias = Callable[[AsyncConnection, AdoptedGold], Awaitable[None]]
"""A function that writes the audit entry of a gold into the transaction that keeps it."""


class ReplacedBoard(NamedTuple):
    """The board for a gold version that is about to be replaced."""

    gold_version: int
    board: FrozenBoard


def overtaken() -> RefusedError:
    """Return the refusal if the gold to replace is no longer the newest."""
    message = "another version was set meanwhile: preview the changes again"
    return RefusedError(Refusal.STATE, message, field="content")


class ScoreChanges(NamedTuple):
    """The runs' scores before and after, each pair for the same answers."""

    before: Mapping[ServerName, Score]
    after: Mapping[ServerName, Score]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A board that has scored all of a phase's answers on another gold, except those in `landed`.

    `replaces` is the compared gold's version, 0 for none.
    """

    running: RunningPhase
    task: TaskName
    replaces: int
    board: Scoreboard
    landed: list[Landed]
    store: Store

    async def compared(self) -> ScoreChanges:
        """Return all runs' scores on the raw board, on the gold in use and on this gold."""
        before: dict[ServerName, Score] = {}
        after: dict[ServerName, Score] = {}
        live = self.running.boards.scoreboard
        for run in self.board.runs(self.task):
            await self._level(run)
            self._score_landed()  # answers that arrive later are in neither of the two
            if (score := await live.average(self.task, RAW, run)) is not None:
                before[run] = score
            if (score := await self.board.average(self.task, RAW, run)) is not None:
                after[run] = score
        return ScoreChanges(before, after)

    async def _level(self, run: ServerName) -> None:
        """Wait until both boards can begin to average a run over the same answers."""
        live = self.running.boards.scoreboard
        while len(self.landed) > FEW or live.averaging(self.task, RAW, run):
            await live.at_rest(self.task, RAW, run)  # the comparisons may be averaging it
            await self.catch_up()

    async def catch_up(self) -> None:
        """Score the answers that arrived meanwhile, except the last few."""
        while len(self.landed) > FEW:
            batch = self.landed[:]
            del self.landed[:]
            await asyncio.to_thread(_put, self.board, batch)

    async def adopt(
        self, content: bytes, source: str, before: ReplacedBoard | None, note: GoldAuditWriter
    ) -> AdoptedGold:
        """Store the gold, the board before and the audit entry at once; then show this board.

        `RefusedError` if another process has stored a version meanwhile.
        """
        phase_id, frozen = self.running.phase.id, None
        document = b"" if before is None else await asyncio.to_thread(before.board.encode)
        async with self.store.writing() as connection:
            versions = await phases.gold_numbers(connection, phase_id)
            if versions.get(self.task, 0) != self.replaces:
                raise overtaken()
            if before is not None:
                frozen = await boards.add(
                    connection,
                    phase_id,
                    self.task,
                    before.gold_version,
                    before.board.reason,
                    at=before.board.at,
                    document=document,
                )
            await phases.set_gold(connection, phase_id, self.task, source, content)
            gold = await phases.gold_version(connection, phase_id, self.task)
            assert gold is not None
            adopted = AdoptedGold(gold, frozen)
            await note(connection, adopted)
        self.show(gold)
        return adopted

    def show(self, gold: GoldVersion) -> None:
        """Show this board in place of the previous board; its gold is stored."""
        self._score_landed()
        self.running.show_gold(gold, self.board)

    def _score_landed(self) -> None:
        _put(self.board, self.landed)
        del self.landed[:]


@asynccontextmanager
async def candidate(
    store: Store, running: RunningPhase, plugin: TaskPlugin, gold: Any, progress: Progress
) -> AsyncIterator[Candidate]:
    """Score a phase's runs on another gold of a task, each answer once.

    Answers that arrive before the context ends are collected. The caller holds `running.scoring`.
    """
    board = await asyncio.to_thread(_board, plugin, gold, running)
    with running.boards.landing(board) as landed:
        replaced = running.gold.get(plugin.name)
        draft = Candidate(
            running=running,
            task=plugin.name,
            replaces=replaced.version if replaced is not None else 0,
            board=board,
            landed=landed,
            store=store,
        )

        async def scored(count: int) -> None:
            progress.advance(count)
            await draft.catch_up()

        progress.begin("scoring answers", await running.answer_count())
        await running.score_answers(board, scored)
        progress.begin("comparing runs")
        yield draft


def _board(plugin: TaskPlugin, gold: Any, running: RunningPhase) -> Scoreboard:
    live, corpus = running.boards.scoreboard, running.corpus.ids
    tasks = scored_tasks({plugin.name: gold}, running.vocabulary, corpus=corpus, part=running.part)
    return Scoreboard(tasks, live.ranking, live.coverage)


def _put(board: Scoreboard, landed: Sequence[Landed]) -> None:
    for answer in landed:
        board.put(*answer)
