"""The inputs for a results package: a finished phase, read from a store and scored again.

The store may belong to a working hub: a finished phase changes only with its gold, and gold is read
together with the boards that were frozen on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import RAW, BoardRow, FrozenBoard, MethodDescription, Score, View
from metaserver.base.compression import unpack
from metaserver.base.errors import HubError, InputError
from metaserver.base.lanes import Corpus, LaneKey
from metaserver.base.phases import Challenge, GoldVersion, Phase
from metaserver.base.plans import PhasePlan, ShownUsage
from metaserver.base.records import PhaseName, ServerName, TaskName
from metaserver.boards.gold import PublicPart
from metaserver.boards.rescoring import score_answers
from metaserver.boards.scoreboard import Scoreboard
from metaserver.config import Settings
from metaserver.phases.jobs import RowCounter
from metaserver.phases.restore import scored_of, vocabulary_of
from metaserver.store import boards, phases, runs
from metaserver.store.keys import digest_key
from metaserver.store.reader import ReadStore
from metaserver.store.runs import OfflineRun
from metaserver.tasks.plugin import TaskPlugin
from metaserver.uniprot import Release
from scoring import ActGold, ActScorecard, Gold, ItemGold, ItemScorecard, Scorecard


class RunCard(NamedTuple):
    """A run's scorecard; `below` the least coverage it is in no statistic of several runs."""

    card: Scorecard
    below: bool


@dataclass(frozen=True, kw_only=True)
class PhaseSource:
    """A phase as its package shows it: its boards, its runs, and the board that scored them again.

    `frozen` has the newest boards of the newest gold, by task: their rules count, whatever the
    phase's is by now.
    """

    phase: Phase
    challenge: Challenge
    corpus: Corpus
    settings: Settings
    gold: Mapping[TaskName, GoldVersion]
    frozen: Mapping[TaskName, FrozenBoard]
    lanes: Mapping[ServerName, LaneKey]
    offline: Sequence[OfflineRun]
    scoreboard: Scoreboard
    methods: Mapping[ServerName, MethodDescription]

    def plugin(self, task: TaskName) -> TaskPlugin:
        """Return a task's plug-in."""
        return self.scoreboard.scored_task(task).plugin

    def ranked_gold(self, task: TaskName, view: View = RAW) -> Gold | None:
        """Return a ranked-list task's gold, None for any other task."""
        gold: Any = self.scoreboard.scored_task(task).gold_of(view)
        return gold if isinstance(gold, ItemGold | ActGold) else None

    def scores(self, task: TaskName, view: View) -> Mapping[ServerName, Score]:
        """Return the scores of a task's runs in a view, by its board's rule."""
        return self.scoreboard.scores(task, view, self.frozen[task].articles)

    def cards(self, task: TaskName, view: View) -> Sequence[RunCard]:
        """Return the scorecards of a task's runs in a view, in its board's order."""
        scores = self.scores(task, view)
        rows = (row for row in self.frozen[task].views[view].rows if row.articles_scored)
        cards_by_row = ((row, scores[ServerName(row.run)].card) for row in rows)
        return [
            RunCard(replace(card, run=row.run), row.below)
            for row, card in cards_by_row
            if isinstance(card, ItemScorecard | ActScorecard)
        ]


async def read_source(
    store: ReadStore,
    settings: Settings,
    name: PhaseName,
    given_boards: Mapping[TaskName, FrozenBoard],
    opened: Mapping[str, Release],
    counted: RowCounter,
) -> PhaseSource:
    """Read a phase, and score its answers again; `HubError` if its boards differ.

    Without `given_boards` these are the boards stored at its last freeze.
    """
    async with store.reading() as connection:
        phase = await phases.get(connection, name)
        if phase is None:
            raise InputError("the phase", f"there is none called {name!r}")
        challenge = await phases.get_challenge(connection, phase.challenge)
        assert challenge is not None
        gold = await phases.newest_gold(connection, phase.id)
        part = PublicPart.of(await digest_key(connection), phase.id, phase.plan)
        offline = await runs.list_all(connection, phase.id)
        described = await runs.methods_by_run(connection, phase.id)
        frozen = given_boards or await _frozen(connection, phase, gold)
    if missing := sorted(gold.keys() - frozen.keys()):
        message = f"the boards of {', '.join(missing)} are not frozen yet: try again in a moment"
        raise HubError(message)
    corpus = await store.corpus(phase.corpus_id)
    lanes = {lane.server: lane.key for lane in await store.lanes() if lane.key.phase_id == phase.id}
    answers = await store.answer_count(phase.id) + sum(run.answers for run in offline)
    counted.begin("scoring the answers again", answers)
    settings = settings.of_phase(phase.plan)
    vocabulary = vocabulary_of(settings, phase.release, opened)
    tasks = await asyncio.to_thread(scored_of, gold, vocabulary, corpus, part)
    scoreboard = Scoreboard(tasks, phase.plan.ranking)

    async def scored(count: int) -> None:
        counted.count(count)

    await score_answers(store, scoreboard, corpus, lanes, offline, scored)
    source = PhaseSource(
        phase=phase,
        challenge=challenge,
        corpus=corpus,
        settings=settings,
        gold=gold,
        frozen={task: _shown(frozen[task], phase.plan) for task in sorted(gold)},
        lanes=lanes,
        offline=offline,
        scoreboard=scoreboard,
        methods=described,
    )
    _check(source)
    return source


async def _frozen(
    connection: AsyncConnection, phase: Phase, gold: Mapping[TaskName, GoldVersion]
) -> Mapping[TaskName, FrozenBoard]:
    """Return the boards frozen from what a phase has now, not from what it had before."""
    frozen: dict[TaskName, FrozenBoard] = {}
    for task, version in gold.items():
        stored_board = await boards.newest(
            connection, phase.id, task, version.version, boards.FROZEN
        )
        basis = await boards.basis_of(connection, phase.id, task, phase.plan.ranking)
        if stored_board is not None and stored_board.basis == basis:
            board = await boards.get(connection, stored_board.id)
            assert board is not None
            frozen[task] = FrozenBoard.decode(unpack(board[1]))
    return frozen


def _shown(frozen: FrozenBoard, plan: PhasePlan) -> FrozenBoard:
    """Return a board as a package's readers may see it."""
    return frozen if plan.usage.boards is ShownUsage.SHOWN else frozen.without_usage()


def _check(source: PhaseSource) -> None:
    """Raise `HubError` unless the boards show what the stored answers score."""
    for task, frozen in source.frozen.items():
        for view, board in frozen.views.items():
            scores = source.scores(task, view)
            differing = [row.run for row in board.rows if not _is_of(row, scores)]
            absent = sorted(scores.keys() - {row.run for row in board.rows})
            if wrong := [*differing, *absent]:
                raise HubError(
                    f"the frozen board of {task} ({view}) differs from the stored answers in"
                    f" {', '.join(wrong[:5])}: its signature is {board.signature}; nothing was made"
                )


def _is_of(row: BoardRow, scores: Mapping[ServerName, Score]) -> bool:
    """Return whether a row shows a score; what the score has besides came with a later version."""
    score = scores.get(ServerName(row.run))
    return (
        score is not None
        and row.values.items() <= score.values.items()
        and (row.articles_scored, row.articles_in_gold)
        == (score.articles_scored, score.articles_in_gold)
    )
