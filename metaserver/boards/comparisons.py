"""Intervals and article levels of viewed boards, computed in a thread beside the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from metaserver.base.boards import ArticleLevel, RunIntervals, Score, View
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import ServerName, TaskName
from metaserver.boards.scoreboard import Scoreboard, order_of, too_short
from metaserver.tasks.plugin import ComparedTask

PAUSE_SECONDS = 5.0
REST = 10.0
"""After a computation the worker rests for this many times as long: a tenth of a core at most."""

_Board: TypeAlias = tuple[TaskName, View, ArticlePolicy]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardComparison:
    """A board's intervals and levels, and the scores they were computed from."""

    scores: Mapping[ServerName, Score]
    intervals: Mapping[str, RunIntervals]
    levels: Sequence[ArticleLevel]

    def of(self, scores: Mapping[ServerName, Score]) -> bool:
        """Return whether these are the same score objects."""
        return are_same(self.scores, scores)


class Comparisons:
    """Each board's newest comparison; a board viewed after a change gets a new comparison.

    `changed` is called when a comparison is ready; `pause` is the shortest time between two, in
    seconds.
    """

    def __init__(
        self, scoreboard: Scoreboard, changed: Callable[[], None], *, pause: float = PAUSE_SECONDS
    ) -> None:
        self._scoreboard = scoreboard
        self._changed = changed
        self._pause = pause
        self._newest: dict[_Board, BoardComparison] = {}
        self._asked: dict[_Board, None] = {}  # in the order of requests
        self._worker: asyncio.Task[None] | None = None

    def newest(
        self,
        task: TaskName,
        view: View,
        policy: ArticlePolicy,
        scores: Mapping[ServerName, Score],
    ) -> BoardComparison | None:
        """Return the newest comparison, and request another if the scores differ.

        Runs without a place are not compared.

        None if not computed yet, or if the task's runs cannot be compared. Must be called on the
        event loop.
        """
        if not isinstance(self._scoreboard.scored_task(task).plugin, ComparedTask):
            return None
        comparison = self._newest.get((task, view, policy))
        compared = self._compared(scores)
        if compared and not (comparison and comparison.of(compared)):
            self._asked[task, view, policy] = None
            if self._worker is None or self._worker.done():
                self._worker = asyncio.create_task(self._work(), name="comparisons")
        return comparison

    def known(self, task: TaskName, view: View, policy: ArticlePolicy) -> BoardComparison | None:
        """Return the newest comparison that there is, and request none."""
        return self._newest.get((task, view, policy))

    def without(self, task: TaskName) -> Comparisons:
        """Return the other tasks' comparisons, after a change in this task's gold."""
        rest = Comparisons(self._scoreboard, self._changed, pause=self._pause)
        comparisons = {
            board: comparison for board, comparison in self._newest.items() if board[0] != task
        }
        rest._newest.update(comparisons)
        return rest

    def _compared(self, scores: Mapping[ServerName, Score]) -> Mapping[ServerName, Score]:
        short = too_short(scores, self._scoreboard.ranking.min_coverage)
        return {
            run: score
            for run, score in scores.items()
            if score.articles_scored and run not in short
        }

    async def make(
        self,
        task: TaskName,
        view: View,
        policy: ArticlePolicy,
        scores: Mapping[ServerName, Score],
    ) -> BoardComparison | None:
        """Compare the runs of a board with these scores; the result is its newest comparison."""
        scored = self._scoreboard.scored_task(task)
        scores = self._compared(scores)
        if not scores or not isinstance(scored.plugin, ComparedTask):
            return None
        ranking = self._scoreboard.ranking
        cards = {str(run): score.card for run, score in scores.items()}
        intervals, levels = await asyncio.to_thread(
            _compare,
            scored.plugin,
            scored.gold_of(view),
            cards,
            order_of(scored.plugin, ranking)[0],
        )
        comparison = BoardComparison(scores=scores, intervals=intervals, levels=levels)
        self._newest[task, view, policy] = comparison
        return comparison

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._asked:
            task, view, policy = board = next(iter(self._asked))
            del self._asked[board]
            start = clock()
            try:
                scores = await self._scoreboard.averaged(task, view, policy)
                await self.make(task, view, policy, scores)
            except Exception:  # the boards are shown without intervals
                log.exception("cannot compare the runs of %s (%s)", task, view)
            self._changed()
            await asyncio.sleep(max(self._pause, REST * (clock() - start)))


def are_same(scores: Mapping[ServerName, Score], newer: Mapping[ServerName, Score]) -> bool:
    """Return whether the score objects are the same; the scoreboard reuses unchanged scores."""
    return scores.keys() == newer.keys() and all(
        scores[run] is score for run, score in newer.items()
    )


def _compare(
    plugin: ComparedTask, gold: Any, cards: Mapping[str, Any], measure: str
) -> tuple[Mapping[str, RunIntervals], Sequence[ArticleLevel]]:
    comparable = measure in plugin.resampled
    intervals = plugin.intervals(gold, cards, measure) if comparable else {}
    return intervals, plugin.levels(gold, cards)
