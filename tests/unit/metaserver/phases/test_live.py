"""Live boards wake waiting viewers when something has changed."""

import asyncio

import msgspec
import pytest

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server, ServerName, TaskName
from metaserver.base.states import Outcome, RetryDecision
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import GoldMark, Scoreboard, ScoredTask
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.phases.live import TICK_SECONDS, LiveBoards, RunOwner
from metaserver.tasks.act import ACT
from scoring import ActGold
from tests import virtual
from tests.waiting import patience

SERVER = Server(name=ServerName("one"), url="http://127.0.0.1/")
CHANGE = LaneChanged(server=SERVER, in_flight=1, down="")
NAME = TaskName("ACT")


class Disk:
    full: str | None = None


def live(disk: Disk | None = None) -> LiveBoards:
    watch = ServerMonitor("test", 2, 600.0)
    watch.add(SERVER, "http://127.0.0.1:80")
    gold = ActGold(relevant={"100": True, "200": False})
    task = ScoredTask(plugin=ACT, gold=gold, release="2026_01")
    there = disk or Disk()
    return LiveBoards(watch, Scoreboard([task]), lambda: there.full)


def ended(answer: CheckedAnswer | None) -> AttemptEnded:
    return AttemptEnded(
        server=SERVER,
        serial=1,
        position=0,
        attempt=Attempt(
            server=SERVER.name, article=ArticleId("100"), number=1, started_at=0.0,
            outcome=answer.outcome if answer else Outcome.FAULT,
        ),
        answer=answer,
        decision=RetryDecision(answered=answer is not None),
    )  # fmt: skip


ANSWER = CheckedAnswer(
    outcome=Outcome.OK, message="", payloads={NAME: [True, 0.75]}, problems=(), problem_count=0,
    hits_kept=1, hits_dropped=0,
)  # fmt: skip


async def test_an_accepted_answer_is_on_both_boards() -> None:
    boards = live()
    boards.publish(ended(None))
    assert boards.board(NAME).rows == []
    boards.publish(ended(ANSWER))
    [row] = boards.board(NAME).rows
    assert (row.run, row.articles_scored) == ("one", 1)
    [status] = boards.monitor().servers
    assert (status.done, status.outcomes) == (1, {Outcome.OK: 1, Outcome.FAULT: 1})
    assert [task.name for task in boards.tasks()] == [NAME]


async def test_a_crowded_board_is_completed_while_it_is_shown() -> None:
    boards = live()
    for number in range(100):
        boards.scoreboard.put(ServerName(f"s{number}"), ArticleId("100"), ANSWER.payloads)
    start = await boards.changed(-1)
    assert len(boards.board(NAME).rows) < 100
    async with patience():
        assert await boards.changed(start) == start + 1
    assert len(boards.board(NAME).rows) == 100


async def test_a_crowded_board_is_complete_for_who_waits() -> None:
    boards = live()
    for number in range(100):
        boards.scoreboard.put(ServerName(f"s{number}"), ArticleId("100"), ANSWER.payloads)
    await boards.scoreboard.refresh(NAME)
    assert len(boards.board(NAME).rows) == 100


async def test_a_board_is_made_again_only_after_a_change_of_it() -> None:
    boards = live()
    boards.publish(ended(ANSWER))
    first = boards.board(NAME)
    boards.publish(ended(None))
    boards.enter(SERVER.name, RunOwner(team=""))
    second = boards.board(NAME)
    boards.publish(ended(None))
    assert boards.board(NAME) is second
    assert second.rows == first.rows
    boards.enter(SERVER.name, RunOwner(team="blue", offline=True))
    assert [(row.team, row.offline) for row in boards.board(NAME).rows] == [("blue", True)]
    boards.publish(ended(msgspec.structs.replace(ANSWER, payloads={NAME: [False, 0.75]})))
    [row] = boards.board(NAME).rows
    assert row.values != first.rows[0].values
    boards.leave(SERVER.name)
    assert boards.board(NAME).rows == []


async def test_who_is_behind_is_told_at_once() -> None:
    boards = live()
    start = await boards.changed(-1)
    boards.publish(CHANGE)
    boards.publish(CHANGE)
    assert await boards.changed(start) == start + 2


async def test_all_who_wait_are_woken() -> None:
    boards = live()
    start = await boards.changed(-1)
    waiting = [asyncio.create_task(boards.changed(start)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    boards.publish(CHANGE)
    assert await asyncio.gather(*waiting) == [start + 1] * 3


def test_a_quiet_board_ticks() -> None:
    async def tick() -> float:
        boards = live()
        start = await boards.changed(-1)
        await boards.changed(start)
        return asyncio.get_running_loop().time()

    assert virtual.run(tick()) == pytest.approx(TICK_SECONDS)


async def test_a_full_disk_is_on_the_monitor() -> None:
    disk = Disk()
    boards = live(disk)
    assert boards.monitor().blocked == ""
    disk.full = "database or disk is full"
    assert boards.monitor().blocked == "database or disk is full"


async def test_what_lands_while_a_board_is_made_can_be_scored_on_it() -> None:
    boards = live()
    with boards.landing(Scoreboard([])) as landed:
        boards.publish(ended(ANSWER))
        boards.publish(ended(None))
    assert [(answer.server, answer.article) for answer in landed] == [("one", "100")]
    boards.publish(ended(ANSWER))
    assert len(landed) == 1  # afterwards nothing is collected


async def test_another_gold_takes_the_place_of_a_board() -> None:
    boards = live()
    boards.publish(ended(ANSWER))
    before, version = await boards.settled(NAME), await boards.changed(-1)
    task = ScoredTask(plugin=ACT, gold=ActGold(relevant={"100": False}), release="2026_01")
    made = Scoreboard([task])
    made.put(SERVER.name, ArticleId("100"), ANSWER.payloads)
    made.mark(NAME, GoldMark(2, "c0ffee"))
    boards.regrade(NAME, made)
    assert await boards.changed(version) == version + 1
    after = boards.board(NAME)
    assert after.signature != before.signature
    [row] = after.rows
    assert (row.values["accuracy"], before.rows[0].values["accuracy"]) == (0.0, 1.0)
    assert before.rows[0].interval is not None
    assert row.interval is None  # the one of the earlier gold is gone
    boards.publish(ended(ANSWER))
    assert boards.board(NAME).rows[0].values == row.values


async def test_the_runs_of_a_team_are_counted_without_scores() -> None:
    boards = live()
    for run, team in (("one", "red"), ("two", "blue"), ("three", "blue"), ("empty", "blue")):
        boards.enter(ServerName(run), RunOwner(team=team))
    for run in ("one", "two", "three"):
        boards.scoreboard.put(ServerName(run), ArticleId("100"), ANSWER.payloads)
    assert [boards.counts(team)[NAME] for team in (None, "blue", "red", "green")] == [3, 2, 1, 0]


async def test_runs_that_are_behind_lose_their_intervals_and_others_keep_them() -> None:
    boards, runs = live(), [ServerName("one"), ServerName("two")]
    for run in runs:
        boards.scoreboard.put(run, ArticleId("100"), ANSWER.payloads)
    await boards.settled(NAME)
    lacking: set[ServerName] = set()
    boards._lacking = lambda: frozenset(lacking)

    def with_intervals() -> list[str]:
        return [row.run for row in boards.board(NAME).rows if row.interval is not None]

    assert with_intervals() == ["one", "two"]
    lacking.add(runs[0])
    assert with_intervals() == ["two"]
    boards.scoreboard.put(runs[0], ArticleId("200"), ANSWER.payloads)
    assert with_intervals() == ["two"]
    assert not boards.comparisons._asked  # none is made of runs that lack answers
    lacking.clear()
    assert with_intervals() == ["one", "two"]
    assert boards.comparisons._asked
