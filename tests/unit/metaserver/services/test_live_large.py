"""Large answers are prepared in a thread; the boards are those of scoring in order all the same."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.lanes.events import AttemptEnded
from metaserver.lifecycle import Outcome, RetryDecision
from metaserver.records import ArticleId, Attempt, Server, ServerName, TaskName
from metaserver.services.live import LARGE, Landed, LiveBoards
from metaserver.services.monitor import Watch
from metaserver.services.scoreboard import Scoreboard, ScoredTask
from metaserver.tasks.int_ import INT
from metaserver.tasks.plugin import Score
from metaserver.tasks.scores import TaskScorer
from metaserver.wire.validation import CheckedAnswer
from scoring import ItemGold
from scoring.tasks import Task

NAME = TaskName("INT")
SERVERS = {name: Server(name=ServerName(name), url="http://127.0.0.1/") for name in ("a", "b")}
ACCESSIONS = ["P04637", "P38398", "Q00987", "P10636"]


def hits(accessions: Sequence[str]) -> list[list[Any]]:
    return [[accession, rank, 1 / rank] for rank, accession in enumerate(accessions, 1)]


def ended(server: str, article: str, payload: Any, *, large: bool = True) -> AttemptEnded:
    answer = CheckedAnswer(
        outcome=Outcome.OK,
        message="",
        payloads={NAME: payload},
        problems=(),
        problem_count=0,
        hits_kept=LARGE + 1 if large else LARGE,
        hits_dropped=0,
    )
    attempt = Attempt(
        server=ServerName(server),
        article=ArticleId(article),
        number=1,
        started_at=0.0,
        outcome=Outcome.OK,
    )
    return AttemptEnded(
        server=SERVERS[server],
        position=0,
        attempt=attempt,
        answer=answer,
        decision=RetryDecision(answered=True),
    )


@dataclass
class Gate:
    """Where `prepare` waits, and the threads that it was called in."""

    threads: list[int] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)


class Gated:
    """A scorer of INT whose `prepare` waits at a gate."""

    def __init__(self, inner: TaskScorer, gate: Gate) -> None:
        self._inner, self._gate = inner, gate

    def prepare(self, article: ArticleId, payload: Any) -> Any:
        self._gate.threads.append(threading.get_ident())
        self._gate.begun.set()
        assert self._gate.may_end.wait(60)
        return self._inner.prepare(article, payload)

    def keep(self, article: ArticleId, prepared: Any) -> None:
        self._inner.keep(article, prepared)

    def score(self) -> Score:
        return self._inner.score()


def task(accession: str, gate: Gate | None = None) -> ScoredTask:
    """Return INT on the gold that an article has one accession, in a second view as well."""
    items = {article: frozenset([accession]) for article in ("1", "2")}
    gold = ItemGold(task=Task.INT, items=items)

    def scorer() -> Any:
        return Gated(INT.scorer(gold), gate) if gate else INT.scorer(gold)

    return ScoredTask(plugin=INT, gold=gold, release="r", views={"again": scorer})


def live(scored: ScoredTask) -> LiveBoards:
    watch = Watch("test", 2, 600.0)
    for server in SERVERS.values():
        watch.add(server, "http://127.0.0.1:80")
    return LiveBoards(watch, Scoreboard([scored]), lambda: None)


def boards_of(board: Scoreboard) -> Sequence[Any]:
    """Return the boards of all views."""
    return [board.board(NAME, view) for view in board.views(NAME)]


async def land(boards: LiveBoards, event: AttemptEnded) -> None:
    """Do with an ended attempt what a lane does."""
    await boards.prepare(event)
    boards.publish(event)


async def begun(gate: Gate, boards: LiveBoards, event: AttemptEnded) -> asyncio.Task[None]:
    landing = asyncio.create_task(land(boards, event))
    assert await asyncio.to_thread(gate.begun.wait, 60)
    return landing


async def test_a_large_answer_is_prepared_in_a_thread_once() -> None:
    gate = Gate()
    gate.may_end.set()
    boards = live(task("P04637", gate))
    await land(boards, ended("a", "1", hits(["P04637"])))
    assert len(gate.threads) == 1
    assert threading.get_ident() not in gate.threads
    await land(boards, ended("a", "1", hits(["P38398"]), large=False))
    assert gate.threads[1:] == [threading.get_ident()]
    [row] = boards.board(NAME, "again").rows
    assert row.score.values["fp"] == 1


async def test_the_gold_may_change_while_an_answer_is_prepared() -> None:
    old, new = Gate(), Gate()
    new.may_end.set()
    boards = live(task("P04637", old))
    landing = await begun(old, boards, ended("a", "1", hits(["P04637", "P38398"])))
    boards.regrade(NAME, Scoreboard([task("P38398", new)]))
    old.may_end.set()
    await landing
    assert threading.get_ident() not in new.threads
    afresh = Scoreboard([task("P38398")])
    afresh.put(ServerName("a"), ArticleId("1"), {NAME: hits(["P04637", "P38398"])})
    assert boards_of(boards.scoreboard) == boards_of(afresh)


async def test_a_board_may_be_made_beside_while_an_answer_is_prepared() -> None:
    old, new = Gate(), Gate()
    new.may_end.set()
    boards = live(task("P04637", old))
    landing = await begun(old, boards, ended("a", "1", hits(["P04637"])))
    beside = Scoreboard([task("P38398", new)])
    with boards.landing(beside) as landed:
        old.may_end.set()
        await landing
        [answer] = landed
        assert beside.is_prepared(answer.payloads, answer.prepared)
        beside.put(*answer)
    assert len(new.threads) == 1
    assert threading.get_ident() not in new.threads


async def test_an_answer_that_lands_while_a_run_leaves_comes_after_it() -> None:
    gate = Gate()
    boards = live(task("P04637", gate))
    landing = await begun(gate, boards, ended("a", "1", hits(["P04637"])))
    boards.leave(ServerName("a"))
    gate.may_end.set()
    await landing
    assert [row.run for row in boards.board(NAME).rows] == ["a"]


async def test_answers_that_were_kept_are_restored_in_a_thread() -> None:
    gate = Gate()
    gate.may_end.set()
    boards = live(task("P04637", gate))
    answers = [
        Landed(ServerName("a"), ArticleId(article), {NAME: hits(["P04637"])})
        for article in ("1", "2", "elsewhere")
    ]
    await boards.restore(answers)
    assert len(gate.threads) == 3
    assert threading.get_ident() not in gate.threads
    assert boards.board(NAME).rows[0].score.articles_scored == 2


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("land"),
            st.sampled_from(sorted(SERVERS)),
            st.sampled_from(["1", "2", "not in the gold"]),
            st.lists(st.sampled_from(ACCESSIONS), unique=True),
            st.booleans(),
        ),
        st.tuples(st.just("gold"), st.sampled_from(ACCESSIONS)),
        st.tuples(st.just("leave"), st.sampled_from(sorted(SERVERS))),
        st.tuples(st.just("mean")),
    ),
    max_size=16,
)


class Hub:
    """Does steps at the same time, and remembers what a store would."""

    def __init__(self) -> None:
        self.task = task("P04637")
        self.boards = live(self.task)
        self.stored: dict[str, dict[str, Any]] = {}
        self._scoring = asyncio.Lock()
        self._lanes: dict[tuple[str, str], asyncio.Lock] = {}
        self._landing: Counter[str] = Counter()

    async def land(self, server: str, article: str, found: Sequence[str], large: bool) -> None:
        async with self._lanes.setdefault((server, article), asyncio.Lock()):
            self._landing[server] += 1
            self.stored.setdefault(server, {})[article] = hits(found)
            await land(self.boards, ended(server, article, hits(found), large=large))
            self._landing[server] -= 1

    async def gold(self, accession: str) -> None:
        async with self._scoring:
            scored = task(accession)
            board = Scoreboard([scored])
            with self.boards.landing(board) as landed:
                stored = {server: dict(answers) for server, answers in self.stored.items()}
                for server, answers in stored.items():
                    await asyncio.to_thread(fill, board, server, answers)
                for answer in landed:
                    assert not answer.prepared or board.is_prepared(*answer[2:])
                    board.put(*answer)
                self.boards.regrade(NAME, board)
                self.task = scored

    async def leave(self, server: str) -> None:
        async with self._scoring:
            if not self._landing[server]:  # no run leaves whose server is at work
                self.stored.pop(server, None)
                self.boards.leave(ServerName(server))

    async def mean(self) -> None:
        await self.boards.scoreboard.averaged(NAME)


def fill(board: Scoreboard, server: str, answers: Mapping[str, Any]) -> None:
    for article, payload in answers.items():
        board.put(ServerName(server), ArticleId(article), {NAME: payload})


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, pauses=st.lists(st.integers(0, 3), min_size=16, max_size=16))
def test_the_boards_are_those_of_scoring_in_order(
    steps: list[tuple[Any, ...]], pauses: list[int]
) -> None:
    async def play() -> None:
        hub = Hub()
        async with asyncio.TaskGroup() as tasks:
            for (name, *given_to), pause in zip(steps, pauses, strict=False):
                tasks.create_task(getattr(hub, name)(*given_to))
                for _ in range(pause):
                    await asyncio.sleep(0)
        afresh = Scoreboard([hub.task])
        for server, answers in hub.stored.items():
            fill(afresh, server, answers)
        assert boards_of(hub.boards.scoreboard) == boards_of(afresh)

    asyncio.run(play())
