"""Curves of runs: the score after each part of the articles, kept until more are answered."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from metaserver.leaderboards.scoreboard import ScoredTask
from metaserver.model.records import ArticleId, ServerName, TaskName
from metaserver.phases.restore import stored_answers
from metaserver.phases.runtime import RunningPhase
from metaserver.store import runs
from metaserver.store.runs import OfflineRun
from metaserver.store.store import Store

POINTS = 24
"""Points of a curve; it is made again after so many parts of the articles."""

Curve: TypeAlias = tuple[tuple[int, float], ...]
"""Pairs of answers and the score of these, in the order of the corpus."""


class _Kept(NamedTuple):
    task: ScoredTask  # with its gold
    part: tuple[float, int]  # when the run was uploaded, and how far it is
    curve: Curve


class ScoreCurves:
    """The curves of all runs of a hub, made when they are asked for, one at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[tuple[int, TaskName, ServerName], _Kept] = {}
        self._turn = asyncio.Lock()

    async def curve(self, running: RunningPhase, task: TaskName, run: ServerName) -> Curve:
        """Return the curve of a run of a task that has gold."""
        scored, key = running.boards.scoreboard.scored_task(task), (running.phase.id, task, run)
        part = self._part(running, run)
        async with self._turn:
            known = self._kept.get(key)
            if known is None or known.part != part or known.task is not scored:
                answers = await self._answers(running, task, run)
                curve = await asyncio.to_thread(_curve, scored, answers)
                known = self._kept[key] = _Kept(scored, part, curve)
            return known.curve

    def _part(self, running: RunningPhase, run: ServerName) -> tuple[float, int]:
        offline = running.offline.get(run)
        if offline is not None:
            return offline.created_at, POINTS
        done = running.boards.server_monitor.status(run).done
        return 0.0, done * POINTS // max(1, len(running.corpus))

    async def _answers(
        self, running: RunningPhase, task: TaskName, run: ServerName
    ) -> Sequence[tuple[ArticleId, Any]]:
        """Return the answers of a run, in the order of the corpus."""
        offline = running.offline.get(run)
        if offline is not None:
            found = await self._uploaded(offline)
        else:
            found = []
            key = running.key(running.servers[run])
            async for some in stored_answers(self._store, running.corpus, run, key):
                found += [(one.article, one.payloads[task]) for one in some if task in one.payloads]
        positions = running.positions
        return sorted(found, key=lambda answer: positions.get(answer[0], math.inf))

    async def _uploaded(self, run: OfflineRun) -> list[tuple[ArticleId, Any]]:
        async with self._store.reading() as connection:
            packed = await runs.packed_payloads(connection, run)
        return list((await asyncio.to_thread(runs.unpack_payloads, packed)).items())


def _curve(scored: ScoredTask, answers: Sequence[tuple[ArticleId, Any]]) -> Curve:
    """Return the points of a curve; slow for a long run."""
    scorer, column = scored.plugin.scorer(scored.gold), scored.plugin.order[0]
    ends = {math.ceil(len(answers) * point / POINTS) for point in range(1, POINTS + 1)}
    points = []
    for count, (article, payload) in enumerate(answers, 1):
        scorer.keep(article, scorer.prepare(article, payload))
        if count in ends and (value := scorer.score().values.get(column)) is not None:
            points.append((count, float(value)))
    return tuple(points)
