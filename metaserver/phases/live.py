"""The boards of a running phase: fed by the lanes' events, shown by the pages."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from metaserver.base.boards import (
    RAW,
    ArticleBoard,
    Board,
    BoardRow,
    FrozenBoard,
    RunIntervals,
    Score,
    View,
)
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.base.usage import RunUsage
from metaserver.boards.comparisons import BoardComparison, Comparisons, are_same
from metaserver.boards.frozen import freeze
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import NOTHING, BoardKey, Prepared, Scoreboard
from metaserver.boards.snapshots import Monitor
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.tasks.plugin import ComparedTask, TaskPlugin

TICK_SECONDS = 5.0
LARGE = 1_000
"""Hits in an answer above which a thread prepares it: 10 ms on the event loop, in 4 views."""
MEANS_PAUSE = 0.03
"""Seconds between two parts of the changed runs' means, which take about 0.01 each."""
LEAST_TEAMS = 3
"""Fewer teams than this could derive each other's scores from an article's mean."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOwner:
    """A run's owner, its team, with its title; and how the run came: a file, a protocol.

    `baseline`: the team is the organisers'.
    """

    team: str = ""
    title: str = ""
    offline: bool = False
    protocol: str = ""
    baseline: bool = False


class Landed(NamedTuple):
    """An accepted answer that arrived, as boards score it."""

    server: ServerName
    article: ArticleId
    payloads: Mapping[TaskName, Any]
    prepared: Mapping[BoardKey, Any] = NOTHING


class _ShownBoard(NamedTuple):
    """A board as last shown, and what it was made from."""

    scores: Mapping[ServerName, Score]
    comparison: BoardComparison | None
    lacking: Set[ServerName]
    usages: Mapping[ServerName, RunUsage]
    board: Board


class LiveBoards:
    """Monitor and leaderboards with a version that rises at each change.

    `blocked` returns why no answer can be stored at present, or None; `lacking` the runs whose
    stored answers are still being read. Meanwhile no new comparison is made: a rank's interval
    needs all runs. Costs are in `currency`.
    """

    def __init__(
        self,
        server_monitor: ServerMonitor,
        scoreboard: Scoreboard,
        blocked: Callable[[], str | None],
        lacking: Callable[[], Set[ServerName]] = frozenset,
        currency: str = "USD",
    ) -> None:
        self.server_monitor = server_monitor
        self.scoreboard = scoreboard
        self.comparisons = Comparisons(scoreboard, self.touch)
        self._blocked = blocked
        self._lacking = lacking
        self._currency = currency
        self._owners: dict[ServerName, RunOwner] = {}
        self._shown: dict[tuple[TaskName, View, ArticlePolicy], _ShownBoard] = {}
        self._landed: list[Landed] | None = None
        self._beside: Scoreboard | None = None
        self._preparing = asyncio.Lock()  # one large answer at a time: each has a thread of its own
        self._behind: dict[tuple[TaskName, View, ArticlePolicy], None] = {}  # as they were read
        self._averager: asyncio.Task[None] | None = None
        self._version = 0
        self._change = asyncio.Event()

    def enter(self, run: ServerName, owner: RunOwner) -> None:
        """Set a run's owner; without an owner a run is online, and counts as its own team."""
        if self._owners.get(run) != owner:
            self._owners[run] = owner
            self._shown.clear()
        self.touch()

    def leave(self, run: ServerName) -> None:
        """Remove a run from the boards."""
        self._owners.pop(run, None)
        self._shown.clear()
        self.scoreboard.drop(run)
        self.touch()

    @contextmanager
    def landing(self, beside: Scoreboard) -> Iterator[list[Landed]]:
        """Collect the answers that arrive within the context, besides scoring them.

        Large answers are also prepared for the board `beside` being built.
        """
        self._landed, self._beside = [], beside
        try:
            yield self._landed
        finally:
            self._landed = self._beside = None

    def regrade(self, task: TaskName, scoreboard: Scoreboard) -> None:
        """Show a task's scores from this board from now on, after a change of its gold."""
        self.scoreboard.regrade(scoreboard)
        self._shown.clear()
        self.comparisons = self.comparisons.without(task)
        self.touch()

    @property
    def version(self) -> int:
        """The version: it rises with each change, and differs after it."""
        return self._version

    def touch(self) -> None:
        """Raise the version: something that the pages show has changed."""
        self._version += 1
        self._change.set()

    def prepare(self, event: AttemptEnded) -> Awaitable[None] | None:
        """Return the slow part of scoring a large answer, which a thread does; None for others.

        It makes `publish` quick. Boards may be replaced meanwhile, and another may be built beside
        them: it ends when the answer is prepared for all present boards. Nothing may be awaited
        between its end and `publish`.
        """
        answer = event.answer
        if answer is None or answer.hits_kept <= LARGE:
            return None
        return self._prepare_large(event, answer)

    async def _prepare_large(self, event: AttemptEnded, answer: CheckedAnswer) -> None:
        article, payloads = event.attempt.article, answer.payloads
        async with self._preparing:
            while (board := self._unprepared(payloads, event.prepared)) is not None:
                await asyncio.to_thread(board.prepare, article, payloads, event.prepared)

    def _unprepared(
        self, payloads: Mapping[TaskName, Any], prepared: Mapping[BoardKey, Any]
    ) -> Scoreboard | None:
        for board in (self.scoreboard, self._beside):
            if board is not None and not board.is_prepared(payloads, prepared):
                return board
        return None

    async def restore(self, answers: Sequence[Landed]) -> None:
        """Score stored answers; the slow part is done in a thread."""
        prepared_answers: Sequence[Prepared] = [{} for _ in answers]
        while not all(map(self._is_prepared, answers, prepared_answers)):
            await asyncio.to_thread(_prepare, self.scoreboard, answers, prepared_answers)
        for landed, prepared in zip(answers, prepared_answers, strict=True):
            self._put(landed._replace(prepared=prepared))

    def _is_prepared(self, landed: Landed, prepared: Prepared) -> bool:
        return self.scoreboard.is_prepared(landed.payloads, prepared)

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Record a lane's event; called by the lane on commit."""
        if isinstance(event, LaneChanged):
            self.server_monitor.lane(event)
        else:
            self.server_monitor.attempt(
                event.attempt,
                event.position,
                final=event.decision.final,
                tasks=event.answer.payloads if event.answer is not None else (),
            )
            if event.decision.final:
                self.scoreboard.touch(event.server.name)
            if event.answer is not None:
                article, payloads = event.attempt.article, event.answer.payloads
                self._put(Landed(event.server.name, article, payloads, event.prepared))
        self.touch()

    def _put(self, landed: Landed) -> None:
        self.scoreboard.put(*landed)
        if self._landed is not None:
            self._landed.append(landed)

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that have a leaderboard."""
        return self.scoreboard.tasks()

    def counts(self, team: str | None = None) -> Mapping[TaskName, int]:
        """Return each task's number of runs; a team's, if given."""
        if team is None:
            return {task.name: self.scoreboard.count(task.name) for task in self.tasks()}
        team_runs = [run for run, owner in self._owners.items() if owner.team == team]
        runs = {task.name: set(self.scoreboard.runs(task.name)) for task in self.tasks()}
        return {
            task: sum(run in run_names for run in team_runs) for task, run_names in runs.items()
        }

    def monitor(self) -> Monitor:
        """Return the monitor as of now."""
        return self.server_monitor.snapshot(self._blocked() or "")

    def rank(self, ranking: Ranking) -> None:
        """Place the runs by another rule from now on."""
        if ranking != self.scoreboard.ranking:
            self.scoreboard.rank(ranking)
            self.comparisons = Comparisons(self.scoreboard, self.touch)
            self._shown.clear()
            self.touch()

    def price(self, currency: str) -> None:
        """Show the costs in a currency from now on."""
        if currency != self._currency:
            self._currency = currency
            self._shown.clear()
            self.touch()

    def board(self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None) -> Board:
        """Return a task's leaderboard with the newest scores and intervals.

        If many runs have changed, some have their previous score, or none yet: it is computed
        within seconds, and then the version rises. `Scoreboard.refresh` waits for that. All of a
        board's pages share it until a score or interval changes: a thousand rows take 20 ms.
        """
        policy = policy or self.scoreboard.ranking.articles
        scores = self._recent(task, view, policy)
        comparison, lacking = self._comparison(task, view, policy, scores), self._lacking()
        usages = self.server_monitor.usages(self._currency)
        cached = self._shown.get((task, view, policy))
        if (
            cached is None
            or cached.comparison is not comparison
            or cached.lacking != lacking
            or cached.usages != usages
            or not are_same(cached.scores, scores)
        ):
            fresh = self.scoreboard.board_of(task, view, scores, policy)
            board = self._completed(fresh, comparison, usages, lacking)
            cached = _ShownBoard(scores, comparison, lacking, usages, board)
            self._shown[task, view, policy] = cached
        return cached.board

    def _recent(
        self, task: TaskName, view: View, policy: ArticlePolicy
    ) -> Mapping[ServerName, Score]:
        scores = self.scoreboard.recent(task, view, policy)
        if self.scoreboard.behind(task, view, policy):
            self._behind[task, view, policy] = None
            if self._averager is None or self._averager.done():
                self._averager = asyncio.create_task(self._catch_up(), name="means")
        return scores

    async def _catch_up(self) -> None:
        """Average the changed runs on boards that were read, with part of the event loop."""
        while self._behind:
            task, view, policy = board = next(iter(self._behind))
            del self._behind[board]
            await self.scoreboard.refresh(task, view, policy, pause=MEANS_PAUSE)
            self.touch()

    def _comparison(
        self,
        task: TaskName,
        view: View,
        policy: ArticlePolicy,
        scores: Mapping[ServerName, Score],
    ) -> BoardComparison | None:
        if self._lacking():
            return self.comparisons.known(task, view, policy)
        return self.comparisons.newest(task, view, policy, scores)

    async def settled(
        self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None
    ) -> Board:
        """Return a task's leaderboard with matching intervals, to be frozen."""
        policy = policy or self.scoreboard.ranking.articles
        scores = await self.scoreboard.averaged(task, view, policy)
        comparison = await self.comparisons.make(task, view, policy, scores)
        board = self.scoreboard.board_of(task, view, scores, policy)
        return self._completed(board, comparison, self.server_monitor.usages(self._currency))

    async def freeze(self, task: TaskPlugin, *, phase: str, reason: str, at: float) -> FrozenBoard:
        """Return a task's present boards in all views, to be stored."""
        boards = [
            await self.settled(task.name, view, policy)
            for policy in self.scoreboard.policies(task.name)
            for view in self.scoreboard.views(task.name)
        ]
        return freeze(task, boards, phase=phase, reason=reason, at=at)

    def _completed(
        self,
        board: Board,
        comparison: BoardComparison | None,
        usages: Mapping[ServerName, RunUsage],
        lacking: Set[ServerName] = frozenset(),
    ) -> Board:
        plugin = self.scoreboard.scored_task(board.task).plugin
        intervals = comparison.intervals if comparison else {}

        def completed(row: BoardRow) -> BoardRow:
            run = ServerName(row.run)
            owner = self._owners.get(run, RunOwner())
            interval = None if run in lacking else intervals.get(run)
            if interval is not None and not _is_of(interval, row.values.get(board.order[0])):
                interval = None  # of an earlier score: another is computed
            return msgspec.structs.replace(
                row,
                team=owner.team,
                title=owner.title,
                offline=owner.offline,
                protocol=owner.protocol,
                baseline=owner.baseline,
                interval=interval,
                usage=usages.get(run),
            )

        board = replace(board, rows=[completed(row) for row in board.rows])
        if not isinstance(plugin, ComparedTask):
            return board
        if board.order[0] in plugin.resampled:
            return replace(board, resampling=plugin.resampling)
        return replace(board, unresampled=_why_unresampled(plugin, board.order[0]))

    def articles(self, task: TaskName, view: View = RAW) -> ArticleBoard:
        """Return the levels of the task's articles that at least `LEAST_TEAMS` teams answered."""
        plugin = self.scoreboard.scored_task(task).plugin
        if not isinstance(plugin, ComparedTask):
            return ArticleBoard(task=task)
        policy = ArticlePolicy.ANSWERED  # an article that a run did not answer is not hard for it
        comparison = self._comparison(task, view, policy, self._recent(task, view, policy))
        levels = comparison.levels if comparison else ()
        visible = [level for level in levels if self._teams(level.runs) >= LEAST_TEAMS]
        return ArticleBoard(
            task=task,
            measure=plugin.level,
            levels=visible,
            least=self.scoreboard.ranking.min_coverage,
            withheld=len(levels) - len(visible),
            ready=comparison is not None,
        )

    def _teams(self, runs: Iterable[str]) -> int:
        """Count the runs' teams; a run without a team is its own team."""
        owners = {run: self._owners.get(ServerName(run)) for run in runs}
        return len({owner.team if owner and owner.team else run for run, owner in owners.items()})

    async def changed(self, since: int) -> int:
        """Wait until the version is not `since`; return it.

        It also rises every `TICK_SECONDS`, since the throughput falls when no answers come.
        """
        while self._version == since:
            self._change.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._change.wait()
                continue
            self._version += 1
        return self._version


def _why_unresampled(plugin: ComparedTask, measure: str) -> str:
    headings = {column.key: column.heading for column in plugin.columns}
    measures = ", ".join(headings[key] for key in plugin.resampled)
    return f"{headings[measure]} has no intervals: it is not resampled, as {measures} can be."


def _is_of(interval: RunIntervals, score: float | None) -> bool:
    """Return whether an interval belongs to a score."""
    return score is not None and math.isclose(interval.score, score, rel_tol=1e-9, abs_tol=1e-12)


def _prepare(
    board: Scoreboard, answers: Sequence[Landed], prepared_answers: Sequence[Prepared]
) -> None:
    for landed, prepared in zip(answers, prepared_answers, strict=True):
        board.prepare(landed.article, landed.payloads, prepared)
