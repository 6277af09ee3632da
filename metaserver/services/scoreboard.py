"""The live leaderboards: an answer's article is scored as it lands, means are made when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaserver.records import ArticleId, ServerName, TaskName
from metaserver.services.snapshots import Board, BoardRow
from metaserver.tasks.plugin import Score, Scorer, TaskPlugin


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTask:
    """A task, the gold it is scored on, and the UniProt release its answers are checked by."""

    plugin: TaskPlugin
    gold: Any
    release: str


class Scoreboard:
    """The leaderboards of the tasks that have gold. A run is a server's answers to one task."""

    def __init__(self, tasks: Sequence[ScoredTask]) -> None:
        self._tasks: Mapping[TaskName, ScoredTask] = {task.plugin.name: task for task in tasks}
        self._signatures = {task.plugin.name: _signature(task) for task in tasks}
        self._scorers: dict[tuple[TaskName, ServerName], Scorer] = {}
        self._scores: dict[tuple[TaskName, ServerName], Score] = {}

    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks that are scored."""
        return [task.plugin for task in self._tasks.values()]

    def scored(self) -> Sequence[ScoredTask]:
        """The tasks that are scored, with their gold."""
        return list(self._tasks.values())

    def put(self, server: ServerName, article: ArticleId, payloads: Mapping[TaskName, Any]) -> None:
        """Score one article of a server's runs; tasks without gold are passed over."""
        for name, payload in payloads.items():
            if name not in self._tasks:
                continue
            run = (name, server)
            if run not in self._scorers:
                task = self._tasks[name]
                self._scorers[run] = task.plugin.scorer(task.gold)
            self._scorers[run].put(article, payload)
            self._scores.pop(run, None)

    def board(self, task: TaskName) -> Board:
        """Return a task's leaderboard as of now; only runs that changed are averaged anew."""
        scores = {
            server: self._score(name, server) for name, server in self._scorers if name == task
        }
        plugin = self._tasks[task].plugin
        return Board(task=task, rows=ranked(plugin, scores), signature=self._signatures[task])

    def _score(self, task: TaskName, server: ServerName) -> Score:
        run = (task, server)
        if run not in self._scores:
            self._scores[run] = self._scorers[run].score()
        return self._scores[run]


def _signature(task: ScoredTask) -> str:
    """Return all that must be equal for two boards to be comparable, in one line."""
    scorer = task.plugin.scorer(task.gold).score().detail.get("signature", task.plugin.name)
    return f"{scorer}|release:{task.release}"


def ranked(plugin: TaskPlugin, scores: Mapping[ServerName, Score]) -> Sequence[BoardRow]:
    """Order runs by the task's columns, best first; equal runs share a place, n/a comes last."""

    def key(server: ServerName) -> Sequence[tuple[bool, float]]:
        values = [scores[server].values.get(column) for column in plugin.order]
        return [(value is None, 0.0 if value is None else -value) for value in values]

    rows: list[BoardRow] = []
    before: Sequence[tuple[bool, float]] | None = None
    place: int | None = None
    for count, server in enumerate(sorted(scores, key=lambda server: (key(server), server)), 1):
        if key(server) != before:
            before, place = key(server), count
        unscored = scores[server].values.get(plugin.order[0]) is None
        rows.append(BoardRow(run=server, place=None if unscored else place, score=scores[server]))
    return rows
