"""A hub of several processes whose database is away, read-only, full or cut off while lanes work.

No answer is lost or stored twice, and nothing is sent twice: requests in flight survive.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import stores
from tests.integration.fleet import (
    ARTICLES,
    TEAMS,
    Fleet,
    begin,
    fleet,
    require_same_boards,
    require_whole,
)
from tests.integration.test_postgres_faults import (
    Fault,
    connections_cut,
    full,
    killed,
    read_only,
    small_disk,
    stopped_at_once,
    stopped_fast,
)
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = [
    pytest.mark.one_store("it has databases of its own, whatever the store of other hubs"),
    pytest.mark.timeout(900),
]

LONG = 30.0  # seconds: six leases
WEBS, WORKERS = ("web-1", "web-2"), ("worker-1", "worker-2")


async def away_for_long(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    await asyncio.to_thread(server.stop, "fast")
    await until(noticed)
    await asyncio.sleep(LONG)
    await asyncio.to_thread(server.start)


FAULTS = [stopped_fast, stopped_at_once, away_for_long, killed, connections_cut, read_only, full]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(one, marks=pytest.mark.slow if one is connections_cut else pytest.mark.nightly)
        for one in FAULTS
    ],
)
async def test_a_database_that_goes_and_comes_back_is_noticed_by_no_server(
    tmp_path: Path, fault: Fault
) -> None:
    if fault is full:
        place = Path("/tmp") / f"metaserver-full-{os.getpid()}"  # where others may enter
        place.mkdir()
        try:
            async with small_disk(place) as disk:
                await a_fault(tmp_path, fault, within=disk)
        finally:
            place.rmdir()
    else:
        await a_fault(tmp_path, fault)


async def a_fault(folder: Path, fault: Fault, *, within: Path | None = None) -> None:
    with stores.own_server(within=within, fsync="on" if within else "off") as database:
        database.ask("CREATE DATABASE metaserver")
        async with fleet(folder, 0.2, TEAMS[:2], database.url("metaserver")) as hub:
            await hub.start(*WEBS, *WORKERS)
            await begin(hub, "web-1")
            await hub.until_done(20)

            async def noticed() -> bool:
                logs = [line for name in WORKERS for line in hub.processes[name].log]
                return any("nothing can be stored" in line for line in logs)

            await fault(database, noticed)
            await until(lambda: answers(hub))
            for asked in hub.asked.values():
                asked.seconds = 0.0
            await hub.until_done(2 * ARTICLES)
            await require_whole(hub)
            for team, asked in hub.asked.items():
                assert set(asked.texts.values()) == {1}, team  # nothing was sent twice
            await require_same_boards(hub, *WEBS)
            assert all(one.process.returncode is None for one in hub.processes.values())


async def answers(hub: Fleet) -> bool:
    """Return whether both processes with pages are ready again."""
    return all([await hub.processes[web].is_ready(hub.session) for web in WEBS])
