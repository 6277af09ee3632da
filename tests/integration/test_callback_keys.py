"""Callback keys: made by a team for its own server, shown once, and found nowhere else."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.cli.doctor import examine
from metaserver.config import Settings, WebSettings
from metaserver.store import communications
from tests.fakes.becalm import becalm_peer
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import signed_in
from tests.waiting import until

HUB = "https://hub.example.org"


@pytest.fixture
async def given(tmp_path: Path) -> Settings:
    return await settings(tmp_path, web=WebSettings(url=HUB, port=0))


@pytest.fixture
async def running(given: Settings) -> AsyncIterator[Running]:
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue", "red"])
        blue = running.team("blue")
        for name, protocol in (("blue-1", "becalm"), ("blue-2", "xmlrpc")):
            url = "http://127.0.0.1:1/"
            await running.do("servers.register", blue, server=name, url=url, protocol=protocol)
        yield running


async def server_of(running: Running, key: str) -> str:
    async with running.service.store.reading() as connection:
        found = await communications.server_of(connection, key)
    return found.name if found else ""


async def test_a_key_is_made_for_one_server_and_shown_once(running: Running) -> None:
    blue = running.team("blue")
    before = await running.do("servers.get", blue, server="blue-1")
    assert before.callback_key == "none"
    made = await running.do("servers.callback-key", blue, server="blue-1")
    assert made.note == ""
    path = f"/becalm/saveAnnotations/FORMAT?apikey={made.key}&communicationId=ID"
    assert made.address == HUB + path
    assert await server_of(running, made.key) == "blue-1"
    again = await running.do("servers.callback-key", blue, server="blue-1")
    assert again.key != made.key
    assert (await server_of(running, made.key), await server_of(running, again.key)) == (
        "",
        "blue-1",
    )
    shown = await running.do("servers.get", blue, server="blue-1")
    assert shown.callback_key == "set"
    log = await running.do("audit.list", subject="blue-1")
    assert [one.action for one in log].count("servers.callback-key") == 2
    for told in (msgspec.json.encode([shown]), msgspec.json.encode(log)):
        assert again.key.encode() not in told
    await running.do("servers.retire", blue, server="blue-1")
    assert await server_of(running, again.key) == ""


async def test_nobody_elses_server_and_no_other_protocol_gets_a_key(running: Running) -> None:
    refused = await running.refused("servers.callback-key", running.team("red"), server="blue-1")
    assert refused.refusal is Refusal.UNKNOWN
    with pytest.raises(RefusedError, match="do not call the hub back"):
        await running.do("servers.callback-key", running.team("blue"), server="blue-2")


async def findings(settings: Settings) -> Mapping[str, str]:
    found = await asyncio.to_thread(lambda: list(examine(settings)))
    return {one.place: one.message for one in found}


async def test_without_its_own_address_the_hub_says_so(tmp_path: Path) -> None:
    without = await settings(tmp_path)
    async with at_work(without) as running:
        await running.do("teams.create", team="blue")
        blue, url = running.team("blue"), "http://127.0.0.1:1/"
        await running.do("servers.register", blue, server="b", url=url, protocol="becalm")
        found = await findings(without)
        assert found["web.url"] == "is not set: where do b call the hub back?"
        assert found["servers"] == "b cannot call back: metaserver servers callback-key NAME"
        made = await running.do("servers.callback-key", blue, server="b")
        assert made.address.startswith("/becalm/saveAnnotations/")  # no request: no host
        assert "the organiser sets web.url" in made.note
        assert "servers" not in await findings(without)
        with_url = msgspec.structs.replace(without, web=WebSettings(url=HUB))
        assert (await findings(with_url))["web.url"] == f"{HUB}, where b call back"


@pytest.mark.slow
async def test_a_team_makes_the_key_on_a_page_and_its_server_passes(running: Running) -> None:
    async with signed_in(running, "blue") as visitor:
        assert "needs a callback key" in (await visitor.get("/team/servers/blue-1")).said
        assert "It has no key yet" in (await visitor.get("/team/servers/blue-1/callbacks")).said
        page = await visitor.post("/team/servers/blue-1/callbacks")
        assert page.headers["Cache-Control"] == "private, no-store"
        key = page.secret
        assert f"{HUB}/becalm/saveAnnotations/" in page.text
        page = await visitor.get("/team/servers/blue-1/callbacks")
        assert key not in page.text
        assert "It has a key" in page.said
        refused = await visitor.post("/team/servers/blue-2/callbacks")
        assert refused.status == Refusal.STATE
        assert "do not call the hub back" in refused.said
        here = str(visitor.client.make_url("/"))
        async with becalm_peer(hub=here, key=key) as peer:
            blue = running.team("blue")
            await running.do("servers.update", blue, server="blue-1", url=peer.url)
            tested = await running.do("servers.test", blue, server="blue-1")
            assert tested.passed, tested.reasons()
            await until(lambda: bool(peer.made))
            assert {one.status for one in peer.made} == {200}
