"""The live leaderboards: an article is scored when its answer arrives, means when requested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from metaserver.model.boards import RAW, Board, BoardRow, View
from metaserver.model.records import ArticleId, ServerName, TaskName
from metaserver.model.scores import Score
from metaserver.tasks.plugin import KeptScorer, Scorer, TaskPlugin


class GoldMark(NamedTuple):
    """The mark of a gold on boards: its version, and for organisers its keyed digest."""

    version: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTask:
    """A task, the gold it is scored on, and the UniProt release its answers are checked by.

    `mark` names the gold where it is stored. `views` creates a scorer for each view that is scored
    beside the raw one.
    """

    plugin: TaskPlugin
    gold: Any
    release: str
    mark: GoldMark | None = None
    views: Mapping[View, Callable[[], Scorer]] = field(default_factory=dict)

    def scorers(self) -> Mapping[View, Callable[[], Scorer]]:
        """Return the factories of empty scorers, by view."""
        return {RAW: partial(self.plugin.scorer, self.gold), **self.views}


@dataclass(frozen=True, eq=False, slots=True)
class BoardKey:
    """The key of one scoring of a task: on one gold, in one view. Two boards never share one.

    `empty` is a scorer that stays empty: it prepares the answers of all runs.
    """

    make: Callable[[], Scorer]
    empty: Scorer

    @classmethod
    def of(cls, make: Callable[[], Scorer]) -> BoardKey:
        """Return the key for a factory of scorers."""
        return cls(make, make())


Prepared: TypeAlias = dict[BoardKey, Any]
"""The prepared values of one answer, by board: results of `Scorer.prepare`."""
NOTHING: Mapping[BoardKey, Any] = MappingProxyType({})


class ScorerDump(NamedTuple):
    """The state of a run's scorer in one view, to be stored in the hub's store and nowhere else.

    `data` says which hits are correct, and is empty where the run has no answers.
    `fingerprint` names all that must be equal to continue from it: gold, release and scorer.
    """

    task: TaskName
    view: View
    fingerprint: str
    data: bytes


class _Run(NamedTuple):
    """A server's answers to one task, in one view."""

    task: TaskName
    view: View
    server: ServerName


@dataclass(kw_only=True, slots=True, eq=False)
class _Averaging:
    """A run's mean that a thread is computing, and the answers that arrived meanwhile."""

    waiting: list[tuple[ArticleId, Any]] = field(default_factory=list)
    made: asyncio.Task[Score] | None = None


class Scoreboard:
    """The leaderboards of the tasks that have gold. A run is a server's answers to one task."""

    def __init__(self, tasks: Sequence[ScoredTask]) -> None:
        self._tasks: Mapping[TaskName, ScoredTask] = {task.plugin.name: task for task in tasks}
        self._keys: Mapping[TaskName, Mapping[View, BoardKey]] = {
            task.plugin.name: {view: BoardKey.of(make) for view, make in task.scorers().items()}
            for task in tasks
        }
        self._signatures = {
            (name, view): key.empty.score().detail.get("signature", name)
            for name, keys in self._keys.items()
            for view, key in keys.items()
        }
        self._scorers: dict[_Run, Scorer] = {}
        self._scores: dict[_Run, Score] = {}
        self._averaging: dict[_Run, _Averaging] = {}

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that are scored."""
        return [task.plugin for task in self._tasks.values()]

    def scored(self) -> Sequence[ScoredTask]:
        """Return the tasks that are scored, with their gold."""
        return list(self._tasks.values())

    def scored_task(self, task: TaskName) -> ScoredTask:
        """Return one of the tasks that are scored, with its gold."""
        return self._tasks[task]

    def views(self, task: TaskName) -> Sequence[View]:
        """Return the views that a task is scored in, the raw one first."""
        return list(self._keys[task])

    def count(self, task: TaskName) -> int:
        """Return the number of runs of a task."""
        return sum((run.task, run.view) == (task, RAW) for run in self._scorers)

    def is_prepared(
        self, payloads: Mapping[TaskName, Any], prepared: Mapping[BoardKey, Any]
    ) -> bool:
        """Return whether `put` would be quick: the answer is prepared for all of this board."""
        return all(key in prepared for _, _, key in self._keys_of(payloads))

    def prepare(
        self, article: ArticleId, payloads: Mapping[TaskName, Any], prepared: Prepared
    ) -> None:
        """Add the missing entries to `prepared`. May be called in a thread."""
        for name, _, key in self._keys_of(payloads):
            if key not in prepared:
                prepared[key] = key.empty.prepare(article, payloads[name])

    def put(
        self,
        server: ServerName,
        article: ArticleId,
        payloads: Mapping[TaskName, Any],
        prepared: Mapping[BoardKey, Any] = NOTHING,
    ) -> None:
        """Score one article of a server's runs; tasks without gold are passed over.

        Missing preparations are made now.
        """
        for name, view, key in self._keys_of(payloads):
            kept = prepared[key] if key in prepared else key.empty.prepare(article, payloads[name])
            run = _Run(name, view, server)
            if run in self._averaging:
                self._averaging[run].waiting.append((article, kept))
                continue
            if run not in self._scorers:
                self._scorers[run] = key.make()
            self._keep(run, article, kept)

    def _keys_of(self, payloads: Iterable[TaskName]) -> Iterator[tuple[TaskName, View, BoardKey]]:
        keys = self._keys  # one mapping throughout: a thread may be here while it is replaced
        for name in payloads:
            for view, key in keys.get(name, {}).items():
                yield name, view, key

    def _keep(self, run: _Run, article: ArticleId, prepared: Any) -> None:
        self._scorers[run].keep(article, prepared)
        self._scores.pop(run, None)

    def drop(self, server: ServerName) -> None:
        """Forget a server's runs."""
        self._drop([run for run in self._scorers if run.server == server])

    def _drop(self, runs: Iterable[_Run]) -> None:
        for run in runs:
            del self._scorers[run]
            self._scores.pop(run, None)
            self._averaging.pop(run, None)

    def dump(self, server: ServerName) -> Sequence[ScorerDump]:
        """Return the states of a server's scorers, with the answers that wait for a mean.

        Runs of tasks whose scorers cannot be kept, or whose gold has no mark, are left out. The
        call takes about a millisecond for 10,000 answers.
        """
        return [
            ScorerDump(name, view, fingerprint, self._dumped(_Run(name, view, server)))
            for name, keys in self._keys.items()
            for view, key in keys.items()
            if isinstance(key.empty, KeptScorer) and (fingerprint := self._fingerprint(name, view))
        ]

    def _dumped(self, run: _Run) -> bytes:
        scorer = self._scorers.get(run)
        if scorer is None:
            return b""
        assert isinstance(scorer, KeptScorer)
        if not (begun := self._averaging.get(run)) or not begun.waiting:
            return scorer.dump()
        complete = self._keys[run.task][run.view].make()
        assert isinstance(complete, KeptScorer)
        complete.load(scorer.dump())
        for article, prepared in begun.waiting:
            complete.keep(article, prepared)
        return complete.dump()

    def load(self, server: ServerName, dumps: Iterable[ScorerDump]) -> Mapping[TaskName, str]:
        """Replace a server's runs by dumped ones; return the tasks to be scored from the store.

        Each of those has the reason why its dumps cannot be used, and no run of the server.
        """
        self.drop(server)
        given = {(dump.task, dump.view): dump for dump in dumps}
        refused: dict[TaskName, str] = {}
        for name, keys in self._keys.items():
            loaded: dict[_Run, Scorer] = {}
            try:
                for view, key in keys.items():
                    if (
                        scorer := self._loaded(name, view, key, given.get((name, view)))
                    ) is not None:
                        loaded[_Run(name, view, server)] = scorer
            except ValueError as error:
                refused[name] = str(error)
            else:
                self._scorers |= loaded
        return refused

    def _loaded(
        self, task: TaskName, view: View, key: BoardKey, dump: ScorerDump | None
    ) -> Scorer | None:
        """Return the scorer of a dump, None for a run without answers; raises `ValueError`."""
        scorer = key.make()
        if not isinstance(scorer, KeptScorer):
            raise ValueError("its scorer cannot be kept")
        if dump is None:
            raise ValueError(f"no dump in the view {view}")
        if dump.fingerprint != self._fingerprint(task, view):
            raise ValueError(f"the dump in the view {view} is of another gold, release or scorer")
        if not dump.data:
            return None
        scorer.load(dump.data)
        return scorer

    def _fingerprint(self, task: TaskName, view: View) -> str:
        """Return all that a dump depends on besides the answers; empty where it is unknown."""
        scored = self._tasks[task]
        if scored.mark is None:
            return ""
        signature = _signature(scored, self._signatures[task, view])
        return f"{signature}|mark:{scored.mark.digest}|board:{view}"

    def regrade(self, other: Scoreboard) -> None:
        """Replace tasks, with their gold and runs, by those of another board."""
        self._drop([run for run in self._scorers if run.task in other._tasks])
        merged = {**self._tasks, **other._tasks}
        self._tasks = {name: merged[name] for name in sorted(merged)}
        self._keys = {**self._keys, **other._keys}
        self._signatures = {**self._signatures, **other._signatures}
        self._scorers |= other._scorers
        self._scores |= other._scores

    def mark(self, task: TaskName, mark: GoldMark) -> None:
        """Set the mark of a task's gold, once it is stored."""
        self._tasks = {**self._tasks, task: replace(self._tasks[task], mark=mark)}

    def adopt(self, other: Scoreboard, server: ServerName) -> None:
        """Replace a server's runs by those of a board of the same tasks."""
        self.drop(server)
        self._scorers |= {run: one for run, one in other._scorers.items() if run.server == server}
        self._scores |= {run: one for run, one in other._scores.items() if run.server == server}

    def board(self, task: TaskName, view: View = RAW) -> Board:
        """Return a task's leaderboard as of now."""
        return self.board_of(task, view, self.scores(task, view))

    def board_of(self, task: TaskName, view: View, scores: Mapping[ServerName, Score]) -> Board:
        """Return a task's leaderboard with these scores."""
        scored = self._tasks[task]
        return Board(
            task=task,
            rows=ranked(scored.plugin, scores),
            signature=_signature(scored, self._signatures[task, view]),
            gold=scored.mark.digest if scored.mark else "",
            view=view,
        )

    def runs(self, task: TaskName, view: View = RAW) -> Sequence[ServerName]:
        """Return the names of the runs of a task."""
        return [run.server for run in self._scorers if (run.task, run.view) == (task, view)]

    def scores(self, task: TaskName, view: View = RAW) -> Mapping[ServerName, Score]:
        """Return the scores of a task's runs; only runs that changed are averaged again."""
        return {name: self._score(_Run(task, view, name)) for name in self.runs(task, view)}

    async def averaged(self, task: TaskName, view: View = RAW) -> Mapping[ServerName, Score]:
        """Return the scores of a task's runs, averaged one by one in threads (see `average`)."""
        found = {name: await self.average(task, view, name) for name in self.runs(task, view)}
        return {name: score for name, score in found.items() if score is not None}

    async def average(self, task: TaskName, view: View, server: ServerName) -> Score | None:
        """Return the score of a run, computed in a thread; None where there is no such run.

        It covers the answers that arrived before the call; where a mean of the run is being made
        already, those that arrived before that one's end (see `at_rest`). Answers that arrive
        meanwhile are scored afterwards, so that `scores` may return a newer score next.
        """
        await self.at_rest(task, view, server)
        run = _Run(task, view, server)
        if run not in self._scorers:
            return None
        if run in self._scores:
            return self._scores[run]
        begun = self._averaging[run] = _Averaging()
        begun.made = asyncio.create_task(self._make(run, self._scorers[run], begun), name="mean")
        return await asyncio.shield(begun.made)  # the thread cannot be ended, so neither is this

    def averaging(self, task: TaskName, view: View, server: ServerName) -> bool:
        """Return whether a mean of a run is being computed, so that answers wait to be scored."""
        return _Run(task, view, server) in self._averaging

    async def at_rest(self, task: TaskName, view: View, server: ServerName) -> None:
        """Wait until no mean of a run is being computed, and no answer waits for one."""
        run = _Run(task, view, server)
        while (begun := self._averaging.get(run)) is not None:
            assert begun.made is not None
            await asyncio.wait([begun.made])

    async def _make(self, run: _Run, scorer: Scorer, begun: _Averaging) -> Score:
        score: Score | None = None
        try:
            score = await asyncio.to_thread(scorer.score)
            return score
        finally:
            if self._averaging.get(run) is begun:  # it was not dropped meanwhile
                del self._averaging[run]
                if score is not None:
                    self._scores[run] = score
                for article, prepared in begun.waiting:
                    self._keep(run, article, prepared)

    def _score(self, run: _Run) -> Score:
        if run not in self._scores:
            self._scores[run] = self._scorers[run].score()
        return self._scores[run]


def _signature(task: ScoredTask, scorer: str) -> str:
    """Return all that must be equal for two boards to be comparable, in one line.

    `scorer` is the signature of the task's scorer.
    """
    name, *others = scorer.split("|")
    gold = [f"gold:{task.mark.version}"] if task.mark else []
    return "|".join([name, *gold, *others, f"release:{task.release}"])


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
        rows.append(BoardRow.of(server, None if unscored else place, scores[server]))
    return rows
