"""Boards within pages of other sites: what everybody may see, and nothing of who reads it."""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from metaserver.web.access.headers import FRAMED_POLICY
from metaserver.web.public.open_pages import make_pages_app
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, Visitor, signed_in, token_of, visiting
from tests.integration.test_service_gold import run_file

BOARD = "/c/bc/test/board/INT"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub whose open phase hides scores, and the names of teams; a team has uploaded a run."""
    async with at_work(await settings(tmp_path)) as running:
        given = {"visibility": "hidden", "team_names": "hidden", "title": 'A "test" <phase>'}
        await plan_phase(running, is_open=True, teams=("blue",), **given)
        file = {"phase": "test", "task": "INT", "run": "blue-1", "content": run_file()}
        await running.do("runs.upload", running.team("blue"), **file)
        yield running


async def looked_at(visitor: Visitor, path: str, token: str = "") -> str:
    """Return an embedded board, after a look at what it says and brings."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with visitor.client.get(path, headers=headers) as response:
        text = await response.text()
    assert response.status == 200, text
    assert response.headers["Content-Security-Policy"] == FRAMED_POLICY
    assert {"X-Frame-Options", "Set-Cookie"} & set(response.headers) == set()
    assert re.findall("<(?:script|form|nav|header)|csrf|yours|Signed in", text) == []
    assert '<base target="_blank">' in text
    text, drawn = re.subn(" · drawn <time .*?</time> · ", "", text)
    assert drawn == (not path.startswith("/b/"))  # what changes later says from when it is
    return text


def previews(page: Page) -> list[tuple[str, str]]:
    """Return what other sites show of a link to a page."""
    return re.findall('<meta property="og:([a-z]+)" content="([^"]*)">', page.text)


async def is_withheld(visitor: Visitor, path: str) -> None:
    page = await visitor.get(path)
    assert (page.status, page.headers["X-Frame-Options"]) == (404, "DENY")
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "Signed in" not in page.text


async def test_who_is_signed_in_is_a_stranger_to_an_embedded_board(running: Running) -> None:
    do, address = running.do, f"{BOARD}/embed"
    async with signed_in(running) as ana, visiting(running) as reader:
        page = await ana.get(BOARD)
        assert "blue-1" in page.said
        assert previews(page) == []
        await is_withheld(ana, address)
        await is_withheld(ana, f"{BOARD}/picture.png")
        await do("phases.update", phase="test", visibility="own")
        async with TestClient(TestServer(make_pages_app(running.service))) as owner:
            await is_withheld(Visitor(owner), address)
        await do("phases.update", phase="test", visibility="public")
        shown = await looked_at(reader, address)
        assert await looked_at(ana, address) == shown
        assert await looked_at(reader, address, await token_of(running, "blue")) == shown
        assert "A &#34;test&#34; &lt;phase&gt;" in shown
        assert f'<a href="{address}" target="_self">draw again</a>' in shown
        assert "blue" not in shown  # the name is hidden until the freeze
        assert (await reader.get(f"{address}?sort=gold")).status == 400
        page = await reader.get(f"{BOARD}?sort=run")
        assert page.headers["X-Frame-Options"] == "DENY"
        name = "INT leaderboard of A &#34;test&#34; &lt;phase&gt;"
        preview = dict(previews(page))
        assert preview["title"] == name
        assert preview["description"] == "Interactor normalization: 1 run"
        assert re.fullmatch(f"http://127.0.0.1:[0-9]+{BOARD}", preview["url"])
        assert "image" not in preview  # no run has a place
        await is_withheld(reader, f"{BOARD}/picture.png")
        [found] = re.findall("<pre id=.snippet.*?>(.*?)</pre>", page.text)
        snippet = html.unescape(found)
        assert re.match(rf'<iframe src="http://127.0.0.1:[0-9]+{address}\?sort=run"', snippet)
        assert f'title="{name}"' in snippet
        await do("challenges.edit", challenge="bc", announced="2999-01-01T00:00")
        page = await ana.get(BOARD)
        assert (previews(page), "&lt;iframe" in page.text) == ([], False)
        await is_withheld(ana, address)


async def test_a_frozen_board_is_embedded_while_it_is_public(running: Running) -> None:
    await running.do("phases.update", phase="test", visibility="public")
    await running.do("phases.freeze", phase="test")
    board = (await running.frozen(3))[0].board
    async with signed_in(running) as ana:
        shown = await looked_at(ana, f"/b/{board}/embed")
        assert f'href="/b/{board}"' in shown
        assert f"/b/{board}/embed" in (await ana.get(f"/b/{board}")).text
        for change in ({"visibility": "hidden"}, {"visibility": "public"}):
            await running.do("phases.update", phase="test", **change)
            if change["visibility"] == "public":  # opened again, it would give the gold away
                await looked_at(ana, f"/b/{board}/embed")
                await running.do("phases.open", phase="test")
            page = await ana.get(f"/b/{board}")
            assert (page.status, previews(page), "&lt;iframe" in page.text) == (200, [], False)
            await is_withheld(ana, f"/b/{board}/embed")
            await is_withheld(ana, f"/b/{board}/picture.png")
