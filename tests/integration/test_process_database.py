"""A hub of several processes whose database is away, read-only, full or cut off while lanes work.

No answer is lost or stored twice, and nothing is sent twice: requests in flight survive.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

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
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

LONG = 30.0  # seconds: six leases
WEBS, WORKERS = ("web-1", "web-2"), ("worker-1", "worker-2")
CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name LIKE 'metaserver/%'"
)

Fault: TypeAlias = Callable[[PostgresServer, Callable[[], Any]], Any]
"""What does something to a server, waits until the hub has noticed, and undoes it."""


async def stopped(server: PostgresServer, noticed: Callable[[], Any], mode: str) -> None:
    await asyncio.to_thread(server.stop, mode)
    await until(noticed)
    await asyncio.to_thread(server.start)


async def stopped_fast(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    await stopped(server, noticed, "fast")


async def stopped_at_once(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    await stopped(server, noticed, "immediate")


async def killed(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    server.kill()
    await until(noticed)

    async def started() -> bool:
        with suppress(AssertionError):  # its other processes have not ended yet
            await asyncio.to_thread(server.start)
            return True
        return False

    await until(started, pause=0.2)


async def connections_cut(server: PostgresServer, _: Callable[[], Any]) -> None:
    for _number in range(20):
        await asyncio.to_thread(server.ask, CUT)
        await asyncio.sleep(0.05)


async def read_only(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    await asyncio.to_thread(server.ask, "ALTER SYSTEM SET default_transaction_read_only = on")
    await asyncio.to_thread(server.ask, "SELECT pg_reload_conf()")
    await until(noticed)
    await asyncio.to_thread(server.ask, "ALTER SYSTEM RESET default_transaction_read_only")
    await asyncio.to_thread(server.ask, "SELECT pg_reload_conf()")


async def full(server: PostgresServer, noticed: Callable[[], Any]) -> None:
    """Fill the file system that has its data, to the last block."""
    ballast = server.folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(2**16))
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
    await until(noticed)
    ballast.unlink()
    with suppress(AssertionError, OSError):  # it ended itself where its log could not be written
        await asyncio.to_thread(server.start)


@asynccontextmanager
async def small_disk(megabytes: int) -> AsyncIterator[Path | None]:
    """Give the place of a file system of its own, which only root may have made; else None."""
    place = Path("/tmp") / f"metaserver-full-{os.getpid()}"  # where others may enter
    place.mkdir()
    try:
        options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]
        mounting = await asyncio.create_subprocess_exec(
            "mount", *options, place, stderr=asyncio.subprocess.DEVNULL
        )
        if await mounting.wait():
            yield None
            return
        try:
            place.chmod(0o755)
            yield place
        finally:
            await asyncio.to_thread(subprocess.run, ["umount", place], check=True)
    finally:
        place.rmdir()


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
async def test_a_database_that_goes_and_comes_back_is_noticed_by_no_server(tmp_path, fault):
    if fault is full:
        async with small_disk(100) as disk:
            if disk is None:
                pytest.skip("a file system of its own cannot be mounted here")
            await a_fault(tmp_path, fault, within=disk)
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
                if not any("nothing can be stored" in line for line in logs):
                    return False
                return fault is not full or not any(await ready(hub))

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
            logged = [line for one in hub.processes.values() for line in one.log]
            assert not [line for line in logged if "Traceback" in line or "exception" in line]
            others = ("phases.refresh", "phases.shared_dealing")  # the store's writer says it
            more = [line for line in logged if any(name in line for name in others)]
            assert fault is connections_cut or not more  # between two cuts the store is there


async def answers(hub: Fleet) -> bool:
    """Return whether both processes with pages are ready again."""
    return all(await ready(hub))


async def ready(hub: Fleet) -> Sequence[bool]:
    """Return of each process with pages whether it is ready."""
    return [await hub.processes[web].is_ready(hub.session) for web in WEBS]
