"""Leaderboards: their order, and that scoring live gives what scoring afresh gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaserver.records import ArticleId, ServerName, TaskName
from metaserver.services.scoreboard import GoldMark, Scoreboard, ScoredTask, ranked
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.plugin import Score

ARTICLES = ["100", "200", "300"]
ACCESSIONS = ["P04637", "P38398", "Q00987", "P10636"]
NO_SCORE = Score(values={}, articles_scored=0, articles_in_gold=0, curve=(), detail={})


@pytest.fixture(scope="module")
def int_task(tmp_path_factory: pytest.TempPathFactory) -> ScoredTask:
    path = tmp_path_factory.mktemp("gold") / "gold.tsv"
    path.write_text("100\tP04637\n100\tP38398\n200\tQ00987\n300\tP10636\n")
    return ScoredTask(plugin=INT, gold=INT.read_gold(path), release="2026_01")


def hits(*accessions: str) -> list[list[Any]]:
    return [[accession, rank, 1 / rank] for rank, accession in enumerate(accessions, 1)]


def places(values: dict[str, Sequence[float | None]]) -> list[tuple[str, int | None]]:
    scores = {
        ServerName(run): replace(NO_SCORE, values=dict(zip(INT.order, measures, strict=True)))
        for run, measures in values.items()
    }
    return [(row.run, row.place) for row in ranked(INT, scores)]


def test_equal_runs_share_a_place_and_the_next_place_is_left_out() -> None:
    runs = {"d": [0.1, 0.9], "b": [0.5, 0.5], "c": [0.5, 0.5], "a": [0.5, 0.6]}
    assert places(runs) == [("a", 1), ("b", 2), ("c", 2), ("d", 4)]


def test_a_run_without_a_score_comes_last_and_has_no_place() -> None:
    runs = {"none": [None, None], "zero": [0.0, None], "best": [0.5, 0.1], "tie": [0.0, 0.0]}
    assert places(runs) == [("best", 1), ("tie", 2), ("zero", 3), ("none", None)]


def test_a_run_is_a_servers_answers_to_a_task_that_has_gold(int_task: ScoredTask) -> None:
    board = Scoreboard([int_task])
    payloads = {TaskName("INT"): hits("P04637", "P38398"), TaskName("ACT"): [True, 0.5]}
    board.put(ServerName("one"), ArticleId("100"), payloads)
    board.put(ServerName("two"), ArticleId("100"), {TaskName("ACT"): [True, 0.5]})
    [row] = board.board(TaskName("INT")).rows
    assert (row.run, row.place, row.score.articles_scored) == ("one", 1, 1)
    assert row.score.values["f_score"] == 1.0
    assert [task.name for task in board.tasks()] == ["INT"]


def test_a_signature_tells_gold_and_release_apart(int_task: ScoredTask) -> None:
    def signature(task: ScoredTask) -> str:
        return Scoreboard([task]).board(task.plugin.name).signature

    int_task = replace(int_task, mark=GoldMark(1, "c0ffee"))
    other_gold = replace(int_task, mark=GoldMark(2, "badcab"))
    other_release = replace(int_task, release="2026_02")
    signatures = {signature(task) for task in (int_task, other_gold, other_release)}
    assert len(signatures) == 3
    assert signature(int_task) == signature(replace(int_task))
    assert signature(int_task).startswith("INT|gold:1|articles:answered|")
    assert signature(int_task).endswith("|release:2026_01")


PUTS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from([*ARTICLES, "not in the gold"]),
        st.lists(st.sampled_from(ACCESSIONS), unique=True),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(puts=PUTS, looks=st.sets(st.integers(0, 11)), order=st.randoms(use_true_random=False))
def test_a_live_board_is_the_one_scored_afresh_to_the_last_digit(
    int_task: ScoredTask, puts: list[tuple[str, str, list[str]]], looks: set[int], order: Any
) -> None:
    name = TaskName("INT")
    live, afresh = Scoreboard([int_task]), Scoreboard([int_task])
    for number, (server, article, found) in enumerate(puts):
        live.put(ServerName(server), ArticleId(article), {name: hits(*found)})
        if number in looks:
            live.board(name)
    last = {(server, article): found for server, article, found in puts}
    shuffled = list(last.items())
    order.shuffle(shuffled)
    for (server, article), found in shuffled:
        afresh.put(ServerName(server), ArticleId(article), {name: hits(*found)})
    assert live.board(name) == afresh.board(name)


def test_act_and_int_are_ranked_by_their_own_columns() -> None:
    for task in (ACT, INT):
        assert set(task.order) <= {column.key for column in task.columns}
