"""Whatever happens to a hub, its boards, monitor and windows are those of the stored attempts.

The oracle counts and scores every stored attempt itself, in the order of the serials.
"""

import asyncio
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from metaserver.base.compression import unpack_json
from metaserver.base.lanes import AttemptRecord, CheckedAnswer, LaneState
from metaserver.base.records import Attempt, Problem, Server, ServerName, TaskName, Timings
from metaserver.base.states import Control, Outcome, RetryDecision
from metaserver.boards.coverage import Coverage
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import Scoreboard
from metaserver.boards.tally import EndedAttempt
from metaserver.boards.windows import Window, Windows
from metaserver.cli.serve import open_service
from metaserver.config import Settings
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd
from metaserver.phases import log_reader, restore
from metaserver.phases.keeper import AggregateKeeper
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.phases.verification import verify
from metaserver.store import servers
from metaserver.store.tables import answers, attempts
from tests.fakes.clock import FakeClock
from tests.hubs.command import DEMO
from tests.hubs.inside import ORGANISER, Running, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.kept import take_lane

NAMES = ("one", "two", "three")
NOW = 1.0e9

steps = st.one_of(
    st.tuples(st.just("attempts"), st.integers(0, 2), st.integers(1, 6), st.booleans()),
    st.tuples(st.just("attempts"), st.integers(0, 2), st.integers(1, 6), st.booleans()),
    st.tuples(st.just("lost"), st.integers(0, 2)),
    st.tuples(st.just("requeue"), st.integers(0, 2)),
    st.tuples(st.just("gold"), st.sampled_from(("ACT", "INT")), st.integers(0, 3)),
    st.tuples(st.just("limit"), st.sampled_from((30.0, 60.0))),
    st.tuples(st.just("checkpoint")),
    st.tuples(st.just("restart"), st.booleans()),
    st.tuples(st.just("catch up")),
    st.tuples(st.just("wait"), st.sampled_from((30.0, 4_000.0, 90_000.0))),
)


class Scenario:
    """A hub without lanes of its own, which is given attempts as lanes would give them."""

    def __init__(self, given: Settings, seed: int) -> None:
        self.given = given
        self.rng = random.Random(seed)
        self.clock = FakeClock(NOW)
        self.lanes: dict[ServerName, LaneState] = {}
        self.tries: dict[tuple[ServerName, int], int] = {}
        self.next: dict[ServerName, int] = dict.fromkeys(map(ServerName, NAMES), 0)

    async def open(self, stack: AsyncExitStack) -> None:
        """Open the hub; nothing is caught up yet."""
        hub = await stack.enter_async_context(open_service(self.given, clock=self.clock))
        self.running = Running(hub)

    @property
    def phase(self) -> RunningPhase:
        return self.running.service.phase("test")

    async def begin(self) -> None:
        """Make the phase with its servers."""
        await plan_phase(self.running)
        await self.running.do("phases.open", ORGANISER, phase="test")
        store = self.running.service.store
        for name in NAMES:
            server = Server(name=ServerName(name), url="http://127.0.0.1:9/")
            async with store.writing() as connection:
                await servers.add(connection, server, None)
                registered = await servers.get(connection, server.name)
                assert registered is not None
                key = self.phase.key(registered)
                await servers.set_control(connection, key, Control.PAUSED)
            await self.phase.reload(Part.SERVERS, name)
        await self.take()

    async def take(self) -> None:
        for name, registered in self.phase.servers.items():
            self.lanes[name] = await take_lane(
                self.running.service.store, self.phase.key(registered)
            )

    async def attempts(self, index: int, count: int, *, publish: bool, shuffle: bool) -> None:
        """Store attempts of a lane, some together; publish them in some order, or not."""
        name = ServerName(NAMES[index])
        entries = [self._entry(name) for _ in range(count)]
        store = self.running.service.store
        serials = await asyncio.gather(*map(store.record, entries))
        events = [
            AttemptEnded(
                server=self.phase.servers[name].server,
                serial=serial,
                position=entry.position,
                attempt=entry.attempt,
                answer=entry.answer,
                decision=RetryDecision(
                    answered=entry.answer is not None, given_up=entry.final and entry.answer is None
                ),
            )
            for entry, serial in zip(entries, serials, strict=True)
        ]
        if shuffle:
            self.rng.shuffle(events)
        if publish:
            for event in events:
                if (slow := self.phase.boards.prepare(event)) is not None:
                    await slow
                self.phase.published(event)

    def _entry(self, name: ServerName) -> AttemptRecord:
        rng, lane = self.rng, self.lanes[name]
        position = self.next[name] % len(self.phase.corpus)
        fails = rng.random() < 0.4 or self.next[name] >= len(self.phase.corpus)
        final = not fails or rng.random() < 0.4
        if not fails or final:
            self.next[name] += 1
        number = self.tries[name, position] = self.tries.get((name, position), 0) + 1
        outcome = rng.choice((Outcome.TIMEOUT, Outcome.FAULT, Outcome.CONNECT))
        self.clock.now += rng.random()
        attempt = Attempt(
            server=name,
            article=self.phase.corpus.ids[position],
            number=number,
            started_at=self.clock.now - rng.random() * 5,
            outcome=outcome if fails else rng.choice((Outcome.OK, Outcome.PARTIAL)),
            timings=Timings(queue=0.0, wait=rng.random(), total=rng.lognormvariate(0, 1)),
            message="why" if fails else "",
        )
        return AttemptRecord(
            lane=lane.key, epoch=lane.epoch, position=position, attempt=attempt,
            answer=None if fails else self._answer(), final=final, cursor=0,
        )  # fmt: skip

    def _answer(self) -> CheckedAnswer:
        rng = self.rng
        hits = rng.sample(ACCESSIONS, rng.randrange(4))
        payloads: dict[TaskName, Any] = {
            TaskName("ACT"): [rng.random() < 0.5, rng.random() or 1.0],
            TaskName("INT"): [[one, rank, 1 / rank] for rank, one in enumerate(hits, 1)],
        }
        return CheckedAnswer(
            outcome=Outcome.OK, message="", payloads=payloads,
            problems=(Problem(path="", message=""),)[:0], problem_count=0, hits_kept=len(hits),
            hits_dropped=0,
        )  # fmt: skip

    async def requeue(self, index: int) -> None:
        registered = self.phase.servers[ServerName(NAMES[index])]
        async with self.running.service.store.writing() as connection:
            await servers.requeue(connection, self.phase.key(registered), None)
        self.phase.revise(registered.server.name)
        await self.phase.read_again(registered.server.name)
        await self.take()

    async def gold(self, task: str, shift: int) -> None:
        lines = (DEMO / f"gold_{task.lower()}.tsv").read_text().splitlines(keepends=True)
        content = "".join(lines[: len(lines) - shift]).encode()
        await self.running.do(
            "gold.set", ORGANISER, phase="test", task=task, content=content, source="g.tsv"
        )

    async def limit(self, seconds: float) -> None:
        await self.running.do("phases.update", ORGANISER, phase="test", limits={"timeout": seconds})

    async def check(self) -> None:
        """Compare all that is shown with all that is stored."""
        async with self.phase.scoring:
            await self.phase.catch_up()
        phase, now = self.phase, self.phase.boards
        limit = phase.settings.limits.timeout
        monitor = ServerMonitor(
            phase.name, len(phase.corpus), limit, clock=self.clock,
            opened=lambda: True,
        )  # fmt: skip
        windows = Windows(limit, clock=self.clock)
        over = dict.fromkeys(phase.servers, 0)  # a bit an article, the lowest is the first's
        size = len(phase.corpus) // 8 + 1
        coverage = Coverage(
            positions={one: place for place, one in enumerate(phase.corpus.ids)},
            over=lambda name: over[name].to_bytes(size, "little") if name in over else None,
            is_open=lambda: True,
        )
        board = Scoreboard(now.scoreboard.scored(), phase.phase.plan.ranking, coverage)
        for name, registered in phase.servers.items():
            monitor.add(registered.server, "http://127.0.0.1:9")
            monitor.control(name, Control.PAUSED)
            for attempt, final, position, payloads in await self._stored(name):
                monitor.attempt(attempt, position, final=final)
                hits = len(payloads[TaskName("INT")]) if payloads else 0
                sent = phase.corpus.wire_bytes[position]
                windows.attempt(
                    name, EndedAttempt.of(attempt, hits=hits, article_bytes=sent, final=final)
                )
                over[name] |= int(final) << position
                if payloads:
                    board.put(name, attempt.article, payloads)
        shown, expected = now.monitor(), monitor.snapshot()
        result = [(one.name, one) for one in shown.servers]
        assert result == [(one.name, one) for one in expected.servers]
        assert (shown.errors, shown.histogram, shown.p50, shown.p99) == (
            expected.errors, expected.histogram, expected.p50, expected.p99,
        )  # fmt: skip
        for name in phase.servers:
            for window in Window:
                found, right = phase.windows.window(name, window), windows.window(name, window)
                assert found == right, (name, window)
        for task in board.tasks():
            for view in board.views(task.name):
                assert now.scoreboard.board(task.name, view) == board.board(task.name, view)
                assert now.scoreboard.scores(task.name, view) == board.scores(task.name, view)
        store = self.running.service.store
        async for lane in verify(store, self.given, self.clock.now):
            assert not lane.differences, lane

    async def _stored(self, name):
        key = self.phase.key(self.phase.servers[name])
        store = self.running.service.store
        async with store.reading() as connection:
            of_lane = (attempts.c.phase_id == key[0], attempts.c.server_id == key[1])
            query = sa.select(attempts.c.serial, attempts.c.position, attempts.c.number)
            order = {row[1:]: row[0] for row in await connection.execute(query.where(*of_lane))}
            query = sa.select(answers.c.position, answers.c.number, answers.c.payloads)
            rows = await connection.execute(query.where(answers.c.server_id == key[1]))
            kept = {(position, number): unpack_json(data) for position, number, data in rows}
        found = {
            order[one.position, one.attempt.number]: one
            async for one in store.attempts(key, name, self.phase.corpus)
        }
        assert sorted(found) == list(range(1, len(found) + 1))
        return [
            (one.attempt, one.final, one.position, kept.get((one.position, one.attempt.number)))
            for _, one in sorted(found.items())
        ]


async def play(folder: Path, script: Sequence[tuple[Any, ...]], seed: int) -> None:
    scenario = Scenario(await settings(folder), seed)
    async with AsyncExitStack() as outer:
        stack = await outer.enter_async_context(AsyncExitStack())
        await scenario.open(stack)
        await scenario.begin()
        for step in (*script, ("restart", True), ("attempts", 0, 2, False)):
            match step:
                case ("attempts", index, number, shuffle):
                    await scenario.attempts(index, number, publish=True, shuffle=shuffle)
                case ("lost", index):  # stored, but its lane has a fault before it is published
                    await scenario.attempts(index, 1, publish=False, shuffle=False)
                    name = ServerName(NAMES[index])
                    server = scenario.phase.servers[name].server
                    lost = LaneChanged(server=server, in_flight=0, down="", end=LaneEnd.PAUSED)
                    scenario.phase.published(lost)
                    await scenario.take()
                    scenario.phase.follower.expect(name, scenario.lanes[name].serial)
                case ("requeue", index):
                    await scenario.requeue(index)
                case ("gold", task, shift):
                    await scenario.gold(task, shift)
                case ("limit", seconds):
                    await scenario.limit(seconds)
                case ("checkpoint",):
                    await scenario.running.service.part(AggregateKeeper).close()
                case ("catch up",):
                    await scenario.check()
                case ("wait", seconds):
                    scenario.clock.now += seconds
                case ("restart", cleanly):
                    if cleanly:
                        await scenario.running.service.part(AggregateKeeper).close()
                    await stack.aclose()
                    stack = await outer.enter_async_context(AsyncExitStack())
                    await scenario.open(stack)
                    await scenario.take()
        await scenario.check()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def follow(folder: Path, script: Sequence[tuple[Any, ...]], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=folder) as name:
        patch.setattr(log_reader, "CHUNK", 3)
        patch.setattr(log_reader, "PART", 5)
        patch.setattr(log_reader, "WORTH", 1)
        patch.setattr(restore, "FEW", 2)
        asyncio.run(play(Path(name), script, seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [pytest.param(2), pytest.param(60, marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_boards_are_those_of_the_stored_attempts(folder: Path, examples: int) -> None:
    @example(  # a log that is read again in parts, whose answers are scored already
        script=[
            ("attempts", 0, 5, False),
            ("attempts", 0, 6, True),
            ("lost", 0),
            ("requeue", 0),
            ("catch up",),
        ],
        seed=948,
    )
    @hypothesis_settings(max_examples=examples, deadline=None)
    @given(script=st.lists(steps, min_size=4, max_size=25), seed=st.integers(0, 2**32))
    def played(script: Sequence[tuple[Any, ...]], seed: int) -> None:
        follow(folder, script, seed)

    played()
