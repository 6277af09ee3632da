"""Processes of a hub that are frozen for longer than their leases: nothing is lost, or said twice.

`test_chaos.py` has kills, and all faults of a night together.
"""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.hubs.command import metaserver
from tests.integration.fleet import (
    ARTICLES,
    TEAMS,
    Fleet,
    begin,
    fleet,
    require_same_boards,
    require_whole,
)
from tests.integration.test_notices import webhook
from tests.waiting import patience, until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

LEASES = 15.0  # seconds: three leases
WEBS, WORKERS = ("web-1", "web-2"), ("worker-1", "worker-2", "worker-3")


async def finish(hub: Fleet, web: str) -> None:
    """Let all servers come to their end at once."""
    for asked in hub.asked.values():
        asked.seconds = 0.0
    for team in hub.asked:
        await hub.api(web)("POST", f"/servers/{team}/start")
    await hub.until_done(len(hub.asked) * ARTICLES)


async def require_kept(hub: Fleet) -> None:
    """Check that all is there once, and that boards are those of a process that reads all anew."""
    await require_whole(hub)
    await hub.start("web-3")
    await require_same_boards(hub, *WEBS, "web-3")
    deep = await metaserver("doctor", "--deep", "--config", hub.config)
    assert ", 0 differ from the log" in deep.stdout, deep.stdout


async def workers_of(hub: Fleet) -> Counter[str]:
    """Return the number of lanes that each process works."""
    rows = await hub.ask("SELECT worker FROM lanes WHERE worker IS NOT NULL")
    return Counter(worker for (worker,) in rows)


@pytest.mark.nightly
async def test_a_worker_frozen_for_three_leases_is_replaced_and_comes_back(tmp_path: Path) -> None:
    """Its lanes go to others; what it had in flight and brings too late is refused."""
    async with fleet(tmp_path, 1.0) as hub:
        await hub.start(*WEBS, *WORKERS[:2])
        await begin(hub, "web-1")
        await until(lambda: workers_with(hub, 2))
        before = await workers_of(hub)
        frozen = hub.processes["worker-1"].process
        frozen.send_signal(signal.SIGSTOP)
        await until(lambda: one_works_all(hub))
        assert set(await workers_of(hub)) < set(before)
        await asyncio.sleep(LEASES)
        frozen.send_signal(signal.SIGCONT)
        await until(lambda: workers_with(hub, 2))  # a share is given back to it
        assert frozen.returncode is None
        await finish(hub, "web-2")
        await require_kept(hub)


async def workers_with(hub: Fleet, count: int) -> bool:
    """Return whether so many processes work lanes."""
    return len(await workers_of(hub)) == count


async def one_works_all(hub: Fleet) -> bool:
    """Return whether one process works all lanes."""
    return list((await workers_of(hub)).values()) == [len(TEAMS)]


@pytest.mark.nightly
async def test_a_leader_frozen_for_three_leases_says_nothing_twice(tmp_path: Path) -> None:
    """Another process leads; thawed, the earlier leader writes nothing and follows."""
    async with fleet(tmp_path, 0.0, TEAMS[:2]) as hub, webhook() as posted:
        await hub.start(*WEBS, "worker-1")
        organiser = hub.api("web-1")
        await begin(hub, "web-1", start=False)
        await organiser("PUT", "/teams/blue/notices", webhook=posted.url)
        leads = await leader_of(hub)
        frozen = next(name for name in WEBS if f"-{hub.processes[name].process.pid}-" in leads)
        other = next(name for name in WEBS if name != frozen)
        hub.processes[frozen].process.send_signal(signal.SIGSTOP)
        await hub.api(other)("POST", "/servers/blue/start")  # its end is told by whoever leads
        await until(lambda: is_led_by_another(hub, leads))
        await until(lambda: "finished" in posted.events())
        await asyncio.sleep(LEASES)
        hub.processes[frozen].process.send_signal(signal.SIGCONT)
        await hub.api(other)("POST", "/servers/green/start")
        await hub.until_done(2 * ARTICLES)
        async with patience():
            while (await hub.api(frozen)("GET", "/hub/machines"))["lanes_due"]:
                await asyncio.sleep(0.1)
        await asyncio.sleep(LEASES / 3)  # in which it would have spoken
        ids = [
            notice["id"]
            for body in posted.bodies
            for notice in msgspec.json.decode(body)["notices"]
        ]
        keys = {one["Idempotency-Key"] for one in posted.headers}
        assert len(set(ids)) == len(keys)
        assert posted.events().count("finished") == len(ids) == 1
        assert await is_led_by_another(hub, leads)
        await require_whole(hub)
        await require_same_boards(hub, *WEBS)


async def leader_of(hub: Fleet) -> str:
    """Return the process that leads: its host, its number, and a random part."""
    [(process,)] = await hub.ask("SELECT process FROM leader")
    return str(process)


async def is_led_by_another(hub: Fleet, process: str) -> bool:
    """Return whether another process leads now."""
    return await leader_of(hub) not in ("", process)
