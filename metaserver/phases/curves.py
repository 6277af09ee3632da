"""Run curves: the score after each part of the articles, kept until more are answered."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaserver.base.plans import Ranking
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.coverage import Mask
from metaserver.boards.scoreboard import ScoredTask, order_of, score_of
from metaserver.phases.restore import stored_answers
from metaserver.phases.runtime import RunningPhase
from metaserver.store import runs
from metaserver.store.runs import OfflineRun
from metaserver.store.store import Store

POINTS = 24
"""The points in a curve; it is recomputed after as many parts of the articles."""

AT_ONCE = 4
"""How many curves are made at a time."""

Curve: TypeAlias = tuple[tuple[int, float], ...]
"""Numbers of answers with the score for these, in corpus order; the last is the board's."""

_Run: TypeAlias = tuple[int, TaskName, ServerName]


class _Basis(NamedTuple):
    """Everything a curve was made from except the last few answers."""

    part: tuple[float, int]  # when the run was uploaded, and how far it is
    ranking: Ranking
    is_open: bool


class _Kept(NamedTuple):
    task: ScoredTask  # with its gold
    basis: _Basis
    curve: Curve


class _Counted(NamedTuple):
    """The gold articles that count for a run, and all articles' positions in the corpus."""

    mask: Mask
    places: NDArray[np.int64]


class ScoreCurves:
    """The curves for all of a hub's runs, made on demand; nobody waits for another's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[_Run, _Kept] = {}
        self._turns: dict[_Run, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._making = asyncio.Semaphore(AT_ONCE)

    async def curve(self, running: RunningPhase, task: TaskName, run: ServerName) -> Curve:
        """Return a run's curve for a task that has gold."""
        board, key = running.boards.scoreboard, (running.phase.id, task, run)
        scored, is_open = board.scored_task(task), board.coverage.is_open()
        basis = _Basis(self._part(running, run), board.ranking, is_open)
        async with self._turns[key]:
            stored = self._kept.get(key)
            if stored is None or stored.task is not scored or stored.basis != basis:
                async with self._making:
                    counted = _Counted(*board.counted(task, run))
                    answers = await self._answers(running, task, run)
                    arguments = (scored, board.ranking, running.positions, counted, answers)
                    curve = await asyncio.to_thread(_curve, *arguments)
                stored = self._kept[key] = _Kept(scored, basis, curve)
            return stored.curve

    def _part(self, running: RunningPhase, run: ServerName) -> tuple[float, int]:
        offline = running.offline.get(run)
        if offline is not None:
            return offline.created_at, POINTS
        articles_done = running.boards.server_monitor.status(run).done
        return 0.0, articles_done * POINTS // max(1, len(running.corpus))

    async def _answers(
        self, running: RunningPhase, task: TaskName, run: ServerName
    ) -> Sequence[tuple[ArticleId, Any]]:
        """Return a run's answers, in corpus order."""
        offline = running.offline.get(run)
        if offline is not None:
            payloads = await self._uploaded(offline)
        else:
            payloads = []
            key = running.key(running.servers[run])
            async for batch in stored_answers(self._store, running.corpus, run, key):
                payloads += [
                    (answer.article, answer.payloads[task])
                    for answer in batch
                    if task in answer.payloads
                ]
        positions = running.positions
        return sorted(payloads, key=lambda answer: positions.get(answer[0], math.inf))

    async def _uploaded(self, run: OfflineRun) -> list[tuple[ArticleId, Any]]:
        async with self._store.reading() as connection:
            packed = await runs.packed_payloads(connection, run)
        return list((await asyncio.to_thread(runs.unpack_payloads, packed)).items())


def _curve(
    scored: ScoredTask,
    ranking: Ranking,
    positions: Mapping[ArticleId, int],
    counted: _Counted,
    answers: Sequence[tuple[ArticleId, Any]],
) -> Curve:
    """Return a curve's points; slow for a long run.

    A point has the board's score as if the corpus ended with its last answer.
    """
    scorer, column = scored.plugin.scorer(scored.gold), order_of(scored.plugin, ranking)[0]
    ends = {math.ceil(len(answers) * point / POINTS) for point in range(1, POINTS + 1)}
    points = []
    for count, (article, payload) in enumerate(answers, 1):
        scorer.keep(article, scorer.prepare(article, payload))
        if count not in ends:
            continue
        last = math.inf if count == len(answers) else positions.get(article, math.inf)
        score = score_of(scorer, ranking.articles, counted.mask & (counted.places <= last))
        if (value := score.values.get(column)) is not None:
            points.append((count, float(value)))
    return tuple(points)
