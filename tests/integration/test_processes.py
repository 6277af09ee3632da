"""A hub of several processes on PostgreSQL: its lanes are worked on any, and shown by each."""

import asyncio
import socket
from pathlib import Path

import pytest

from tests.hubs.command import metaserver
from tests.hubs.process import Hub, lane, write_config
from tests.integration.fleet import (
    ARTICLES,
    TEAMS,
    begin,
    fleet,
    require_same_boards,
    require_whole,
)
from tests.waiting import patience

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


async def test_several_processes_need_postgresql(tmp_path: Path) -> None:
    config = await write_config(tmp_path, store="")
    ended = await metaserver("serve", "--role", "worker", "--config", config)
    assert ended.status == 2
    assert "PostgreSQL" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
async def test_lanes_are_worked_elsewhere_and_shown_by_each_process(tmp_path: Path) -> None:
    async with fleet(tmp_path, 0.02, TEAMS[:2]) as hub:
        await hub.start("web-1", "web-2", "worker-1", "worker-2")
        await begin(hub, "web-1")
        await hub.until_done(50)
        machines = await hub.api("web-2")("GET", "/hub/machines")
        roles = [one["role"] for one in machines["processes"] if one["lives"]]
        assert sorted(roles) == ["web", "web", "worker", "worker"]
        assert [one["role"] for one in machines["processes"] if one["leads"]] == ["web"]
        assert sum(one["lanes"] for one in machines["processes"]) <= 2 == machines["lanes_due"]
        other = hub.api("web-2")
        await other("POST", "/servers/blue/pause")  # on another process than it was started
        async with patience():
            while (await hub.ask("SELECT worker FROM lanes ORDER BY server_id"))[0][0] is not None:
                await asyncio.sleep(0.05)
            while (await lane(hub.api("web-1"), "blue"))["state"] != "paused":
                await asyncio.sleep(0.05)
        await hub.kill("worker-1")
        await other("POST", "/servers/blue/start")
        await hub.until_done(2 * ARTICLES)
        await require_whole(hub)
        async with patience():
            for web in ("web-1", "web-2"):
                for team in hub.asked:
                    while (await lane(hub.api(web), team))["state"] != "finished":
                        await asyncio.sleep(0.1)
        await require_same_boards(hub, "web-1", "web-2")


@pytest.mark.slow
async def test_a_worker_without_a_phases_release_leaves_its_share_to_others(tmp_path: Path) -> None:
    async with fleet(tmp_path, 0.02) as hub:
        await hub.start("web-1", "worker-1")
        lacking = await write_config(
            tmp_path, "lacking", store=hub.url, uniprot={"releases": str(tmp_path / "none")}
        )
        hub.processes["worker-2"] = await Hub.begin(lacking, "worker")
        await hub.processes["worker-2"].ready()
        await begin(hub, "web-1")
        await hub.until_done(len(TEAMS) * ARTICLES)
        await require_whole(hub)


@pytest.mark.slow
async def test_a_hub_of_one_process_that_was_killed_goes_on_as_several(tmp_path: Path) -> None:
    async with fleet(tmp_path, 0.05, TEAMS[:2]) as hub:
        await hub.start("all-1")
        await begin(hub, "all-1")
        await hub.until_done(10)
        await hub.kill("all-1")
        await hub.start("web-1", "worker-1")
        await hub.until_done(2 * ARTICLES)
        machines = await hub.api("web-1")("GET", "/hub/machines")
        assert sorted(one["role"] for one in machines["processes"]) == ["web", "worker"]
        await require_whole(hub)


@pytest.mark.slow
async def test_a_server_rests_that_is_paused_when_its_worker_was_killed(tmp_path: Path) -> None:
    async with fleet(tmp_path, 0.05, TEAMS[:1]) as hub:
        await hub.start("web-1", "worker-1")
        await begin(hub, "web-1")
        await hub.until_done(10)
        await hub.kill("worker-1")
        await hub.api("web-1")("POST", "/servers/blue/pause")
        async with patience():
            while (await lane(hub.api("web-1"), "blue"))["state"] != "paused":
                await asyncio.sleep(0.1)
            while (await hub.ask("SELECT worker FROM lanes"))[0][0] is not None:
                await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_each_role_tells_systemd_when_it_works(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{tmp_path}"[:100])
        systemd.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{tmp_path}"[:100])
        async with fleet(tmp_path, 0.1, teams=()) as made:
            for name in ("web-1", "worker-1"):
                await made.start(name)
                assert await asyncio.to_thread(systemd.recv, 100) == b"READY=1"
