"""Lanes on the engine: each to its end, fairly, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from pgqueuer import PgQueuer

from metaserver.engine import SLICE, work_lanes
from metaserver.errors import HubError
from metaserver.lanes.lane import Lane, LaneEnd, LaneLimits
from metaserver.lifecycle import Backoff, Outcome
from metaserver.records import ArticleId, Attempt, Server, ServerName, ServerSaid
from metaserver.store.reader import Corpus
from metaserver.store.store import LaneState
from metaserver.store.writer import Entry, LaneKey
from metaserver.wire.validation import CheckedAnswer
from tests.answers import NO_HITS


class Servers:
    """A caller that answers at once and keeps the order of the calls; `silent` never answer."""

    def __init__(self, silent: Sequence[str] = ()) -> None:
        self.silent = silent
        self.calls: list[str] = []
        self.cancelled: list[str] = []

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        self.calls.append(server.name)
        try:
            await (asyncio.Event().wait() if server.name in self.silent else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled.append(server.name)
            raise
        attempt = Attempt(
            server=server.name,
            article=ArticleId(str(position)),
            number=number,
            started_at=0.0,
            outcome=Outcome.OK,
        )
        return attempt, NO_HITS

    async def probe(self, server: Server) -> str | None:
        return None

    async def state(self, server: Server) -> ServerSaid | None:
        return None


class Memory:
    """A recorder that keeps what lanes record, but for the lane that is `broken`."""

    blocked: str | None = None

    def __init__(self, broken: str = "") -> None:
        self.entries: list[tuple[str, int]] = []
        self._broken = broken

    async def record(self, entry: Entry) -> None:
        if entry.attempt.server == self._broken:
            raise HubError("not stored: no reason")
        self.entries.append((entry.attempt.server, entry.position))


def make_lanes(
    count: int, articles: int, servers: Servers, memory: Memory, concurrency: int = 1
) -> Sequence[Lane]:
    ids = tuple(ArticleId(str(position)) for position in range(articles))
    backoff = Backoff(base=1e-6, cap=1e-6)
    return [
        Lane(
            Server(name=ServerName(f"s{n}"), url="http://127.0.0.1/", concurrency=concurrency),
            Corpus(id=1, ids=ids, wire_bytes=(0,) * articles),
            LaneState(key=LaneKey(1, n), epoch=1, cursor=0, finished=frozenset(), tries={}),
            LaneLimits(backoff=backoff, probe=backoff),
            caller=servers,
            recorder=memory,
            publish=lambda event: None,
        )
        for n in range(count)
    ]


def everything(count: int, articles: int) -> list[tuple[str, int]]:
    return sorted((f"s{n}", position) for n in range(count) for position in range(articles))


async def test_every_lane_comes_to_its_end() -> None:
    servers, memory = Servers(), Memory()
    ends = await work_lanes(make_lanes(5, 7, servers, memory))
    assert ends == {f"s{n}": LaneEnd.FINISHED for n in range(5)}
    assert sorted(memory.entries) == everything(5, 7)


async def test_no_lane_and_no_article_is_no_work() -> None:
    assert await work_lanes([]) == {}
    assert await work_lanes(make_lanes(1, 0, Servers(), Memory())) == {"s0": LaneEnd.FINISHED}


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_more_lanes_than_places_take_turns(concurrency: int) -> None:
    articles = 2 * SLICE * concurrency + 1
    servers, memory = Servers(), Memory()
    lanes = make_lanes(5, articles, servers, memory, concurrency)
    ends = await work_lanes(lanes, max_lanes=2)
    assert set(ends.values()) == {LaneEnd.FINISHED}
    assert sorted(memory.entries) == everything(5, articles)
    # Nobody has a second turn before all have had their first.
    first = {name: servers.calls.index(name) for name in ends}
    seconds = [
        [place for place, name in enumerate(servers.calls) if name == lane][SLICE * concurrency]
        for lane in ends
    ]
    assert max(first.values()) < min(seconds)


async def test_a_lane_that_fails_by_our_fault_ends_alone() -> None:
    servers, memory = Servers(), Memory(broken="s1")
    lanes = make_lanes(3, 4, servers, memory)
    with pytest.raises(HubError, match=r"lane s1 stopped .*: HubError\('not stored: no reason'\)"):
        await work_lanes(lanes)
    assert sorted(memory.entries) == [entry for entry in everything(3, 4) if entry[0] != "s1"]


async def test_cancelled_it_stops_its_lanes_first() -> None:
    servers, memory = Servers(silent=("s0", "s2")), Memory()
    engine = asyncio.create_task(work_lanes(make_lanes(3, 4, servers, memory)))
    while len(memory.entries) < 4 or len(servers.calls) < 6:
        await asyncio.sleep(0)
    engine.cancel()
    with pytest.raises(asyncio.CancelledError):
        await engine
    assert sorted(servers.cancelled) == ["s0", "s2"]
    assert sorted(memory.entries) == [("s1", position) for position in range(4)]


async def test_cancelled_at_any_moment_it_stops() -> None:
    """Above all while its jobs are being picked up, when no lane is at work yet."""
    for turns in range(60):
        servers = Servers(silent=("s0", "s1"))
        engine = asyncio.create_task(work_lanes(make_lanes(2, 1, servers, Memory())))
        for _ in range(turns):
            await asyncio.sleep(0)
        engine.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(20):
                await engine
        assert sorted(servers.cancelled) == sorted(servers.calls)


async def test_a_supervisor_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaserver.engine.RESTART_SECONDS", 0.0)
    deaths = iter([ConnectionError("gone"), ConnectionError("gone again")])
    run = PgQueuer.run

    async def dying(queue: PgQueuer, **options: Any) -> None:
        if error := next(deaths, None):
            raise error
        await run(queue, **options)

    monkeypatch.setattr(PgQueuer, "run", dying)
    servers, memory = Servers(), Memory()
    ends = await work_lanes(make_lanes(3, 4, servers, memory))
    assert set(ends.values()) == {LaneEnd.FINISHED}
    assert sorted(memory.entries) == everything(3, 4)
    assert next(deaths, None) is None


async def test_a_supervisor_that_dies_at_work_takes_its_lanes_along_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where its database restarts: what waits for an answer is asked again."""
    monkeypatch.setattr("metaserver.engine.RESTART_SECONDS", 0.0)
    servers, memory = Servers(silent=("s0",)), Memory()
    died = False
    run = PgQueuer.run

    async def dying(queue: PgQueuer, **options: Any) -> None:
        nonlocal died
        if died:
            await run(queue, **options)
            return
        working = asyncio.create_task(run(queue, **options))
        while len(memory.entries) < 8 or "s0" not in servers.calls:
            await asyncio.sleep(0)
        died, servers.silent = True, ()
        working.add_done_callback(lambda task: task.cancelled() or task.exception())
        raise ConnectionError("gone")

    monkeypatch.setattr(PgQueuer, "run", dying)
    async with asyncio.timeout(timedelta(minutes=1).total_seconds()):
        ends = await work_lanes(make_lanes(3, 4, servers, memory))
    assert set(ends.values()) == {LaneEnd.FINISHED}
    assert servers.cancelled == ["s0"]
    assert sorted(memory.entries) == everything(3, 4)
