"""The live leaderboards: an article is scored when its answer arrives, means when requested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from metaserver.model.boards import RAW, Board, BoardRow, View
from metaserver.model.records import ArticleId, ServerName, TaskName
from metaserver.model.scores import Score
from metaserver.tasks.plugin import KeptScorer, Scorer, TaskPlugin

WORK, RUN = 14_000, 400
"""Articles whose scores are averaged at a time on the event loop, and how many a run counts as."""


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


@dataclass(kw_only=True, slots=True, eq=False)
class _Averaging:
    """A run's mean that a thread is computing, and the answers that arrived meanwhile."""

    waiting: list[tuple[ArticleId, Any]] = field(default_factory=list)
    made: asyncio.Task[Score] | None = None


@dataclass(kw_only=True, slots=True, eq=False)
class _Runs:
    """The runs of one board by their servers; `changed` have no score, or answers since it.

    The longest changed come first.
    """

    scorers: dict[ServerName, Scorer] = field(default_factory=dict)
    scores: dict[ServerName, Score] = field(default_factory=dict)
    changed: dict[ServerName, None] = field(default_factory=dict)
    averaging: dict[ServerName, _Averaging] = field(default_factory=dict)

    def put(self, server: ServerName, key: BoardKey, article: ArticleId, prepared: Any) -> None:
        """Keep a prepared answer, or have it wait for the mean that a thread is computing."""
        if server in self.averaging:
            self.averaging[server].waiting.append((article, prepared))
            return
        if server not in self.scorers:
            self.scorers[server] = key.make()
        self.keep(server, article, prepared)

    def keep(self, server: ServerName, article: ArticleId, prepared: Any) -> None:
        """Keep a prepared answer."""
        self.scorers[server].keep(article, prepared)
        self.changed[server] = None

    def enter(self, server: ServerName, scorer: Scorer, score: Score | None = None) -> None:
        """Add a run that has answers already."""
        self.scorers[server] = scorer
        if score is None:
            self.changed[server] = None
        else:
            self.scores[server] = score

    def drop(self, server: ServerName) -> None:
        """Forget a run."""
        for part in (self.scorers, self.scores, self.changed, self.averaging):
            part.pop(server, None)

    def newest(self, server: ServerName) -> Score | None:
        """Return a run's score, None where it is yet to be computed."""
        return None if server in self.changed else self.scores.get(server)

    def score(self, server: ServerName) -> Score:
        """Return a run's score; that of one that changed is computed now."""
        if (score := self.newest(server)) is None:
            score = self.scores[server] = self.scorers[server].score()
            self.changed.pop(server, None)
        return score

    async def average(self, server: ServerName) -> Score:
        """Return a run's score, computed in a thread; no other thread is computing it."""
        begun = self.averaging[server] = _Averaging()
        begun.made = asyncio.create_task(
            self._make(server, self.scorers[server], begun), name="mean"
        )
        return await asyncio.shield(begun.made)  # the thread cannot be ended, so neither is this

    async def _make(self, server: ServerName, scorer: Scorer, begun: _Averaging) -> Score:
        score: Score | None = None
        try:
            score = await asyncio.to_thread(scorer.score)
            return score
        finally:
            if self.averaging.get(server) is begun:  # it was not dropped meanwhile
                del self.averaging[server]
                if score is not None:
                    self.scores[server] = score
                    self.changed.pop(server, None)
                for article, prepared in begun.waiting:
                    self.keep(server, article, prepared)


class Scoreboard:
    """The leaderboards of the tasks that have gold. A run is a server's answers to one task."""

    def __init__(self, tasks: Sequence[ScoredTask]) -> None:
        self._tasks: Mapping[TaskName, ScoredTask] = {task.plugin.name: task for task in tasks}
        self._keys: Mapping[TaskName, Mapping[View, BoardKey]] = {
            task.plugin.name: {view: BoardKey.of(make) for view, make in task.scorers().items()}
            for task in tasks
        }
        empty = {
            (name, view): key.empty.score()
            for name, keys in self._keys.items()
            for view, key in keys.items()
        }
        self._signatures = {
            board: score.detail.get("signature", board[0]) for board, score in empty.items()
        }
        self._at_once = {
            board: max(1, WORK // (RUN + score.articles_in_gold)) for board, score in empty.items()
        }
        self._runs: Mapping[tuple[TaskName, View], _Runs] = {
            (name, view): _Runs() for name, keys in self._keys.items() for view in keys
        }

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
        return len(self._runs[task, RAW].scorers) if task in self._keys else 0

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
            self._runs[name, view].put(server, key, article, kept)

    def _keys_of(self, payloads: Iterable[TaskName]) -> Iterator[tuple[TaskName, View, BoardKey]]:
        keys = self._keys  # one mapping throughout: a thread may be here while it is replaced
        for name in payloads:
            for view, key in keys.get(name, {}).items():
                yield name, view, key

    def drop(self, server: ServerName) -> None:
        """Forget a server's runs."""
        for runs in self._runs.values():
            runs.drop(server)

    def dump(self, server: ServerName) -> Sequence[ScorerDump]:
        """Return the states of a server's scorers, with the answers that wait for a mean.

        Runs of tasks whose scorers cannot be kept, or whose gold has no mark, are left out. The
        call takes about a millisecond for 10,000 answers.
        """
        return [
            ScorerDump(name, view, fingerprint, self._dumped(server, name, view))
            for name, keys in self._keys.items()
            for view, key in keys.items()
            if isinstance(key.empty, KeptScorer) and (fingerprint := self._fingerprint(name, view))
        ]

    def _dumped(self, server: ServerName, task: TaskName, view: View) -> bytes:
        runs = self._runs[task, view]
        scorer = runs.scorers.get(server)
        if scorer is None:
            return b""
        assert isinstance(scorer, KeptScorer)
        if not (begun := runs.averaging.get(server)) or not begun.waiting:
            return scorer.dump()
        complete = self._keys[task][view].make()
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
            try:
                loaded = {
                    view: self._loaded(name, view, key, given.get((name, view)))
                    for view, key in keys.items()
                }
            except ValueError as error:
                refused[name] = str(error)
                continue
            for view, scorer in loaded.items():
                if scorer is not None:
                    self._runs[name, view].enter(server, scorer)
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
        merged = {**self._tasks, **other._tasks}
        self._tasks = {name: merged[name] for name in sorted(merged)}
        self._keys = {**self._keys, **other._keys}
        self._signatures = {**self._signatures, **other._signatures}
        self._at_once = {**self._at_once, **other._at_once}
        replaced = {board: runs for board, runs in self._runs.items() if board[0] in other._tasks}
        others = {board: runs for board, runs in self._runs.items() if board not in replaced}
        self._runs = {**others, **other._runs}

    def mark(self, task: TaskName, mark: GoldMark) -> None:
        """Set the mark of a task's gold, once it is stored."""
        self._tasks = {**self._tasks, task: replace(self._tasks[task], mark=mark)}

    def adopt(self, other: Scoreboard, server: ServerName) -> None:
        """Replace a server's runs by those of a board of the same tasks."""
        self.drop(server)
        for board, runs in other._runs.items():
            if server in runs.scorers:
                self._runs[board].enter(server, runs.scorers[server], runs.newest(server))

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
        return list(self._runs[task, view].scorers)

    def scores(self, task: TaskName, view: View = RAW) -> Mapping[ServerName, Score]:
        """Return the scores of a task's runs; all that changed are averaged again, at once."""
        runs = self._runs[task, view]
        return {server: runs.score(server) for server in runs.scorers}

    def recent(self, task: TaskName, view: View = RAW) -> Mapping[ServerName, Score]:
        """Return the newest scores of a task's runs, in bounded time (about 10 ms).

        A few of the runs that changed are averaged again, the longest changed first. The others
        have their previous score, and none if there is none yet (see `behind`).
        """
        runs = self._runs[task, view]
        for server in list(islice(runs.changed, self._at_once[task, view])):
            runs.score(server)
        return dict(runs.scores)

    def behind(self, task: TaskName, view: View = RAW) -> bool:
        """Return whether a run has changed since its score in `recent`."""
        return bool(self._runs[task, view].changed)

    async def refresh(self, task: TaskName, view: View = RAW, *, pause: float = 0.0) -> None:
        """Average the runs that have changed before the call, a few at a time on the event loop.

        `pause` are the seconds between the few and the next.
        """
        for _ in range(0, len(self._runs[task, view].changed), self._at_once[task, view]):
            self.recent(task, view)
            await asyncio.sleep(pause)

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
        runs = self._runs[task, view]
        if server not in runs.scorers:
            return None
        return runs.newest(server) or await runs.average(server)

    def averaging(self, task: TaskName, view: View, server: ServerName) -> bool:
        """Return whether a mean of a run is being computed, so that answers wait to be scored."""
        return server in self._runs[task, view].averaging

    async def at_rest(self, task: TaskName, view: View, server: ServerName) -> None:
        """Wait until no mean of a run is being computed, and no answer waits for one."""
        while (begun := self._runs[task, view].averaging.get(server)) is not None:
            assert begun.made is not None
            await asyncio.wait([begun.made])


def _signature(task: ScoredTask, scorer: str) -> str:
    """Return all that must be equal for two boards to be comparable, in one line.

    `scorer` is the signature of the task's scorer.
    """
    name, *others = scorer.split("|")
    gold = [f"gold:{task.mark.version}"] if task.mark else []
    return "|".join([name, *gold, *others, f"release:{task.release}"])


def ranked(plugin: TaskPlugin, scores: Mapping[ServerName, Score]) -> Sequence[BoardRow]:
    """Order runs by the task's columns, best first; equal runs share a place, n/a comes last."""

    def key(score: Score) -> Sequence[tuple[bool, float]]:
        values = [score.values.get(column) for column in plugin.order]
        return [(value is None, 0.0 if value is None else -value) for value in values]

    rows: list[BoardRow] = []
    before: Sequence[tuple[bool, float]] | None = None
    place: int | None = None
    ordered = sorted((key(score), server) for server, score in scores.items())
    for count, (measures, server) in enumerate(ordered, 1):
        if measures != before:
            before, place = measures, count
        unscored = measures[0][0]
        rows.append(BoardRow.of(server, None if unscored else place, scores[server]))
    return rows
