"""Intervals and levels: those of the evaluator, computed aside, and only when they are needed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.records import ArticleId, Server, ServerName, TaskName
from metaserver.boards.comparisons import Comparisons
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.phases.live import LiveBoards, RunOwner
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.ner import NER
from scoring import evaluate_files
from scoring.significance import compare
from tests.waiting import patience

NAME = TaskName("INT")
GOLD = "".join(f"{100 + i}\tP{10000 + i}\n{100 + i}\tQ{20000 + i}\n" for i in range(12))
RIGHT = {"good": 9, "middling": 6, "bad": 2}
"""How many articles each run has right."""

ANSWERED = ArticlePolicy.ANSWERED


def payload(run: str, i: int) -> list[list[Any]]:
    found = f"P{10000 + i}" if i < RIGHT[run] else "O00000"
    return [["O99999", 1, 0.9], [found, 2, 0.5]]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    (tmp_path / "gold.tsv").write_text(GOLD)
    return tmp_path / "gold.tsv"


@pytest.fixture
def scoreboard(gold: Path) -> Scoreboard:
    task = ScoredTask(plugin=INT, gold=INT.read_gold(gold), release="2026_01")
    board = Scoreboard([task])
    for run in RIGHT:
        put(board, run)
    return board


def put(board: Scoreboard, run: str, articles: int = 12) -> None:
    for i in range(articles):
        board.put(ServerName(run), ArticleId(str(100 + i)), {NAME: payload(run, i)})


def live(scoreboard: Scoreboard) -> LiveBoards:
    watch = ServerMonitor("test", 2, 600.0)
    watch.add(Server(name=ServerName("good"), url="http://127.0.0.1/"), "http://127.0.0.1:80")
    return LiveBoards(watch, scoreboard, lambda: None)


async def test_intervals_are_those_of_scoring_compare_on_the_result_files(
    scoreboard, gold, tmp_path
):
    cards = []
    for run in RIGHT:
        answers = [(ArticleId(str(100 + i)), payload(run, i)) for i in range(12)]
        (tmp_path / f"{run}.tsv").write_text("".join(INT.result_lines(answers)))
        cards.append(evaluate_files("INT", gold, tmp_path / f"{run}.tsv"))
    afresh = compare(INT.read_gold(gold), cards, pairs=False)
    board = await live(scoreboard).settled(NAME)
    assert [row.run for row in board.rows] == ["good", "middling", "bad"]
    for row, expected in zip(board.rows, afresh.intervals, strict=True):
        assert row.interval.low == pytest.approx(expected.low)
        assert row.interval.high == pytest.approx(expected.high)
        ranks = (row.interval.best_rank, row.interval.worst_rank)
        assert ranks == (expected.best_rank, expected.worst_rank)
        assert row.interval.score == pytest.approx(row.values["auc_ipr"])
    assert board.resampling == "10,000 resamples of the articles, seed 2009, expanded intervals"


async def test_a_board_that_is_looked_at_gets_its_intervals_and_says_so(scoreboard):
    boards = live(scoreboard)
    start = await boards.changed(-1)
    assert [row.interval for row in boards.board(NAME).rows] == [None] * 3
    async with patience():
        assert await boards.changed(start) == start + 1
    assert all(row.interval for row in boards.board(NAME).rows)


async def test_only_what_changed_is_computed_again(scoreboard: Scoreboard) -> None:
    told: asyncio.Queue[None] = asyncio.Queue()
    comparisons = Comparisons(scoreboard, lambda: told.put_nowait(None), pause=0.0)
    assert comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is None
    async with patience():
        await told.get()
    first = comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw"))
    assert set(first.intervals) == set(RIGHT)
    assert comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is first
    put(scoreboard, "bad", articles=1)
    assert (
        comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is first
    )  # until the other is ready
    async with patience():
        await told.get()
    assert comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is not first
    assert told.empty()


async def test_runs_without_a_score_and_tasks_without_lists_have_no_intervals(scoreboard, tmp_path):
    scoreboard.put(ServerName("silent"), ArticleId("100"), {NAME: []})
    rows = {row.run: row for row in (await live(scoreboard).settled(NAME)).rows}
    assert rows[ServerName("silent")].interval is None
    assert rows[ServerName("bad")].interval is not None
    (tmp_path / "ner.tsv").write_text("100\t0-2\tp53\tprotein\n")
    task = ScoredTask(plugin=NER, gold=NER.read_gold(tmp_path / "ner.tsv"), release="2026_01")
    boards = live(Scoreboard([task]))
    assert (await boards.settled(NER.name)).resampling == ""
    assert boards.articles(NER.name).measure == ""


async def test_a_comparison_that_fails_leaves_the_board_as_it_was(scoreboard, caplog):
    told: asyncio.Queue[None] = asyncio.Queue()
    comparisons = Comparisons(scoreboard, lambda: told.put_nowait(None), pause=0.0)
    scored = scoreboard.scored_task(NAME)
    object.__setattr__(scored, "gold", None)
    assert comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is None
    async with patience():
        await told.get()
    assert "cannot compare the runs of INT (raw)" in caplog.text
    assert comparisons.newest(NAME, "raw", ANSWERED, scoreboard.scores(NAME, "raw")) is None


async def test_articles_are_shown_that_three_teams_answered(scoreboard: Scoreboard) -> None:
    boards = live(scoreboard)
    assert not boards.articles(NAME).ready
    await boards.settled(NAME)
    shown = boards.articles(NAME)
    assert (len(shown.levels), shown.withheld, shown.measure) == (12, 0, "AUC iP/R")
    means = [level.mean for level in shown.levels]
    assert means == sorted(means, reverse=True)
    boards.enter(ServerName("good"), RunOwner(team="x"))
    boards.enter(ServerName("bad"), RunOwner(team="x", offline=True))
    shown = boards.articles(NAME)
    assert (len(shown.levels), shown.withheld) == (0, 12)
    rows = {row.run: row for row in boards.board(NAME).rows}
    assert (rows[ServerName("bad")].team, rows[ServerName("bad")].offline) == ("x", True)


async def test_articles_of_a_third_team_with_too_little_coverage_are_not_shown(gold: Path) -> None:
    task = ScoredTask(plugin=INT, gold=INT.read_gold(gold), release="2026_01")
    scoreboard = Scoreboard([task], Ranking(min_coverage=0.5))
    answered = {"good": 12, "middling": 12, "bad": 2}
    for run, articles in answered.items():
        put(scoreboard, run, articles)
    boards = live(scoreboard)
    await boards.settled(NAME, policy=ANSWERED)
    shown = boards.articles(NAME)
    covering = [run for run, articles in answered.items() if articles / 12 >= shown.least]
    assert (shown.least, len(covering)) == (0.5, 2)
    assert (len(shown.levels), shown.withheld) == (0, 12)


async def test_act_articles_have_mean_ranks(tmp_path: Path) -> None:
    (tmp_path / "act.tsv").write_text("100\t1\n200\t0\n")
    task = ScoredTask(plugin=ACT, gold=ACT.read_gold(tmp_path / "act.tsv"), release="2026_01")
    board = Scoreboard([task])
    for run, first in (("a", 0.9), ("b", 0.8), ("c", 0.1)):
        for article, confidence in (("100", first), ("200", 0.5)):
            board.put(ServerName(run), ArticleId(article), {ACT.name: [True, confidence]})
    boards = live(board)
    await boards.settled(ACT.name)
    levels = boards.articles(ACT.name).levels
    assert [level.article for level in levels] == ["100", "200"]
    assert 1 < levels[0].mean < levels[1].mean < 2
    assert levels[0].runs == {"a", "b", "c"}


async def test_a_board_by_another_measure_has_its_intervals_or_says_why_not(scoreboard, tmp_path):
    scoreboard.rank(Ranking(measure="recall", min_coverage=0))
    board = await live(scoreboard).settled(NAME)
    assert (board.order[0], board.unresampled) == ("recall", "")
    for row in board.rows:
        assert row.interval.score == pytest.approx(row.values["recall"])
    (tmp_path / "act.tsv").write_text("100\t1\n200\t0\n")
    task = ScoredTask(plugin=ACT, gold=ACT.read_gold(tmp_path / "act.tsv"), release="2026_01")
    classified = Scoreboard([task], Ranking(measure="precision_at_full_recall", min_coverage=0))
    classified.put(ServerName("a"), ArticleId("100"), {ACT.name: [True, 0.5]})
    board = await live(classified).settled(ACT.name)
    assert (board.rows[0].interval, board.resampling) == (None, "")
    assert board.unresampled.startswith("P at full R has no intervals")
    classified.rank(Ranking(measure="specificity", min_coverage=0))
    board = await live(classified).settled(ACT.name)
    assert board.rows[0].interval is not None
    assert (board.resampling != "", board.unresampled) == (True, "")
