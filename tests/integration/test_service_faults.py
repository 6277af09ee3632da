"""Faults on the hub's own side: clocks that jump, its own errors, years of work."""

import asyncio
import gc
import logging
import time
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from aiohttp import web

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.plans import LimitSettings
from metaserver.base.states import PhaseState
from metaserver.config import CircuitSettings, RetrySettings
from metaserver.store import audit
from metaserver.store.tables import articles
from tests.fakes.clock import ShiftedClock
from tests.hubs.command import ARTICLES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.integration.kits import annotate, answer_for, asked_server, refusing, served
from tests.waiting import until

HOUR, YEAR = 3_600.0, 366 * 86_400.0


async def begin(running: Running, url: str) -> None:
    """Plan and open a phase, and register a server that passes its test."""
    await plan_phase(running, teams=["blue"])
    await running.register(url)
    await running.do("phases.open", phase="test")


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [YEAR, -YEAR, 2 * LimitSettings().timeout])
async def test_a_clock_that_jumps_fires_and_starves_nothing(tmp_path: Path, ahead: float) -> None:
    clock, jumped = ShiftedClock(), asyncio.Event()

    async def after_the_jump(text: str, _context: Context) -> Answer:
        if running.service.phase("test").state is PhaseState.TEST:
            await jumped.wait()
        return answer_for(text)

    given = await settings(
        tmp_path, retry=RetrySettings(base=0.05, cap=0.1), circuit=CircuitSettings(failures=1)
    )
    async with at_work(given, clock=clock) as running, served(Kit(after_the_jump)) as url:
        await begin(running, url)
        await running.do("servers.start", running.team("blue"), server="blue-1")
        await running.until(lambda: running.status().in_flight == 1)
        clock.ahead, looks = ahead, clock.looks
        await until(lambda: clock.looks > looks + 4)  # the loops see it
        jumped.set()
        await running.done()
        assert dict(running.status().outcomes) == {"ok": ARTICLES}
        await running.do("servers.measures", running.team("blue"), server="blue-1")


async def test_a_server_that_is_down_is_found_back_though_the_clock_is_set_back(tmp_path):
    clock = ShiftedClock()
    given = await settings(
        tmp_path, circuit=CircuitSettings(failures=1, probe_base=0.1, probe_cap=0.2)
    )
    async with at_work(given, clock=clock) as running:
        async with asked_server() as asked:
            await begin(running, asked.url)
            port = int(asked.url.rstrip("/").rpartition(":")[2])
        down = refusing(port)
        await running.do("servers.start", running.team("blue"), server="blue-1")
        await running.until(lambda: running.status().state == "down")
        clock.ahead = -YEAR
        async with asked_server(at=down):
            await running.done()


@pytest.mark.slow
async def test_a_clock_that_is_set_back_opens_no_frozen_phase(tmp_path: Path) -> None:
    clock = ShiftedClock()
    given = await settings(tmp_path)

    def date(ahead: float) -> str:
        return datetime.fromtimestamp(time.time() + ahead, UTC).isoformat()

    async with at_work(given, clock=clock) as running:
        await plan_phase(running, opens=date(HOUR), freezes=date(2 * HOUR))
        phase = running.service.phase("test")
        assert phase.state is PhaseState.SETUP
        for ahead, state in ((1.5 * HOUR, "test"), (0.0, "test"), (2.5 * HOUR, "frozen")):
            clock.ahead = ahead
            await running.until(lambda state=state: phase.state == state)
        clock.ahead = 0.0
        await running.service.phases.scheduler.advance(phase)
        assert phase.state is PhaseState.FROZEN
        async with running.service.store.reading() as connection:
            noted = await audit.entries(connection, subject="test", action="phase.state")
    assert [entry.detail["after"] for entry in noted] == ["frozen", "test"]
    assert {entry.actor for entry in noted} == {"clock"}

    async with at_work(given, clock=clock) as running:  # remembered
        phase = running.service.phase("test")
        await running.until(lambda: phase.state is not None)
        assert phase.state is PhaseState.FROZEN
        opened = await running.do("phases.update", phase="test", title="The same dates")
        assert opened.state is PhaseState.FROZEN
        opened = await running.do("phases.open", phase="test")  # a hand may
        assert opened.state is PhaseState.TEST


async def test_other_dates_lead_a_phase_back_that_its_dates_have_led(tmp_path: Path) -> None:
    now = datetime.now(UTC).timestamp()

    def date(ahead: float) -> str:
        return datetime.fromtimestamp(now + ahead, UTC).isoformat()

    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, opens=date(-HOUR), freezes=date(-1.0))
        phase = running.service.phase("test")
        await running.until(lambda: phase.phase.reached is PhaseState.FROZEN)
        changed = await running.do("phases.update", phase="test", freezes=date(HOUR))
        assert changed.state is PhaseState.TEST
        await running.do("phases.freeze", phase="test")
        changed = await running.do("phases.update", phase="test", freezes=date(2 * HOUR))
        assert changed.state is PhaseState.FROZEN  # manually


@pytest.mark.slow
async def test_a_fault_of_ours_ends_one_lane_alone(tmp_path, caplog):
    async with at_work(await settings(tmp_path)) as running, served(Kit(annotate)) as url:
        await begin(running, url)
        blue = running.team("blue")
        phase = running.service.phase("test")
        text = articles.c.corpus_id == phase.corpus.id, articles.c.position == 5
        async with running.service.store.writing() as connection:
            good = await connection.scalar(sa.select(articles.c.text).where(*text))
            await connection.execute(sa.update(articles).where(*text).values(text=b"not zstd"))
        with caplog.at_level(logging.ERROR):
            await running.do("servers.start", blue, server="blue-1")
            await running.until(lambda: running.status().state == "suspended")
            said = "phase test sends blue-1 nothing until it is started"
            await running.until(lambda: said in caplog.text)
        detail = await running.do("servers.get", blue, server="blue-1")
        assert detail.phases[0].note.startswith("stopped by a fault of the hub")
        attempts = await running.do("servers.attempts", blue, server="blue-1")
        assert {attempt.outcome for attempt in attempts} <= {"ok"}  # nothing is charged
        assert (await running.do("hub.status")).lanes == 0

        await running.register(url, "blue-2")  # the hub goes on
        async with running.service.store.writing() as connection:
            await connection.execute(sa.update(articles).where(*text).values(text=good))
        for name in ("blue-1", "blue-2"):
            await running.do("servers.start", server=name)  # by an organiser
        for name in ("blue-1", "blue-2"):
            await running.done(server=name)


FAULT = (
    b"<?xml version='1.0'?><methodResponse><fault><value><struct>"
    b"<member><name>faultCode</name><value><int>1</int></value></member>"
    b"<member><name>faultString</name><value>not today</value></member>"
    b"</struct></value></fault></methodResponse>"
)


class Failing(Kit):
    """A kit that can be switched to answer only faults, at next to no cost."""

    failing = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.failing:
            await request.read()
            return web.Response(body=FAULT, content_type="text/xml")
        return await super().handle(request)


@pytest.mark.no_cover  # traced it takes far longer, and other tests cover what it runs
@pytest.mark.nightly
@pytest.mark.one_store("twenty thousand attempts of one lane, each a commit, take minutes")
async def test_attempts_leave_nothing_in_memory(tmp_path: Path) -> None:
    """An answer leaves its hits on the boards; an attempt that is none leaves nothing."""
    kit = Failing(annotate)
    given = await settings(
        tmp_path,
        limits=LimitSettings(timeout=20.0, attempts=1_000_000),
        retry=RetrySettings(base=1e-6, cap=1e-6),
    )
    async with at_work(given) as running, served(kit) as url:
        await begin(running, url)
        kit.failing = True
        await running.do("servers.start", running.team("blue"), server="blue-1")

        async def held_after(attempts: int) -> int:
            await until(lambda: sum(running.status().outcomes.values()) >= attempts, seconds=300)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = await held_after(4_000)
            after = await held_after(20_000)
        finally:
            tracemalloc.stop()
        await running.do("servers.pause", running.team("blue"), server="blue-1")
    grown = after - before
    print(f"{grown / 16_000:.1f} bytes an attempt")
    # Measures wait to be counted, a thousand at most: that is all that comes and goes.
    assert grown < 2**20
