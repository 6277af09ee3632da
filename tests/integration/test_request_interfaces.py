"""One request of seven servers through four interfaces: the same versions, the same candidates."""

from __future__ import annotations

import asyncio
import json
import xmlrpc.client
from pathlib import Path
from typing import Any

import pytest

from metaserver.config import CurationSettings
from scoring import Task
from scoring.consensus import ConsensusModel, Member, write_model
from tests.event_streams import next_event
from tests.hubs.command import metaserver
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import client_of
from tests.integration.curating import TEXT, Scripted, register, scripted

NAMES = ("fast", "slow", "faulty", "busy", "late", "suspended", "unseen")
EXPECTED = {
    "fast": "answered",
    "slow": "answered",
    "faulty": "failed",
    "busy": "not asked",
    "late": "answered",
    "suspended": "not asked",
    "unseen": "answered",
}


def model_file(folder: Path) -> Path:
    """Write a model of all servers but one."""
    members = tuple(
        Member(name=name, team=name, weights=(0.5, 1.0, 0.25)) for name in NAMES if name != "unseen"
    )
    model = ConsensusModel(
        task=Task.INT,
        method="stacked",
        members=members,
        panel=(1.0, 0.5, 0.25, 1.0, 0.5, 0.5, 0.75),
        bias=-2.0,
    )
    write_model(model, folder / "int.json")
    return folder / "int.json"


def script(servers: dict[str, Scripted]) -> None:
    """Let each server name other proteins."""
    for number, (name, one) in enumerate(servers.items()):
        found = (ACCESSIONS[0], ACCESSIONS[number + 1])
        one.answer = {
            "normalizations": [
                {"dbid": accession, "rank": rank, "confidence": 0.9 / rank}
                for rank, accession in enumerate(found, 1)
            ]
        }
        if name in ("slow", "late"):
            one.open.clear()


async def streamed(client: Any, path: str, head: dict[str, str]) -> list[dict[str, Any]]:
    """Return all that a stream has of a request."""
    seen: list[dict[str, Any]] = []
    async with client.get(path, headers=head) as response:
        while True:
            name, data = await next_event(response)
            if name == "request":
                seen.append(json.loads(data))
            elif name == "done":
                return seen


async def polled(client: Any, path: str, head: dict[str, str]) -> list[dict[str, Any]]:
    """Return all that long polls see of a request."""
    seen: list[dict[str, Any]] = []
    since = 0
    while not (seen and seen[-1]["settled"]):
        async with client.get(f"{path}?since={since}&wait=20", headers=head) as response:
            seen.append(await response.json())
        since = seen[-1]["version"]
    return seen


def called(address: str, token: str, request: str) -> list[dict[str, Any]]:
    """Return all that XML-RPC sees of a request."""
    seen: list[dict[str, Any]] = []
    since = 0
    with xmlrpc.client.ServerProxy(f"{address}xmlrpc/", use_builtin_types=True) as hub:
        while not (seen and seen[-1]["settled"]):
            found: Any = hub.Consensus.get(token, request, {"since": since, "wait": 20.0})
            seen.append(found)
            since = found["version"]
    return seen


async def prepared(running: Running, servers: dict[str, Scripted]) -> None:
    await plan_phase(running)
    await register(running, servers)
    script(servers)
    await running.do("phases.open", phase="test")
    for name in ("busy", "suspended"):
        servers[name].open.clear()
        await running.do("servers.start", running.team(name), server=name, phase="test")
    await running.do("servers.suspend", server="suspended", phase="test", reason="misbehaves")
    servers["faulty"].faulty = True


def comparable(found: Any) -> Any:
    """Return a request without nulls, which XML-RPC leaves out."""
    if isinstance(found, dict):
        return {name: comparable(one) for name, one in found.items() if one is not None}
    return [comparable(one) for one in found] if isinstance(found, list) else found


@pytest.mark.slow
async def test_four_interfaces_see_the_same_versions_of_seven_servers(tmp_path: Path) -> None:
    curation = CurationSettings(models={"INT": str(model_file(tmp_path))})
    async with (
        scripted(NAMES) as servers,
        at_work(await settings(tmp_path, curation=curation)) as running,
        client_of(running) as client,
    ):
        await prepared(running, servers)
        token = (await running.do("tokens.create", role="curator", label="ana")).token
        (tmp_path / "token").write_text(token)
        head, address = {"Authorization": f"Bearer {token}"}, str(client.make_url("/"))
        hub = ("--hub", address, "--token-file", tmp_path / "token")
        followed = asyncio.create_task(
            metaserver("consensus", "ask", "--text", TEXT, "--tasks", "INT", "--deadline", "15",
                       "--follow", *hub)
        )  # fmt: skip
        await running.until(lambda: bool(servers["late"].texts and servers["slow"].texts))
        async with client.get("/api/v1/requests", headers=head) as response:
            [listed] = await response.json()
        key = listed["request"]
        path = f"/api/v1/requests/{key}"
        watching = asyncio.gather(
            streamed(client, f"/requests/{key}/events", head),
            polled(client, path, head),
            asyncio.to_thread(called, address, token, key),
        )
        live = await running.service.requests.get(key)
        assert live is not None
        await running.until(lambda: "fast" in {one.server for one in live.answers})
        servers["slow"].open.set()
        await running.until(lambda: live.state == "expired")
        servers["late"].open.set()
        by_stream, by_poll, by_rpc = await watching
        shown = await followed
        servers["busy"].open.set()

        for seen in (by_stream, by_poll, by_rpc):
            versions = [one["version"] for one in seen]
            assert versions == sorted(set(versions))
        last = comparable(by_stream[-1])
        assert last == comparable(by_poll[-1])
        assert last == comparable(by_rpc[-1])
        assert {one["server"]: one["state"] for one in last["servers"]} == EXPECTED
        assert [one["server"] for one in last["servers"] if one["late"]] == ["late"]
        told = {one["server"]: one for one in last["servers"]}
        assert told["busy"]["message"] == "busy with the challenge"
        assert told["suspended"]["message"] == "suspended by the organisers"  # and no more
        assert (told["faulty"]["outcome"], told["faulty"].get("message", "")) == ("fault", "")
        seen = await running.do("consensus.get", request=key)
        assert [one.message for one in seen.servers if one.server == "faulty"] != [""]
        assert len(servers["faulty"].texts) == 2
        assert servers["fast"].texts == [TEXT]
        assert servers["fast"].contexts[0]["article_id"] == key
        assert TEXT not in servers["busy"].texts
        assert (last["methods"], last["unknown"]) == ({"INT": "stacked"}, ["unseen"])
        first = last["candidates"][0]
        assert first["item"] == [ACCESSIONS[0]]
        parts = sum(vote["part"] for vote in first["votes"]) + first["bias"]
        assert abs(parts) < 20

        printed = await metaserver("consensus", "get", key, "--json", *hub)
        assert comparable(json.loads(printed.stdout)) == last
        assert shown.status == 0, shown.stderr
        lines = shown.stdout.splitlines()
        assert "fast: answered" in lines
        assert "suspended: not asked: suspended by the organisers" in lines
        assert "faulty: failed: fault" in lines
        assert any("4 of 7 servers answered" in line for line in lines)
        assert any(ACCESSIONS[0] in line and "100%" in line for line in lines)


async def test_a_request_that_nobody_answered_is_a_failure_of_the_command(tmp_path: Path) -> None:
    async with (
        at_work(await settings(tmp_path)) as running,
        client_of(running) as client,
    ):
        token = (await running.do("tokens.create", role="curator", label="ana")).token
        (tmp_path / "token").write_text(token)
        for more in (("--follow",), ("--wait", "20"), ("--wait", "20", "--only", "state")):
            ended = await metaserver(
                "consensus", "ask", "--text", TEXT, *more,
                "--hub", client.make_url("/"), "--token-file", tmp_path / "token",
            )  # fmt: skip
            assert ended.status == 1, ended.stderr
            assert "failed" in ended.stdout
