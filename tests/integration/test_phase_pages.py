"""The pages of a service with many phases, and what of them each viewer may see."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientResponse
from aiohttp.test_utils import TestClient

from annotators.server import Kit
from metaserver.operations.phase_view import PhaseView, ServerReading
from metaserver.web.public.monitor import server_id
from tests.event_streams import next_frame
from tests.hubs.command import ARTICLES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import client_of
from tests.integration.kits import annotate, asked_server, served
from tests.waiting import patience

SECRET = "a secret that only its team may read"


@dataclass
class Pages:
    """The pages of a hub, as they are shown to an organiser, to teams, or to anybody ("")."""

    running: Running
    client: TestClient[Any, Any]
    tokens: dict[str, str] = field(default_factory=dict)

    def headers(self, viewer: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.tokens[viewer]}"} if viewer else {}

    async def get(self, address: str, viewer: str = "", status: int = 200) -> str:
        async with self.client.get(address, headers=self.headers(viewer)) as response:
            text = await response.text()
            assert response.status == status, text
            return text

    @asynccontextmanager
    async def stream(
        self, page: str, viewer: str = "", phase: str = "test"
    ) -> AsyncIterator[ClientResponse]:
        address = f"/c/bc/{phase}/events?page={page}"
        async with self.client.get(address, headers=self.headers(viewer)) as response:
            assert response.status == 200
            yield response

    async def team(self, name: str) -> None:
        """Make a team and a token of it."""
        await self.running.do("teams.create", team=name)
        token = await self.running.do("tokens.create", role="team", team=name, label="t")
        self.tokens[name] = token.token

    async def register(self, team: str, server: str, url: str, phase: str = "test") -> None:
        """Register, test and start a server."""
        caller = self.running.team(team)
        await self.running.do("servers.register", caller, server=server, url=url)
        await self.running.do("servers.test", caller, server=server)
        await self.running.do("servers.start", caller, server=server, phase=phase)


async def frame(response: ClientResponse) -> dict[str, Any]:
    """Read the event stream up to and with the next frame."""
    async with patience():
        return await next_frame(response)


@pytest.fixture
async def pages(tmp_path: Path) -> AsyncIterator[Pages]:
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        pages = Pages(running, client)
        token = await running.do("tokens.create", role="organiser", label="o")
        pages.tokens["organiser"] = token.token
        yield pages


async def test_before_there_is_a_phase_pages_tell_what_comes_next(pages: Pages) -> None:
    assert "No challenge yet" in await pages.get("/")
    assert "No phase yet" in await pages.get("/monitor", status=404)
    assert "phases create" in await pages.get("/board/INT", "organiser", status=404)
    unknown = await pages.get("/c/bc/x/monitor", status=404)
    assert "There is no phase x of a challenge bc." in unknown
    assert "Sign in" in await pages.get("/signin")


async def test_phases_have_pages_of_their_own_and_short_addresses_lead_to_the_open_one(pages):
    await plan_phase(pages.running, "training", title="Training & tuning")
    await plan_phase(pages.running, "final", freezes="2036-12-01T09:00", visibility="public")
    home = await pages.get("/")
    assert "A challenge" in home
    assert "Training &amp; tuning" in home
    assert 'datetime="2036-12-01T09:00:00Z"' in home
    choice = await pages.get("/monitor?state=up", status=300)
    for phase in ("training", "final"):
        assert f'<a href="/c/bc/{phase}/monitor?state=up">' in choice
    await pages.running.do("phases.open", phase="training")
    shown = await pages.get("/monitor")
    assert "<strong>Training &amp; tuning</strong>" in shown
    assert 'data-stream="/c/bc/training/events?page=monitor"' in shown
    assert 'href="/c/bc/final/monitor"' in shown
    other = await pages.get("/c/bc/final/board/INT?sort=-f_score")
    assert 'href="/c/bc/final/board/INT.csv?sort=-f_score"' in other
    assert "/c/bc/final/events?page=board/INT&amp;sort=-f_score" in other
    assert re.findall(r'href="/(?:t/|board|monitor)', other) == []  # every link keeps the phase
    async with pages.stream("monitor", phase="training") as response:
        assert 'data-phase="test"' in (await frame(response))["html"]["phase-summary"]
        await pages.running.do("phases.freeze", phase="training")
        with pytest.raises(ClientPayloadError):  # the phase was loaded again: browsers reconnect
            await response.read()  # to its end: a frame of the change may come before
    async with pages.stream("monitor", phase="training") as response:
        assert 'data-phase="frozen"' in (await frame(response))["html"]["phase-summary"]


@pytest.mark.slow
async def test_each_reader_sees_the_scores_that_are_for_it(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, is_open=True, visibility="hidden")
    for team in ("blue", "red"):
        await pages.team(team)
    async with served(Kit(annotate)) as url:
        for team in ("blue", "red"):
            await pages.register(team, f"{team}-1", url)
        watch = running.service.phase("test").boards.server_monitor
        await running.until(lambda: all(s.done == ARTICLES for s in watch.snapshot().servers))

    async def runs(viewer: str) -> list[str]:
        told = json.loads(await pages.get("/c/bc/test/board/INT.json", viewer))["runs"]
        page = await pages.get("/c/bc/test/board/INT", viewer)
        async with pages.stream("board/INT", viewer) as response:
            live = (await frame(response))["lists"]["runs"]
        names = [run["run"] for run in told]
        assert live == [f"r-{name}" for name in names]
        assert all((name in page) is (name in names) for name in ("blue-1", "red-1"))
        counted = re.findall(r'id="count-INT">(\d+) run', page)
        assert counted == ([str(len(names))] if names else [])  # of hidden runs not even a count
        return sorted(names)

    both = ["blue-1", "red-1"]
    assert [await runs(who) for who in ("", "blue", "organiser")] == [[], [], both]
    assert "not shown yet" in await pages.get("/c/bc/test/board/INT", "blue")
    await running.do("phases.update", phase="test", visibility="own")
    assert [await runs(who) for who in ("", "blue", "organiser")] == [[], ["blue-1"], both]
    own = json.loads(await pages.get("/c/bc/test/board/INT.json", "blue"))["runs"]
    assert own[0]["place"] == 1
    assert "rank_low" not in own[0]
    assert "[…]" not in await pages.get("/c/bc/test/board/INT", "blue")  # none is being computed
    assert "not shown yet" in await pages.get("/c/bc/test/board/INT/articles", "blue")
    await running.do("phases.update", phase="test", visibility="public")
    assert [await runs(who) for who in ("", "blue", "organiser")] == [both, both, both]


async def test_messages_and_addresses_are_for_the_servers_team_alone(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, is_open=True, visibility="public")
    for team in ("blue", "red"):
        await pages.team(team)
    async with asked_server() as asked:
        caller = running.team("blue")
        await running.do("servers.register", caller, server="blue-1", url=asked.url)
        await running.do("servers.test", caller, server="blue-1")
        asked.failing = SECRET
        await running.do("servers.start", caller, server="blue-1")
        watch = running.service.phase("test").boards.server_monitor
        await running.until(lambda: bool(watch.snapshot().errors))
        port = asked.url.split(":")[2].split("/")[0]
        for viewer in ("", "red", "blue", "organiser"):
            shown = await pages.get("/c/bc/test/monitor", viewer)
            rows = server_id("blue-1")
            async with pages.stream(f"monitor&rows={rows}", viewer) as response:
                sent = await frame(response)
            assert set(sent["drawn"]) == {rows}
            shown += json.dumps(sent)
            allowed = viewer in ("blue", "organiser")
            assert (SECRET in shown) is allowed
            assert (f":{port}" in shown) is allowed
            assert "fault" in shown  # the outcome is for everybody


async def test_a_frozen_phase_links_to_its_boards_which_are_as_visible_as_it(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, is_open=True, visibility="public")
    await pages.team("blue")
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
        await running.done()
    await running.do("phases.freeze", phase="test")
    link = None
    async with patience():
        while link is None:
            link = re.search(r'href="(/b/\w+)"', await pages.get("/c/bc/test/board/INT"))
            await asyncio.sleep(0.1)
    shown = await pages.get(link[1])
    assert "blue-1" in shown
    assert "<title>INT leaderboard of test, frozen" in shown
    assert 'href="/c/bc/test/monitor"' in shown
    assert json.loads(await pages.get(f"{link[1]}.json"))["phase"] == "test"
    await running.do("phases.update", phase="test", visibility="hidden")
    for viewer in ("", "blue"):
        await pages.get(link[1], viewer, status=404)
        await pages.get(f"{link[1]}.json", viewer, status=404)
    assert "blue-1" in await pages.get(link[1], "organiser")


@pytest.mark.slow
async def test_a_servers_page_tells_its_measures_to_all_and_its_attempts_to_its_team(pages):
    running = pages.running
    await plan_phase(running, is_open=True)
    for team in ("blue", "red"):
        await pages.team(team)
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
        await running.done()
        port = url.split(":")[2].split("/")[0]
    address = "/c/bc/test/servers/blue-1"
    for viewer in ("", "red", "blue", "organiser"):
        own = viewer in ("blue", "organiser")
        shown = await pages.get(address, viewer)
        assert "MTBF" in shown
        assert "ok 32" in shown
        assert (f":{port}" in shown) is own
        assert ("/team/servers/blue-1/attempts/" in shown) is own
        async with patience():  # changes of state are stored a second later
            while not await same_as_stream(pages, address, viewer, own=own):
                await asyncio.sleep(0.1)
    assert "There is no window 2h" in await pages.get(f"{address}?window=2h", status=400)
    assert "No server called red-1" in await pages.get("/c/bc/test/servers/red-1", status=404)
    assert f'href="{address}"' in await pages.get("/c/bc/test/monitor")


async def same_as_stream(pages: Pages, address: str, viewer: str, *, own: bool) -> bool:
    """Return whether a server's page equals the first frame of its stream."""
    shown = re.sub(r"\s+", " ", await pages.get(address, viewer))
    async with pages.stream("servers/blue-1", viewer) as response:
        sent = (await frame(response))["html"]
    assert ("/team/servers/blue-1/attempts/" in sent["attempts"]) is own
    del sent["measures"], sent["trend"]  # what is shown for a minute differs by the moment
    return all(re.sub(r"\s+", " ", html) in shown for html in sent.values())


async def test_all_requests_for_a_server_share_its_public_row(pages, monkeypatch):
    drawn: list[ServerReading] = []
    read = PhaseView.server

    async def noted(self: PhaseView, *asked: Any) -> ServerReading:
        drawn.append(await read(self, *asked))
        return drawn[-1]

    await plan_phase(pages.running, is_open=True)
    await pages.team("blue")
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
        phase = pages.running.service.phase("test")
        await pages.running.service.phases.scheduler.lanes.ended(phase)  # no more changes
        monkeypatch.setattr(PhaseView, "server", noted)
        await pages.get("/c/bc/test/servers/blue-1")
        await pages.get("/c/bc/test/servers/blue-1?window=7d")
        async with pages.stream("servers/blue-1") as response:
            await frame(response)
            asked = len(drawn)
            phase.boards.touch()
            await pages.running.until(lambda: len(drawn) > asked)  # a tick of the stream
    assert len(drawn) >= 5
    assert drawn[0].status.address == ""
    assert all(reading.status is drawn[0].status for reading in drawn)


async def test_a_badge_may_be_shown_by_any_page_and_runs_nothing(pages: Pages) -> None:
    await plan_phase(pages.running, is_open=True)
    await pages.team("blue")
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
    async with pages.client.get("/c/bc/test/servers/blue-1/badge.svg") as response:
        assert response.content_type == "image/svg+xml"
        assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        text = await response.text()
    assert "blue-1: " in text
    assert not re.search(r"<script|<style|style=|href|on\w+=", text)


async def test_health_is_for_all_and_metrics_for_who_may_read_them(pages: Pages) -> None:
    assert json.loads(await pages.get("/healthz")) == {"status": "ok"}
    assert json.loads(await pages.get("/readyz")) == {"status": "ready"}
    await plan_phase(pages.running)
    async with pages.stream("monitor") as response:
        await frame(response)
        assert "metaserver_event_streams 1.0" in await pages.get("/metrics")
    behind = {"X-Forwarded-For": "203.0.113.7"}
    async with pages.client.get("/metrics", headers=behind) as response:
        assert response.status == 401
    async with pages.client.get(
        "/metrics", headers={**behind, **pages.headers("organiser")}
    ) as response:
        assert (response.status, response.content_type) == (200, "text/plain")


async def test_a_stream_ends_with_the_token_that_it_began_with(pages, monkeypatch):
    monkeypatch.setattr("metaserver.web.access.event_streams.HELD_SECONDS", 0.02)
    await plan_phase(pages.running, visibility="own")
    await pages.team("blue")
    for page in ("monitor", "board/INT"):
        async with pages.stream(page) as response:
            await frame(response)  # who has none is not asked for it
    async with pages.stream("board/INT", "blue") as response:
        await frame(response)
        known = await pages.running.do("tokens.list")
        await pages.running.do("tokens.revoke", id=known[-1].id)
        with pytest.raises(ClientPayloadError):
            await response.read()  # to its end: there is one
