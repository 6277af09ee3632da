"""A run on the terminal: the live table, the plain line, leaderboards and outcome codes."""

import asyncio
import io

import pytest
from rich.console import Console

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server, ServerName, TaskName, Timings
from metaserver.base.states import Outcome, RetryDecision
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.cli.console import (
    PLAIN_SECONDS,
    make_console,
    monitor_table,
    print_summary,
    say,
    shown,
)
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd
from metaserver.phases.live import LiveBoards
from metaserver.tasks.act import ACT
from scoring import ActGold
from tests import virtual

ONE, TWO = (Server(name=ServerName(name), url="http://127.0.0.1/") for name in ("one", "two"))
FULL = "database or disk is full"


def ended(server: Server, outcome: Outcome, article: str, *, final: bool = True) -> AttemptEnded:
    answered = outcome is Outcome.OK
    return AttemptEnded(
        server=server,
        serial=1,
        position=0,
        attempt=Attempt(
            server=server.name, article=ArticleId(article), number=1, started_at=0.0,
            outcome=outcome, timings=Timings(total=2.0),
        ),
        answer=CheckedAnswer(
            outcome=outcome,
            message="",
            payloads={TaskName("ACT"): [article == "100", 0.75]},
            problems=(),
            problem_count=0,
            hits_kept=1,
            hits_dropped=0,
        )
        if answered
        else None,
        decision=RetryDecision(answered=answered, given_up=final and not answered),
    )  # fmt: skip


def make_boards(blocked: str | None = None) -> LiveBoards:
    watch = ServerMonitor("test", 2, 600.0)
    gold = ActGold(relevant={"100": True, "200": False})
    task = ScoredTask(plugin=ACT, gold=gold, release="2026_01")
    boards = LiveBoards(watch, Scoreboard([task]), lambda: blocked)
    for server in (ONE, TWO):
        watch.add(server, "http://127.0.0.1:80")
    boards.publish(ended(ONE, Outcome.OK, "100"))
    boards.publish(ended(ONE, Outcome.OK, "200"))
    boards.publish(LaneChanged(server=ONE, in_flight=0, down="", end=LaneEnd.FINISHED))
    boards.publish(ended(TWO, Outcome.CONNECT, "100", final=False))
    boards.publish(ended(TWO, Outcome.CONNECT, "100"))
    boards.publish(LaneChanged(server=TWO, in_flight=0, down="connect: refused"))
    return boards


def printed(console: Console) -> str:
    return console.file.getvalue()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=120)


def test_the_table_has_a_row_a_server(console: Console) -> None:
    console.print(monitor_table(make_boards().monitor()))
    head, one, two = printed(console).splitlines()
    assert head.split()[:3] == ["server", "state", "answered"]
    assert one.split()[:4] == ["one", "finished", "2/2", "0"]
    assert two.split()[:4] == ["two", "down", "0/2", "1"]
    assert two.split()[-1] == "2"  # errors; a server that is down has no time of arrival


def test_the_table_says_why_all_wait(console: Console) -> None:
    console.print(monitor_table(make_boards(FULL).monitor()))
    found = f"all servers wait: answers cannot be stored ({FULL})"
    assert found in " ".join(printed(console).split())


def test_a_pipe_gets_a_line_now_and_then(console: Console) -> None:
    async def watching() -> None:
        async with shown(make_boards(FULL), console):
            await asyncio.sleep(2.5 * PLAIN_SECONDS)

    virtual.run(watching())
    line = "3 of 4 articles, down: two; all servers wait: answers cannot be stored"
    assert printed(console).splitlines() == [f"{line} ({FULL})"] * 2


def test_a_terminal_gets_the_table_and_keeps_the_last() -> None:
    terminal = Console(file=io.StringIO(), width=120, force_terminal=True)
    boards = make_boards()

    async def watching() -> None:
        async with shown(boards, terminal):
            await asyncio.sleep(3)
            boards.publish(LaneChanged(server=TWO, in_flight=0, down=""))

    virtual.run(watching())
    drawn = printed(terminal)
    assert "down" in drawn
    assert "down" not in drawn[drawn.rindex("server") :]


async def test_the_summary_has_the_boards_and_the_outcome_codes(console: Console) -> None:
    boards = make_boards()
    afresh = {task.name: boards.board(task.name) for task in boards.tasks()}
    print_summary(console, boards.tasks(), afresh, boards.monitor())
    lines = [line.split() for line in printed(console).splitlines()]
    assert ["1", "one", "2/2"] in [line[:3] for line in lines]
    assert ["ok", "2", "one", "2"] in lines
    assert ["connect", "2", "two", "2"] in lines


def test_a_line_is_printed_as_it_is(console: Console) -> None:
    folder = "/results/[red]/" + "long/" * 50
    say(console, folder)
    assert printed(console) == folder + "\n"


def test_what_goes_into_a_pipe_is_not_cut_to_a_terminal(capsys):
    assert make_console().width == make_console(stderr=True).width == 120
