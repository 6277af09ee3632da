"""The control room: forecasts against the deadline, coverage, causes, what can be done about it."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.compression import unpack_json
from metaserver.base.errors import RefusedError
from metaserver.base.findings import FindingKind
from metaserver.base.states import PhaseState
from metaserver.boards.forecast import ForecastBasis, Verdict
from metaserver.operations.control_room import ControlRoom
from tests.fakes.clock import ShiftedClock
from tests.hubs.command import ARTICLES, DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import signed_in
from tests.hubs.stored import stored
from tests.integration.kits import answer_for, served
from tests.waiting import patience

ANSWERED = 10  # before the server holds its answers back
MINUTE = 60.0
ROOM = "/organise/phases/test/watch"


@dataclass
class SlowServer:
    """An annotation server whose articles take a minute each by the hub's clock."""

    clock: ShiftedClock
    answered: int = 0
    more: asyncio.Event = field(default_factory=asyncio.Event)

    async def annotate(self, text: str, _context: Context) -> Answer:
        if self.clock.ahead < 0:  # a test before the phase
            return answer_for(text)
        if self.answered == ANSWERED:
            await self.more.wait()
        self.answered += 1
        self.clock.ahead += MINUTE
        answer = answer_for(text)
        if self.answered % 3 == 0:  # it leaves a task out
            del answer["interaction"]
        return answer


@dataclass
class Watched:
    """A hub at work on a phase, and its slow server."""

    running: Running
    server: SlowServer

    async def room(self, **values: object) -> ControlRoom:
        found = await self.running.do("phases.watch", phase="test", **values)
        assert isinstance(found, ControlRoom)
        return found


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Watched]:
    """Run a phase that freezes 4 minutes after its server stops answering."""
    clock = ShiftedClock()
    server = SlowServer(clock)
    async with at_work(await settings(tmp_path), clock=clock) as running:
        await plan_phase(running, teams=["blue", "red"], title="Test phase")
        clock.ahead = -MINUTE
        async with served(Kit(server.annotate)) as url:
            await running.register(url)
            await running.register(url, "blue-2")
            clock.ahead = 0.0
            freezes = datetime.now(UTC) + timedelta(minutes=ANSWERED + 4)
            await running.do("phases.update", phase="test", freezes=freezes.isoformat())
            await running.do("phases.open", phase="test")
            await running.do("servers.start", running.team("blue"), server="blue-1")
            await running.done(ANSWERED)
            yield Watched(running, server)
            server.more.set()


async def test_a_server_that_misses_the_deadline_is_told_and_an_extension_mends_it(hub):
    room = await hub.room()
    [row] = room.servers
    assert (row.server, row.team, row.done, row.verdict) == ("blue-1", "blue", 10, Verdict.LATE)
    assert row.forecast is not None
    assert row.forecast.basis is ForecastBasis.PACE
    assert row.forecast.seconds == pytest.approx(22 * MINUTE, rel=0.2)
    assert room.left == pytest.approx(4 * MINUTE, rel=0.5)
    [late] = room.findings
    assert (late.kind, late.count) == (FindingKind.LATE, 1)
    assert late.subjects[0].text.startswith("blue-1 needs 2")
    assert "are left" in late.subjects[0].text
    assert room.deadline is not None
    assert room.deadline.state is PhaseState.FROZEN

    async with signed_in(hub.running) as ana:
        assert "blue-1 needs" in (await ana.get(ROOM)).said
        form = await ana.get("/organise/phases/test/extend")
        assert "the date below gives it that long" in form.said
        [suggested] = re.findall(r'name="freezes"[^>]* value="([^"]+)"', form.text)
        done = await ana.post("/organise/phases/test/extend", freezes=suggested, timezone="UTC")
        assert done.path == ROOM
        assert "Nothing now." in done.said
    room = await hub.room()
    assert (room.servers[0].verdict, room.findings) == (Verdict.IN_TIME, ())


async def test_teams_causes_and_pages_are_counted(hub: Watched) -> None:
    file = b"sample01\tP04637\t1\t0.5\nsample02\tP04637\t1\t0.5\n"
    await hub.running.do(
        "runs.upload", phase="test", task="INT", run="red-run", team="red", content=file
    )
    room = await hub.room()
    assert (room.done, room.total, room.articles) == (ANSWERED, ARTICLES, ARTICLES)
    cells = {one.team: [(cell.runs, cell.articles) for cell in one.tasks] for one in room.coverage}
    folder = Path(hub.running.service.settings.folder)
    kept = stored(folder, "SELECT payloads FROM answers")
    counted = Counter(task for (packed,) in kept for task in unpack_json(packed))
    assert counted["ACT"] < counted["INT"] == ANSWERED
    tasks = ("ACT", "INT", "IPT")
    assert cells == {
        "blue": [(1, counted[task]) for task in tasks],
        "red": [(0, 0), (1, 2), (0, 0)],
    }
    assert (room.uploads, room.newest_uploads[0].run) == (1, "red-run")
    assert room.verdicts == {Verdict.LATE: 1}
    part = await hub.room(verdict="in_time", team_start=1, limit=1)
    assert (part.matching, part.servers, part.teams) == (0, (), 2)
    assert [one.team for one in part.coverage] == ["red"]


async def test_a_frozen_phase_has_no_forecast(hub: Watched) -> None:
    await hub.running.do("phases.freeze", phase="test")
    hub.server.more.set()
    await hub.running.done(ANSWERED + 1)
    room = await hub.room()
    assert (room.state, room.needs, room.findings) == (PhaseState.FROZEN, None, ())
    assert (room.servers[0].verdict, room.servers[0].forecast) == (Verdict.STOPPED, None)
    async with signed_in(hub.running) as ana:
        page = await ana.get(ROOM)
        monitor_page = await ana.get("/c/bc/test/monitor")
    assert "No article is sent any more." in page.said
    assert f"ended at {ANSWERED + 1}/{ARTICLES}" in page.said
    assert f"ended at {ANSWERED + 1}/{ARTICLES}" in monitor_page.said
    assert f"{ANSWERED + 1}/{ARTICLES} ended" in monitor_page.said  # the server's row: no ETA


@pytest.mark.slow
async def test_a_board_that_newer_gold_superseded_leads_to_the_newer_one(hub: Watched) -> None:
    running = hub.running

    async def kept() -> list[str]:
        boards = await running.do("boards.frozen", phase="test")
        return [one.board for one in boards if one.task == "ACT"]

    await running.do("phases.freeze", phase="test")
    hub.server.more.set()
    async with patience():
        while not (before := await kept()):
            await asyncio.sleep(0.05)
    first, *rest = (DEMO / "gold_act.tsv").read_bytes().splitlines(keepends=True)
    turned = first.replace(b"\t1", b"\t0") if b"\t1" in first else first.replace(b"\t0", b"\t1")
    content = b"".join([turned, *rest])
    await running.do("gold.set", phase="test", task="ACT", source="2.tsv", content=content)
    async with signed_in(running) as ana, patience():
        while "It was superseded" not in (page := await ana.get(f"/b/{before[0]}")).said:
            await asyncio.sleep(0.05)
        [newer] = re.findall(r'href="/b/(\w+)">the newer board', page.text)
        assert newer in set(await kept()) - set(before)
        assert "superseded" not in (await ana.get(f"/b/{newer}")).said


async def test_a_task_without_gold_and_a_server_that_is_down_need_a_look(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, is_open=True, tasks=["INT", "NER"])
        watched = await running.do("phases.watch", phase="test")
        assert [(one.kind, one.subjects[0].name) for one in watched.findings] == [
            (FindingKind.NO_GOLD, "NER")
        ]
        with pytest.raises(RefusedError):
            await running.do("phases.watch", phase="other")
