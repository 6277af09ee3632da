"""Hubs that may open few files: fewer requests at a time, and nobody is charged for it."""

import asyncio
import os
import re
import resource
import signal
import socket
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from metaserver.base.files import Descriptors
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.web.server import WAITING
from tests.hubs.command import DEMO, GOLD, GOLD_FILES
from tests.hubs.process import Api, Hub, challenge, enrol, lane, new_token, write_config
from tests.hubs.release import release_at
from tests.hubs.stored import stored
from tests.integration.callers import article_caller, server
from tests.integration.kits import asked_server
from tests.integration.peers import GOOD, Connection, peer
from tests.waiting import patience


async def limited(files: int, *arguments: object) -> asyncio.subprocess.Process:
    """Start a `metaserver` command that may open so many files."""
    command = f'ulimit -n {files}; exec "$0" -m metaserver.cli.main "$@"'
    return await asyncio.create_subprocess_exec(
        "bash", "-c", command, sys.executable, *(str(one) for one in arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.one_store("the store of the command is a file")
async def test_a_run_with_more_servers_than_files_comes_to_its_end(tmp_path: Path) -> None:
    servers, files = 120, 160
    async with asked_server(0.1) as asked:
        named = [arg for n in range(servers) for arg in ("--server", f"s{n}={asked.url}")]
        process = await limited(
            files, "run", "--articles", DEMO / "articles", *GOLD,
            "--uniprot", release_at(tmp_path / "release"), "--out", tmp_path / "out",
            "--attempts", 1, *named,
        )  # fmt: skip
        stdout, stderr = await process.communicate()
    told = stdout.decode()
    assert process.returncode == 0, stderr.decode()[-3000:]
    assert "Traceback" not in stderr.decode()
    calls = Descriptors(files).calls
    assert f"{files} open files are allowed: at most {calls} of {servers} requests" in told
    ended = Counter(stored(tmp_path / "out", "SELECT outcome FROM attempts"))
    assert {outcome for (outcome,) in ended} <= {"ok", "partial"}
    assert ended.total() == servers * 32


@pytest.mark.slow
async def test_a_hub_whose_files_clients_take_charges_nobody(tmp_path: Path) -> None:
    """Hundreds of idle connections: those beyond the limit are closed, and lanes go on.

    Many come while the hub stands still, so that it finds them together.
    """
    files = 200
    phases = [challenge(DEMO / "articles", GOLD_FILES)]
    limits = {"timeout": 60, "connect": 5, "attempts": 1}
    config = await write_config(tmp_path, challenges=phases, limits=limits)
    hub = Hub(await limited(files, "serve", "--config", config))
    try:
        await hub.ready()
        assert any("200 open files are allowed" in line for line in hub.log), hub.log
        async with asked_server(0.05) as asked, aiohttp.ClientSession() as session:
            organiser = Api(session, hub.address, await new_token(config))
            names = {f"blue-{n}": asked.url for n in range(5)}
            blue = organiser.of(await enrol(organiser, "blue", names))
            await organiser("POST", "/phases/test/open")
            writers = await flood(hub.address, files)
            await accepted(hub.address)
            hub.process.send_signal(signal.SIGSTOP)
            writers += await flood(hub.address, WAITING)
            hub.process.send_signal(signal.SIGCONT)
            writers += await flood(hub.address, files - WAITING)
            for name in names:
                await blue("POST", f"/servers/{name}/start")
            async with patience():
                for name in names:
                    while (await lane(blue, name))["state"] != "finished":
                        await asyncio.sleep(0.1)
            metrics = await (await session.get(f"{hub.address}metrics")).text()
            for writer in writers:
                writer.close()
    finally:
        hub.kill()
        await hub.ended()
    ended = Counter(stored(tmp_path / "hub", "SELECT outcome FROM attempts"))
    assert {outcome for (outcome,) in ended} <= {"ok", "partial"}
    opened = re.search(r"^process_open_fds (\S+)", metrics, re.MULTILINE)
    assert opened
    assert float(opened[1]) < files
    assert not [line for line in hub.log if "Too many open files" in line]


async def accepted(address: str) -> None:
    """Wait until connections wait no more: one that comes after them has its turn, and its end."""
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    with suppress(ConnectionError):
        writer.write(b"GET /healthz HTTP/1.0\r\nHost: hub\r\n\r\n")
        await reader.read()
    writer.close()


async def flood(address: str, count: int) -> list[asyncio.StreamWriter]:
    """Open connections that send nothing."""
    url = urlsplit(address)
    writers = []
    for _ in range(count):
        with suppress(ConnectionError):
            writers.append((await asyncio.open_connection(url.hostname, url.port))[1])
    return writers


@pytest.mark.slow
async def test_no_more_calls_are_in_flight_than_allowed_and_time_begins_with_the_place() -> None:
    """A call that waits for its place has its full time limit afterwards."""
    in_flight, most = 0, 0

    async def script(connection: Connection) -> None:
        nonlocal in_flight, most
        while True:
            await connection.request()
            in_flight += 1
            most = max(most, in_flight)
            await asyncio.sleep(0.3)
            in_flight -= 1
            await connection.respond(GOOD)

    async with peer(script) as there, article_caller(time_limit=5.0, calls=2) as caller:
        ends = await asyncio.gather(
            *(caller.call(server(there.url, concurrency=40), 0, 1) for _ in range(40))
        )
    assert {attempt.outcome for attempt, _ in ends} == {Outcome.OK}
    assert most == 2  # one after another they took longer than one's limit


async def test_a_name_that_cannot_be_looked_up_for_want_of_files_charges_nobody() -> None:
    """The system says then that there is no such name."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    class Resolver(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            raise OSError(socket.EAI_NONAME, "Name or service not known")

        async def close(self) -> None:
            pass

    installed_protocols()  # they are read from files, once
    async with article_caller(resolver=Resolver()) as caller:
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            short, _ = await caller.call(server("http://annotator.example/"), 0, 1)
            probed = await caller.probe(server("http://annotator.example/"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        enough, _ = await caller.call(server("http://annotator.example/"), 0, 1)
    assert (short.outcome, short.message) == (Outcome.CANCELLED, "the hub: Too many open files")
    assert probed == "cancelled: the hub: Too many open files"
    assert enough.outcome is Outcome.DNS
