"""Runs that are scored as a whole: once for each upload, whatever becomes of the phase."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metaserver.base.boards import Column, Score
from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.coverage import Coverage
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.tasks.result_files import WholeRunScorer

ONE, RUN, WHOLE = ArticleId("1"), ServerName("run"), TaskName("WHOLE")


@dataclass
class Counted:
    """A task of whole runs that counts how often a run is evaluated."""

    name: TaskName = WHOLE
    columns: tuple[Column, ...] = (Column(key="score", heading="Score"),)
    order: tuple[str, ...] = ("score",)
    evaluated: list[Mapping[ArticleId, Any]] = field(default_factory=list)

    def scorer(self, gold: frozenset[str]) -> WholeRunScorer:
        return WholeRunScorer(gold, self._score)

    def _score(self, answers: Mapping[ArticleId, Any]) -> Score:
        self.evaluated.append(answers)
        score = len(answers) / 2
        values = {"score": score}
        return Score(values=values, articles_scored=1, articles_in_gold=2, curve=(), detail=values)


def test_a_freeze_and_another_rule_score_nothing_again() -> None:
    is_open, task = True, Counted()
    scored = ScoredTask(plugin=task, gold=frozenset("12"), release="r")  # type: ignore[arg-type]
    board = Scoreboard([scored], Ranking(), Coverage(is_open=lambda: is_open))
    board.put(RUN, ONE, {task.name: "answer"})
    assert board.recent(task.name)[RUN].values == {"score": 0.5}
    before = len(task.evaluated)
    board.touch(RUN)
    is_open = False
    board.rank(Ranking(articles=ArticlePolicy.ANSWERED))
    for policy in (None, *ArticlePolicy):
        assert not board.behind(task.name, policy=policy)
        assert board.recent(task.name, policy=policy)[RUN].values == {"score": 0.5}
    assert len(task.evaluated) == before
    board.put(RUN, ArticleId("2"), {task.name: "answer"})
    assert board.recent(task.name)[RUN].values == {"score": 1.0}
    board.drop(RUN)
    assert board.recent(task.name) == {}
