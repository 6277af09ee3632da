"""A store that takes nothing: the service says so, sends no article, and goes on by itself."""

import resource
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest

from tests.hubs.command import ARTICLES, DEMO, GOLD_FILES
from tests.hubs.process import (
    STORE,
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
from tests.hubs.stored import stored
from tests.integration.kits import Asked, asked_server
from tests.waiting import until

pytestmark = pytest.mark.one_store(
    "it locks and fills a file; test_process_database.py has the database's faults"
)


Block: TypeAlias = Callable[[Hub, Path], Any]


@contextmanager
def locked(_: Hub, folder: Path) -> Iterator[tuple[str, ...]]:
    """Another program holds the database; gives what the hub may say."""
    other = sqlite3.connect(folder / STORE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield ("database is locked",)
    finally:
        other.close()


@contextmanager
def full(hub: Hub, folder: Path) -> Iterator[tuple[str, ...]]:
    """Simulate a full disk by a limit on the size of files."""
    _, hard = resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE)
    size = (folder / f"{STORE}-wal").stat().st_size
    resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE, (min(size, 4096), hard))
    try:
        yield ("disk I/O error", "File too large")
    finally:
        resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


async def begin(hub: Hub, session: aiohttp.ClientSession, config: Path, asked: Asked) -> Api:
    """Enrol a team and open the phase; gives the organiser's API."""
    organiser = Api(session, hub.address, await new_token(config))
    await enrol(organiser, "blue", {"blue-1": asked.url, "blue-2": asked.url})
    await organiser("POST", "/phases/test/open")
    asked.texts.clear()
    return organiser


@pytest.mark.slow
@pytest.mark.parametrize("block", [locked, full])
async def test_a_store_that_takes_nothing_holds_the_hub_and_loses_nothing(tmp_path, session, block):
    planned = challenge(DEMO / "articles", GOLD_FILES)
    config = await write_config(tmp_path, challenges=[planned], notices={"batch": 0.1})
    async with asked_server() as asked, hub_at(config) as hub:
        organiser = await begin(hub, session, config, asked)
        asked.seconds = 0.3  # there are articles left when it is blocked
        await organiser("POST", "/servers/blue-1/start")
        await until(lambda: _done(organiser, "blue-1", 3))
        with block(hub, tmp_path / "hub") as reasons:

            async def blocked() -> bool:
                told = (await organiser("GET", "/hub"))["blocked"]
                return any(reason in told for reason in reasons)

            await until(blocked)
            assert not await hub.is_ready(session)
            kept = stored(tmp_path / "hub", "SELECT count(*) FROM attempts")[0][0]
            for method, path, given in CHANGES:
                with pytest.raises(
                    RefusedRequestError, match="no change can be stored until this is over"
                ) as refused:
                    await organiser(method, path, **given)
                assert refused.value.status == 503, path
                assert str(tmp_path) not in refused.value.message
            assert asked.texts.total() <= kept + 1  # what was in flight, and no more
        asked.seconds = 0.0
        await until(lambda: hub.is_ready(session))
        await organiser("POST", "/servers/blue-2/start")
        await until(lambda: _done(organiser, "blue-1", ARTICLES))
        await until(lambda: _done(organiser, "blue-2", ARTICLES))
        assert (await organiser("GET", "/hub"))["blocked"] == ""
        assert len([line for line in hub.log if "nothing can be stored" in line]) == 1, hub.log
        assert not [line for line in hub.log if "Traceback" in line or "exception" in line], hub.log
        await until(lambda: _came_into(organiser, "blue-1", "finished"))
    assert stored(tmp_path / "hub", "SELECT DISTINCT outcome FROM attempts") == [("ok",)]
    assert stored(tmp_path / "hub", "SELECT count(*) FROM answers") == [(2 * ARTICLES,)]
    assert asked.texts.total() == 2 * ARTICLES  # each once


CHANGES: list[tuple[str, str, Mapping[str, Any]]] = [
    ("POST", "/servers/blue-1/pause", {}),
    ("POST", "/servers/blue-1/cancel", {}),
    ("POST", "/servers/blue-1/suspend", {"reason": "why"}),
    ("POST", "/servers/blue-1/requeue", {}),
    ("POST", "/servers/blue-2/start", {}),
    ("POST", "/servers/blue-2/next", {}),
    ("POST", "/phases/test/freeze", {}),
    ("POST", "/teams", {"team": "red"}),
    ("POST", "/tokens", {"role": "reader", "label": "x"}),
]


async def _done(api: Api, server: str, articles: int) -> bool:
    return bool((await lane(api, server)).get("done", 0) >= articles)


async def _came_into(api: Api, server: str, state: str) -> bool:
    return (await lane(api, server)).get("state") == state


@pytest.mark.slow
async def test_an_idle_hub_finds_out_by_what_is_asked_of_it(tmp_path, session):
    config = await write_config(tmp_path, challenges=[challenge(DEMO / "articles", GOLD_FILES)])
    async with asked_server() as asked, hub_at(config) as hub:
        organiser = await begin(hub, session, config, asked)
        assert await hub.is_ready(session)
        with locked(hub, tmp_path / "hub"):
            with pytest.raises(RefusedRequestError) as refused:
                await organiser("POST", "/servers/blue-1/start")
            assert refused.value.status == 503
            assert not await hub.is_ready(session)
        await until(lambda: hub.is_ready(session))
        detail = await organiser("GET", "/servers/blue-1")
        assert detail["phases"] == []  # what was refused was not done
        actions = stored(tmp_path / "hub", "SELECT count(*) FROM audit WHERE action LIKE '%start'")
        assert actions == [(0,)]
