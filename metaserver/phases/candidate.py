"""A candidate board: a task scored on another gold, while the live board goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from metaserver.leaderboards.gold import scored_tasks
from metaserver.leaderboards.scoreboard import RAW, Scoreboard
from metaserver.model.phases import GoldVersion
from metaserver.model.records import ServerName, TaskName
from metaserver.phases.jobs import Progress
from metaserver.phases.live import Landed
from metaserver.phases.runtime import RunningPhase
from metaserver.tasks.plugin import Score, TaskPlugin
from metaserver.uniprot import ReleaseVocabulary

FEW = 16
"""Most answers that are scored on the event loop at a time."""


class ScoreChanges(NamedTuple):
    """The scores of runs before and after, each pair of the same answers."""

    before: Mapping[ServerName, Score]
    after: Mapping[ServerName, Score]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A board that has scored all answers of a phase on another gold, except those in `landed`."""

    running: RunningPhase
    task: TaskName
    board: Scoreboard
    landed: list[Landed]

    async def compared(self) -> ScoreChanges:
        """Return the scores of all runs on the raw board, on the gold in use and on this one."""
        before: dict[ServerName, Score] = {}
        after: dict[ServerName, Score] = {}
        live = self.running.boards.scoreboard
        for run in self.board.runs(self.task):
            await self._level(run)
            self._take_in()  # answers that arrive later are in neither of the two
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
            taken = self.landed[:]
            del self.landed[:]
            await asyncio.to_thread(_put, self.board, taken)

    def show(self, gold: GoldVersion) -> None:
        """Show this board in place of the live one; its gold must be stored already."""
        self._take_in()
        self.running.show_gold(gold, self.board)

    def _take_in(self) -> None:
        _put(self.board, self.landed)
        del self.landed[:]


@asynccontextmanager
async def candidate(
    running: RunningPhase, plugin: TaskPlugin, gold: Any, progress: Progress
) -> AsyncIterator[Candidate]:
    """Score a phase's runs on another gold of a task, each answer once.

    Answers that arrive before the context ends are collected. The caller holds `running.scoring`.
    """
    board = await asyncio.to_thread(_board, plugin, gold, running.vocabulary)
    with running.boards.landing(board) as landed:
        made = Candidate(running=running, task=plugin.name, board=board, landed=landed)

        async def scored(count: int) -> None:
            progress.advance(count)
            await made.catch_up()

        progress.begin("scoring answers", await running.answer_count())
        await running.score_answers(board, scored)
        progress.begin("comparing runs")
        yield made


def _board(plugin: TaskPlugin, gold: Any, vocabulary: ReleaseVocabulary) -> Scoreboard:
    return Scoreboard(scored_tasks({plugin.name: gold}, vocabulary))


def _put(board: Scoreboard, landed: Sequence[Landed]) -> None:
    for answer in landed:
        board.put(*answer)
