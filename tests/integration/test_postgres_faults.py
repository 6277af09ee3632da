"""A hub whose PostgreSQL server is stopped, killed, cut off, read-only or full while lanes work.

No answer is lost or stored twice, no request is sent twice, and the hub goes on by itself.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest

from tests import stores
from tests.hubs.process import (
    Api,
    Hub,
    RefusedRequestError,
    challenge,
    enrol,
    hub_at,
    lane,
    new_token,
    write_config,
)
from tests.integration.kits import Asked, asked_server
from tests.integration.test_kill import ARTICLES, write_challenge
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = [
    pytest.mark.one_store("it has databases of its own, whatever the store of other hubs"),
    pytest.mark.nightly,
    pytest.mark.timeout(600),
]

LANES = ("blue-1", "blue-2")
CONCURRENCY = 4
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'metaserver/%'"
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
async def small_disk(folder: Path) -> AsyncIterator[Path]:
    """Give a file system of 100 MB, which only root may have made."""
    mounted = await asyncio.to_thread(
        subprocess.run,
        ["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        await asyncio.to_thread(subprocess.run, ["umount", folder], check=True)


@pytest.mark.parametrize(
    "fault", [stopped_fast, stopped_at_once, killed, connections_cut, read_only, full]
)
async def test_the_database_goes_and_comes_back(tmp_path: Path, fault: Fault) -> None:
    if fault is full:
        place = Path("/tmp") / f"metaserver-small-{os.getpid()}"  # where others may enter
        place.mkdir()
        try:
            async with small_disk(place) as disk:
                await a_fault_in_the_middle(tmp_path, fault, within=disk)
        finally:
            place.rmdir()
    else:
        await a_fault_in_the_middle(tmp_path, fault)


async def a_fault_in_the_middle(
    tmp_path: Path, fault: Fault, *, within: Path | None = None
) -> None:
    stores.binaries()
    with stores.own_server(within=within, fsync="on" if within else "off") as server:
        server.ask("CREATE DATABASE hub")
        write_challenge(tmp_path)
        gold = {task: tmp_path / f"{task.lower()}.tsv" for task in ("ACT", "INT", "IPT")}
        planned = challenge(tmp_path / "articles", gold)
        config = await write_config(tmp_path, challenges=[planned], store=server.url("hub"))
        async with (
            asked_server(0.2) as asked,
            hub_at(config) as hub,
            aiohttp.ClientSession() as session,
        ):
            organiser = await begun(hub, session, config, asked)
            await until(lambda: done(organiser, 10))

            async def noticed() -> bool:
                return bool([line for line in hub.log if "nothing can be stored" in line])

            await fault(server, noticed)
            await until(lambda: hub.is_ready(session))
            asked.seconds = 0.0
            await until(lambda: done(organiser, ARTICLES))
            await organiser("POST", "/teams", team="late")  # what is asked for is written again
            assert (await organiser("GET", "/hub"))["blocked"] == ""
            assert hub.process.returncode is None
            check(server, asked, hub)
            boards = [await organiser("GET", f"/phases/test/boards/{task}") for task in gold]
            assert all(row["articles_scored"] == ARTICLES for one in boards for row in one["rows"])
            hub.process.terminate()
            assert await hub.ended() == 130
        assert server.ask(CONNECTIONS)[0][0] == 0


async def begun(hub: Hub, session: aiohttp.ClientSession, config: Path, asked: Asked) -> Api:
    """Enrol a team, open the phase and start its lanes; return the organiser's API."""
    organiser = Api(session, hub.address, await new_token(config))
    await enrol(organiser, "blue", dict.fromkeys(LANES, asked.url), concurrency=CONCURRENCY)
    await organiser("POST", "/phases/test/open")
    asked.texts.clear()
    for name in LANES:
        await organiser("POST", f"/servers/{name}/start")
    return organiser


async def done(api: Api, articles: int) -> bool:
    """Return whether both lanes have so many articles; False while the store cannot be asked."""
    with suppress(RefusedRequestError):
        return min([(await lane(api, name))["done"] for name in LANES]) >= articles
    return False


def check(server: PostgresServer, asked: Asked, hub: Hub) -> None:
    """Check that each article was sent once to each server, and stored once, with its answer."""
    attempts = server.ask("SELECT server_id, position, number, outcome FROM attempts", "hub")
    assert {row[3] for row in attempts} == {"ok"}
    assert len(attempts) == len(LANES) * ARTICLES
    answers = server.ask("SELECT server_id, position FROM answers", "hub")
    assert len({tuple(row) for row in answers}) == len(answers) == len(LANES) * ARTICLES
    assert set(asked.texts.values()) == {len(LANES)}
    serials = server.ask(
        "SELECT a.server_id, count(*), max(a.serial), max(l.serial) FROM attempts a"
        " JOIN lanes l USING (phase_id, server_id) GROUP BY a.server_id",
        "hub",
    )
    assert {tuple(row[1:]) for row in serials} == {(ARTICLES, ARTICLES, ARTICLES)}
    faults = [line for line in hub.log if "Traceback" in line or "exception" in line]
    assert not faults, hub.log
