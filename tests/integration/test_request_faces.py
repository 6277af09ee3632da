"""Requests of curators through each interface: the same versions, also over a killed hub."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.event_streams import next_event
from tests.hubs.command import metaserver
from tests.hubs.inside import at_work, plan_phase, settings
from tests.hubs.process import Api, Hub, enrol, hub_at, new_token, write_config
from tests.hubs.sites import client_of
from tests.hubs.stored import stored
from tests.integration.curating import TEXT, register, scripted
from tests.waiting import patience


async def test_a_stream_has_each_change_until_the_last(tmp_path: Path) -> None:
    async with (
        scripted(["a", "b"]) as servers,
        at_work(await settings(tmp_path)) as running,
        client_of(running) as client,
    ):
        await plan_phase(running)
        await register(running, servers)
        servers["b"].open.clear()
        tokens = {
            name: (await running.do("tokens.create", role=role, label=name, team=team)).token
            for name, role, team in (
                ("ana", "curator", None), ("bob", "curator", None), ("team", "team", "a")
            )
        }  # fmt: skip
        heads = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        given = {"text": TEXT, "deadline": 20}
        async with client.post("/api/v1/requests", json=given, headers=heads["ana"]) as response:
            asked = await response.json()
        path = f"/requests/{asked['request']}/events"
        for name, status in (("bob", 404), ("team", 403)):
            async with client.get(path, headers=heads[name]) as response:
                assert response.status == status
        versions: list[int] = []
        async with client.get(path, headers=heads["ana"]) as response:
            assert response.content_type == "text/event-stream"
            found: dict[str, Any] = {"candidates": []}
            while not found["candidates"]:
                found = await _request(response, versions)
            assert {vote["server"] for vote in found["candidates"][0]["votes"]} == {"a"}
            servers["b"].open.set()
            while not found["settled"]:
                found = await _request(response, versions)
            assert (await next_event(response))[0] == "done"
            assert found["state"] == "answered"
        assert versions == sorted(set(versions))
        last = heads["ana"] | {"Last-Event-ID": str(versions[-1])}
        async with client.get(path, headers=last) as response:
            assert [(await next_event(response))[0] for _ in range(2)] == ["beat", "done"]


async def _request(response: aiohttp.ClientResponse, versions: list[int]) -> dict[str, Any]:
    """Return the next event of a request; its version is added."""
    while True:
        name, data = await next_event(response)
        if name == "request":
            found: dict[str, Any] = json.loads(data)
            versions.append(found["version"])
            return found


async def _until_answered(api: Api, request: str, count: int) -> dict[str, Any]:
    """Return a request with so many answers."""
    async with patience():
        found: dict[str, Any] = {"version": 0, "servers": []}
        while True:
            found = await api("GET", f"/requests/{request}", since=found["version"], wait=10)
            if sum(one["state"] == "answered" for one in found["servers"]) == count:
                return found


@pytest.mark.slow
async def test_a_killed_hub_asks_nobody_again_who_has_answered(tmp_path: Path) -> None:
    config = await write_config(tmp_path, limits={"timeout": 900, "connect": 5})
    token_file = tmp_path / "token"
    async with scripted(["a", "b", "c"]) as servers, aiohttp.ClientSession() as session:
        async with hub_at(config) as hub:
            organiser = Api(session, hub.address, await new_token(config))
            for name, one in servers.items():
                token = await enrol(organiser, name, {name: one.url})
                await organiser.of(token)("PUT", f"/servers/{name}/curators", serve=True)
                one.texts.clear()
                one.open.clear()
            issued = await organiser("POST", "/tokens", role="curator", label="ana")
            token_file.write_text(issued["token"])
            ana = organiser.of(issued["token"])
            asked = await ana("POST", "/requests", text=TEXT, deadline=900)
            key = asked["request"]
            servers["a"].open.set()
            before = await _until_answered(ana, key, 1)
            hub.kill()
        for count, name in ((2, "b"), (3, "c")):
            hub = await Hub.begin(config)
            try:
                await hub.ready()
                ana.address = hub.address
                servers[name].open.set()
                found = await _until_answered(ana, key, count)
                assert found["version"] > before["version"]
                before = found
                if count == 3:
                    found = await ana("GET", f"/requests/{key}", since=found["version"], wait=10)
                    assert found["state"] == "answered"
                    shown = await metaserver(
                        "consensus", "explain", key, found["candidates"][0]["item"][0], "--hub",
                        hub.address, "--token-file", token_file, "--json",
                    )  # fmt: skip
                    assert json.loads(shown.stdout)["agreement"] == 1.0
                    article = tmp_path / "article.txt"
                    article.write_text(TEXT)
                    again = await metaserver(
                        "consensus", "ask", "--content", article, "--wait", "20", "--only", "state",
                        "--hub", hub.address, "--token-file", token_file,
                    )  # fmt: skip
                    assert (again.status, again.stdout) == (0, "answered\n"), again.stderr
            finally:
                hub.kill()
                await hub.ended()
    assert servers["a"].texts == [TEXT] * 2  # of the two requests
    await asyncio.to_thread(_check_store, tmp_path / "hub")


def _check_store(folder: Path) -> None:
    rows = stored(folder, "SELECT server_id, outcome FROM request_answers")
    assert sorted(outcome for _, outcome in rows) == ["ok"] * 6
    assert stored(folder, "SELECT count(*) FROM attempts") == [(0,)]
