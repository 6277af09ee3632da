"""A worker whose machine is cut off from the database, one way and both, again and again.

It sends nothing after its lease, another takes its lanes, and what it brings too late is refused.
"""

import asyncio
import os
import random
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from metaserver.store.leases import LEASE_SECONDS
from tests import stores
from tests.hubs.process import Hub
from tests.integration.fleet import (
    ARTICLES,
    TEAMS,
    Fleet,
    begin,
    fleet,
    require_same_boards,
    require_whole,
)
from tests.integration.links import Cut, door_to, machine
from tests.waiting import until

pytestmark = [
    pytest.mark.one_store("it has databases of its own, whatever the store of other hubs"),
    pytest.mark.nightly,
]

CUTS = int(os.environ.get("METASERVER_CUTS", "20"))
ON_ITS_WAY = 2.0  # seconds in which a request that was begun in time may come on a busy machine
SECONDS = 5.0  # an answer takes


async def test_a_machine_that_is_cut_off_twenty_times_changes_nothing(tmp_path: Path) -> None:
    seed = int(time.time())
    print(f"seed {seed}")  # shown where the test fails
    rng = random.Random(seed)
    with machine() as far, stores.own_server(listen_addresses=far.here) as database:
        database.admit(f"{far.there}/32", f"{far.here}/32")
        database.ask("CREATE DATABASE metaserver")
        url = f"postgresql://{stores.USER}@{far.here}:5432/metaserver"
        async with AsyncExitStack() as stack, fleet(tmp_path, SECONDS, TEAMS, url) as hub:
            doors = []
            for asked in hub.asked.values():
                doors.append(await stack.enter_async_context(door_to(asked.url, far.services_here)))
                asked.url = doors[-1].url
            allow(hub, f"{far.services_here}/32")
            await hub.start("web-1", "web-2", "worker-1")
            await begin(hub, "web-1")
            hub.processes["worker-2"] = cut_off = Hub(await far.start(hub.config, "worker"))
            await cut_off.ready()
            for number in range(CUTS):
                await until(lambda: holds(hub, cut_off))
                await asyncio.sleep(rng.uniform(0.0, 1.0))
                how = rng.choice(list(Cut))
                far.cut(how)
                begun = time.monotonic()
                if number % 2:  # longer than a lease: its lanes are taken over
                    await until(lambda: holds_no_lane(hub, cut_off))
                    await asyncio.sleep(rng.uniform(0.0, 4.0))
                    late = begun + LEASE_SECONDS + ON_ITS_WAY
                    for door in doors:
                        assert not door.between(far.services_there, late, time.monotonic()), how
                else:
                    await asyncio.sleep(rng.uniform(0.5, 4.0))
                far.mend(how)
            for asked in hub.asked.values():
                asked.seconds = 0.0
            await hub.until_done(len(TEAMS) * ARTICLES)
            assert any(door.between(far.services_there, 0.0, time.monotonic()) for door in doors)
            await require_whole(hub)
            await hub.start("web-3")
            await require_same_boards(hub, "web-1", "web-2", "web-3")
            assert cut_off.process.returncode is None


def allow(hub: Fleet, network: str) -> None:
    """Let the hub send articles to a network."""
    settings = yaml.safe_load(hub.config.read_text())
    settings["security"]["allow_networks"].append(network)
    hub.config.write_text(yaml.safe_dump(settings))


async def lanes_of(hub: Fleet, process: Hub) -> int:
    """Return the number of lanes that a process has, as the store says."""
    [(count,)] = await hub.ask(
        f"SELECT count(*) FROM lanes WHERE worker LIKE '%-{process.process.pid}-%'"
    )
    return int(count)


async def holds(hub: Fleet, process: Hub) -> bool:
    """Return whether a process works a lane."""
    return await lanes_of(hub, process) > 0


async def holds_no_lane(hub: Fleet, process: Hub) -> bool:
    """Return whether others have all lanes."""
    return await lanes_of(hub, process) == 0
