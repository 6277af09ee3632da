"""The `metaserver serve` command stopped in the middle of its work, or unable to start."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from metaserver.base.lanes import LaneKey
from metaserver.base.records import Server, ServerName, TeamName
from metaserver.base.states import Control
from metaserver.store import servers, teams
from metaserver.store.store import open_store
from tests.hubs.command import DEMO, metaserver
from tests.hubs.process import Api, Hub, enrol, hub_at, lane, new_token, write_config
from tests.hubs.stored import held, place_in, require_sound, stored
from tests.integration.kits import Asked, asked_server
from tests.waiting import until

pytestmark = pytest.mark.slow

STOPPED = 130
GRACE = 5.0  # seconds; stated in docs/organisers.md


@pytest.fixture
async def slow() -> AsyncIterator[Asked]:
    async with asked_server() as asked:
        yield asked


async def busy(hub: Hub, session: aiohttp.ClientSession, config: Path, slow: Asked) -> Api:
    """Bring a hub into the middle of everything: an article in flight, a test under way."""
    organiser = Api(session, hub.address, await new_token(config))
    token = await enrol(organiser, "blue", {"blue-1": slow.url, "blue-2": slow.url})
    blue = organiser.of(token)
    await organiser("POST", "/phases/test/open")
    before, slow.seconds = slow.texts.total(), 3600.0
    await blue("POST", "/servers/blue-1/start")
    await until(lambda: slow.texts.total() != before)
    return blue


async def upload_without_end(address: str, token: str) -> asyncio.StreamWriter:
    """Begin to send a result file, and stop in the middle."""
    url = urlsplit(address)
    _, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(
        b"PUT /api/v1/phases/test/runs/ACT/blue-file HTTP/1.1\r\nHost: hub\r\n"
        b"Authorization: Bearer " + token.encode() + b"\r\n"
        b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        b'{"content": "'
    )
    await writer.drain()
    return writer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_in_the_middle_of_everything(config, session, slow, number):
    folder = config.parent / "hub"
    async with hub_at(config) as hub:
        blue = await busy(hub, session, config, slow)
        sent = slow.texts.total()
        job = (await blue("POST", "/servers/blue-2/test"))["job"]
        testing = asyncio.create_task(blue("GET", f"/jobs/{job}", wait=30))
        upload = await upload_without_end(hub.address, blue.token)
        stream = await session.get(f"{hub.address}c/bc/test/events?page=monitor")
        assert (stream.status, stream.content_type) == (200, "text/event-stream")
        await until(lambda: slow.texts.total() > sent)  # the test is under way
        hub.process.send_signal(number)
        assert await hub.ended(GRACE) == STOPPED
        assert hub.log[-1] == "metaserver: stopped"
        assert not [line for line in hub.log if "Traceback" in line], hub.log
        stream.close()
        upload.close()
        with suppress(OSError):
            await upload.wait_closed()
        [ended] = await asyncio.gather(testing, return_exceptions=True)
        assert isinstance(ended, BaseException) or ended["report"] is None
    assert stored(folder, "SELECT * FROM attempts") == []  # nothing is charged
    slow.seconds = 0.0
    async with hub_at(config) as hub:  # it goes on by itself
        blue = Api(session, hub.address, blue.token)
        while (await lane(blue, "blue-1"))["state"] != "finished":
            await asyncio.sleep(0.05)
    assert stored(folder, "SELECT DISTINCT outcome FROM attempts") == [("ok",)]


async def test_it_stops_though_the_database_is_locked(config, session, slow):
    async with hub_at(config) as hub:
        blue = await busy(hub, session, config, slow)
        with held(config.parent / "hub"):
            asked = asyncio.create_task(blue("POST", "/servers/blue-1/pause"))
            await asyncio.sleep(0.5)
            hub.process.terminate()
            assert await hub.ended(GRACE) == STOPPED
            await asyncio.gather(asked, return_exceptions=True)


async def add_running_lanes(folder: Path, url: str, count: int) -> None:
    """Give the only phase lanes that are to run, each of a server at `url`."""
    async with open_store(place_in(folder)) as store, store.writing() as connection:
        team = await teams.add(connection, TeamName("blue"), "", "")
        for number in range(count):
            server = Server(name=ServerName(f"s{number}"), url=url)
            key = LaneKey(1, await servers.add(connection, server, team))
            await servers.set_control(connection, key, Control.RUNNING)


async def test_many_lanes_stop_at_full_rate_and_lose_nothing(config, session, slow):
    folder, lanes = config.parent / "hub", 300
    async with hub_at(config) as hub:
        organiser = Api(session, hub.address, await new_token(config))
        await organiser("POST", "/phases/test/open")
    await add_running_lanes(folder, slow.url, lanes)
    async with hub_at(config) as hub:
        await until(lambda: stored(folder, "SELECT count(*) FROM attempts") >= [(2 * lanes,)])
        hub.process.terminate()
        assert await hub.ended() == STOPPED
        assert hub.log[-1] == "metaserver: stopped"
        assert not [line for line in hub.log if "Traceback" in line], hub.log
    asked = slow.texts.total()
    require_sound(folder)
    assert stored(folder, "SELECT DISTINCT outcome, number, final FROM attempts") == [("ok", 1, 1)]
    every = "SELECT (SELECT count(*) FROM attempts), (SELECT count(*) FROM answers)"
    [(attempts, answers)] = stored(folder, every)
    assert attempts == answers
    assert 0 <= asked - attempts <= lanes  # no more than those in flight were dropped
    cursors = dict(stored(folder, "SELECT server_id, cursor FROM lanes"))
    articles = len(list((DEMO / "articles").iterdir()))
    async with hub_at(config):  # each lane asks for the article again that it was waiting for

        def gone_on() -> bool:
            now = dict(stored(folder, "SELECT server_id, cursor FROM lanes"))
            return all(now[lane] > at or at == articles for lane, at in cursors.items())

        await until(gone_on, pause=0.2)
    assert stored(folder, "SELECT DISTINCT outcome, number, final FROM attempts") == [("ok", 1, 1)]


async def test_a_second_signal_ends_it_at_once(config, session, slow):
    async with hub_at(config) as hub:
        await busy(hub, session, config, slow)
        hub.process.send_signal(signal.SIGINT)
        hub.process.send_signal(signal.SIGINT)
        assert await hub.ended(GRACE) == STOPPED
        assert hub.log[-1] == "metaserver: stopped"
        assert not [line for line in hub.log if "Traceback" in line], hub.log
    assert stored(config.parent / "hub", "SELECT * FROM attempts") == []
    require_sound(config.parent / "hub")


@pytest.mark.slow
async def test_it_stops_while_it_starts(config: Path) -> None:
    for step in range(12):
        hub = await Hub.begin(config)
        await asyncio.sleep(0.2 * step)
        hub.process.terminate()
        # Before the command has begun to work it dies of the signal as any program does.
        assert await hub.ended(GRACE) in (STOPPED, -signal.SIGTERM), step
        assert not [line for line in hub.log if "Traceback" in line], hub.log
    async with hub_at(config):
        pass


async def test_a_folder_is_served_by_one_hub_at_a_time(config: Path) -> None:
    async with hub_at(config):
        ended = await metaserver("serve", "--config", config)
    place = place_in(config.parent / "hub")
    assert ended.status == (2 if isinstance(place, Path) else 70)  # a database is tried again
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"metaserver: {place}: in use by another running hub")


async def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = await write_config(tmp_path, web={"port": port})
        (tmp_path / "hub" / "metaserver.sqlite").unlink(missing_ok=True)
        ended = await metaserver("serve", "--config", config)
    assert ended.status == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"metaserver: 127.0.0.1:{port}: ")
    assert "choose another port" in line
    assert not (tmp_path / "hub" / "metaserver.sqlite").exists()  # nothing was begun
    async with hub_at(await write_config(tmp_path)):  # the same store, unharmed
        pass
