"""Leaderboards: their order, and equality of live scores with scores from scratch."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaserver.base.boards import Score
from metaserver.base.plans import Ranking, Ties
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.scoreboard import GoldMark, Scoreboard, ScoredTask, ranked
from metaserver.phases.candidate import Candidate
from metaserver.phases.live import Landed
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT

ARTICLES = ["100", "200", "300"]
ACCESSIONS = ["P04637", "P38398", "Q00987", "P10636"]
SHARED = Ranking(min_coverage=0.0, ties=Ties.SHARE)
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
    return [(row.run, row.place) for row in ranked(INT, SHARED, scores)]


def test_equal_runs_share_a_place_and_the_next_place_is_left_out() -> None:
    runs = {"d": [0.1, 0.9], "b": [0.5, 0.5], "c": [0.5, 0.5], "a": [0.5, 0.6]}
    assert places(runs) == [("a", 1), ("b", 1), ("c", 1), ("d", 4)]


def test_a_run_without_a_score_comes_last_and_has_no_place() -> None:
    runs = {"none": [None, None], "zero": [0.0, None], "best": [0.5, 0.1], "tie": [0.0, 0.0]}
    assert places(runs) == [("best", 1), ("tie", 2), ("zero", 2), ("none", None)]


def test_a_run_is_a_servers_answers_to_a_task_that_has_gold(int_task: ScoredTask) -> None:
    board = Scoreboard([int_task])
    payloads = {TaskName("INT"): hits("P04637", "P38398"), TaskName("ACT"): [True, 0.5]}
    board.put(ServerName("one"), ArticleId("100"), payloads)
    board.put(ServerName("two"), ArticleId("100"), {TaskName("ACT"): [True, 0.5]})
    [row] = board.board(TaskName("INT")).rows
    assert (row.run, row.place, row.articles_scored, row.values["f_score"]) == ("one", 1, 1, 1.0)
    assert [task.name for task in board.tasks()] == ["INT"]


def test_rows_of_known_scores_compute_no_curve(int_task, monkeypatch):
    board, name = Scoreboard([int_task]), TaskName("INT")
    board.put(ServerName("one"), ArticleId("100"), {name: hits("P04637", "P38398")})
    scores = board.scores(name)
    monkeypatch.delattr("scoring.scorecard.macro_curve")
    [row] = board.board_of(name, "raw", scores).rows
    assert row.curve == ((1.0, 1.0),)


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
def test_a_live_board_is_the_one_scored_afresh_to_the_last_digit(int_task, puts, looks, order):
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


class Slow:
    """A scorer whose mean takes until it may end; an answer kept meanwhile is a fault."""

    def __init__(self) -> None:
        self.put_to: list[str] = []
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.at_work = False

    def prepare(self, article: ArticleId, payload: Any) -> Any:
        return payload

    def keep(self, article: ArticleId, prepared: Any) -> None:
        assert not self.at_work
        self.put_to.append(article)

    def score(self) -> Score:
        self.at_work = True
        self.begun.set()
        assert self.may_end.wait(60)
        self.at_work = False
        return replace(NO_SCORE, values={"seen": len(self.put_to)})


@dataclass(frozen=True)
class SlowTask:
    """As much of a task as a board needs."""

    made: Slow
    name = TaskName("INT")
    order = ("seen",)

    def scorer(self, gold: Any) -> Slow:
        return self.made


async def averaging(board: Scoreboard, scorer: Slow) -> asyncio.Task[Score | None]:
    """Begin to make the mean of the only run."""
    task = asyncio.create_task(board.average(TaskName("INT"), "raw", ServerName("one")))
    assert await asyncio.to_thread(scorer.begun.wait, 60)
    return task


def slow_board() -> tuple[Scoreboard, Slow]:
    scorer = Slow()
    scorer.may_end.set()
    plugin: Any = SlowTask(scorer)
    board = Scoreboard([ScoredTask(plugin=plugin, gold=None, release="r")])
    board.put(ServerName("one"), ArticleId("1"), {TaskName("INT"): []})
    scorer.begun.clear()
    scorer.may_end.clear()
    return board, scorer


async def test_what_lands_while_a_mean_is_made_is_scored_after_it() -> None:
    board, scorer = slow_board()
    task = await averaging(board, scorer)
    board.put(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    assert scorer.put_to == ["1"]
    scorer.may_end.set()
    score = await task
    assert score.values == {"seen": 1}
    assert scorer.put_to == ["1", "2"]
    assert board.scores(TaskName("INT"))[ServerName("one")].values == {"seen": 2}
    assert await board.average(TaskName("INT"), "raw", ServerName("none")) is None


async def test_a_run_that_is_dropped_while_its_mean_is_made_stays_dropped() -> None:
    board, scorer = slow_board()
    task = await averaging(board, scorer)
    board.put(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    board.drop(ServerName("one"))
    scorer.may_end.set()
    await task
    assert board.runs(TaskName("INT")) == []
    assert board.scores(TaskName("INT")) == {}


async def test_a_mean_that_is_given_up_loses_no_answer() -> None:
    board, scorer = slow_board()
    task = await averaging(board, scorer)
    board.put(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scorer.put_to == ["1"]  # its thread still reads
    scorer.may_end.set()
    await board.at_rest(TaskName("INT"), "raw", ServerName("one"))
    assert scorer.put_to == ["1", "2"]


@pytest.mark.parametrize("landed", [True, False])
async def test_a_mean_that_is_asked_for_while_one_is_made_has_all_answers(landed: bool) -> None:
    board, scorer = slow_board()
    first = await averaging(board, scorer)
    if landed:
        board.put(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    second = asyncio.create_task(board.average(TaskName("INT"), "raw", ServerName("one")))
    given_up = asyncio.create_task(board.averaged(TaskName("INT")))
    await asyncio.sleep(0)
    assert board.averaging(TaskName("INT"), "raw", ServerName("one"))
    given_up.cancel()  # which ends neither of the others
    scorer.may_end.set()
    scores = [await first, await second]
    assert [score and score.values["seen"] for score in scores] == [1, 2 if landed else 1]
    assert (scores[0] is scores[1]) is not landed  # none is made twice


async def test_two_golds_are_compared_on_the_same_answers_while_a_mean_is_made() -> None:
    live, scorer = slow_board()
    other, quick = slow_board()
    quick.may_end.set()
    landed: list[Landed] = []
    running: Any = SimpleNamespace(boards=SimpleNamespace(scoreboard=live))
    made = Candidate(
        running=running, task=TaskName("INT"), replaces=0, board=other, landed=landed,
        store=cast(Any, None),
    )  # fmt: skip
    task = await averaging(live, scorer)  # as the intervals' worker does
    comparing = asyncio.create_task(made.compared())
    await asyncio.sleep(0)
    late = Landed(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    live.put(*late)
    landed.append(late)
    scorer.may_end.set()
    await task
    scores = await comparing
    assert [one["one"].values for one in scores] == [{"seen": 2}, {"seen": 2}]


async def test_a_run_that_begins_afresh_has_a_mean_of_its_own() -> None:
    board, old = slow_board()
    task = await averaging(board, old)
    board.put(ServerName("one"), ArticleId("2"), {TaskName("INT"): []})
    board.drop(ServerName("one"))
    new = Slow()
    new.may_end.set()
    fresh: Any = SlowTask(new)
    made = Scoreboard([ScoredTask(plugin=fresh, gold=None, release="r")])
    made.put(ServerName("one"), ArticleId("3"), {TaskName("INT"): []})
    board.adopt(made, ServerName("one"))
    score = await board.average(TaskName("INT"), "raw", ServerName("one"))
    old.may_end.set()
    await task
    assert score is not None
    assert new.put_to == ["3"]
    assert board.scores(TaskName("INT"))[ServerName("one")] is score


def test_a_run_that_is_replaced_shows_its_new_score_alone(int_task: ScoredTask) -> None:
    """As an offline run is that a team uploads again, after everybody has seen the first."""
    name, run = TaskName("INT"), ServerName("one")
    board, again, other = Scoreboard([int_task]), Scoreboard([int_task]), ServerName("other")
    board.put(run, ArticleId("100"), {name: hits("Q00987")})
    board.put(run, ArticleId("200"), {name: hits("Q00987")})
    board.put(other, ArticleId("200"), {name: hits("Q00987")})
    before = {row.run: row.values for row in board.board(name).rows}
    again.put(run, ArticleId("100"), {name: hits("P04637", "P38398")})
    again.put(other, ArticleId("100"), {name: hits("P04637")})
    board.adopt(again, run)
    after = board.scores(name)
    assert after[run].articles_scored == 1
    assert after[run] == again.scores(name)[run]
    assert after[other].values == before[other]
    again.drop(run)  # the other board keeps its own
    seen = Scoreboard([int_task])
    seen.put(run, ArticleId("300"), {name: hits("P10636")})
    seen.board(name)  # its score is made already
    board.adopt(seen, run)
    assert board.scores(name)[run] == seen.scores(name)[run]


def test_the_tasks_of_another_board_are_taken_over(int_task: ScoredTask, tmp_path: Path) -> None:
    (tmp_path / "act.tsv").write_text("100\t1\n200\t0\n")
    act = ScoredTask(plugin=ACT, gold=ACT.read_gold(tmp_path / "act.tsv"), release="2026_01")
    (tmp_path / "gold.tsv").write_text("100\tQ00987\n")
    other = replace(int_task, gold=INT.read_gold(tmp_path / "gold.tsv"))
    payloads = {TaskName("INT"): hits("P04637"), TaskName("ACT"): [True, 0.5]}
    mark = GoldMark(2, "badcab")
    board, made = Scoreboard([act, int_task]), Scoreboard([other])
    whole = Scoreboard([act, replace(other, mark=mark)])
    for one in (board, made, whole):
        one.put(ServerName("one"), ArticleId("100"), payloads)
    board.put(ServerName("gone"), ArticleId("100"), {TaskName("INT"): hits("P04637")})
    made.mark(TaskName("INT"), mark)
    board.regrade(made)
    first = Scoreboard([int_task])
    first.regrade(Scoreboard([act]))
    assert [task.name for task in first.tasks()] == ["ACT", "INT"]
    for name in ("ACT", "INT"):
        assert board.board(TaskName(name)) == whole.board(TaskName(name))


def crowded(task: ScoredTask, runs: int = 100) -> Scoreboard:
    board = Scoreboard([task])
    for number in range(runs):
        board.put(ServerName(f"s{number}"), ArticleId("100"), {TaskName("INT"): hits("P04637")})
    return board


def test_a_few_of_many_changed_runs_are_averaged_at_a_time(int_task: ScoredTask) -> None:
    board, name = crowded(int_task), TaskName("INT")
    first = board.recent(name)
    assert 0 < len(first) < 100
    assert list(first) == [f"s{number}" for number in range(len(first))]
    board.put(ServerName("s0"), ArticleId("200"), {name: hits("Q00987")})
    second = board.recent(name)
    assert second[ServerName("s0")] is first[ServerName("s0")]  # it is behind those that wait
    assert len(second) > len(first)
    while board.behind(name):
        board.recent(name)
    found = board.recent(name)
    assert found == board.scores(name)
    assert found[ServerName("s0")].articles_scored == 2
    assert board.recent(name)[ServerName("s0")] is found[ServerName("s0")]


async def test_all_changed_runs_are_averaged_for_who_waits(int_task: ScoredTask) -> None:
    board, name = crowded(int_task), TaskName("INT")
    await board.refresh(name)
    assert not board.behind(name)
    assert board.recent(name) == crowded(int_task).scores(name)
    board.drop(ServerName("s0"))
    assert ServerName("s0") not in board.recent(name)


def test_a_run_of_many_articles_is_averaged_all_the_same(int_task: ScoredTask) -> None:
    gold = replace(
        int_task.gold, items={f"a{number}": frozenset(["P04637"]) for number in range(50_000)}
    )
    board = Scoreboard([replace(int_task, gold=gold)])
    for name in ("one", "two"):
        board.put(ServerName(name), ArticleId("a1"), {TaskName("INT"): hits("P04637")})
    assert list(board.recent(TaskName("INT"))) == ["one"]
    assert list(board.recent(TaskName("INT"))) == ["one", "two"]
