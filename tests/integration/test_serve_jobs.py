"""Background jobs of a hub that is stopped, killed, or left by who asked: done whole, or not."""

import asyncio
import base64
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.hubs.command import ARTICLES, GOLD_FILES
from tests.hubs.process import Api, RefusedRequestError, enrol, hub_at, lane, new_token
from tests.hubs.stored import held, stored
from tests.integration.kits import asked_server
from tests.waiting import patience

KILLS = 6
VERSIONS = "SELECT version FROM gold WHERE task = 'INT' ORDER BY version"
SET = "SELECT count(*) FROM audit WHERE action = 'gold.set' AND actor NOT LIKE 'config%'"
KEPT = "SELECT count(*) FROM frozen_boards"
PATH = "/phases/test/gold/INT"


def another(number: int) -> Mapping[str, str]:
    """Return a gold file that is like no other, nor are its scores."""
    more = (f"sample01\tP{label:05}\n" for label in range(number))
    content = GOLD_FILES["INT"].read_bytes() + "".join(more).encode()
    return {"content": base64.b64encode(content).decode(), "source": f"{number}.tsv"}


async def ended(api: Api, job: Mapping[str, Any]) -> Mapping[str, Any]:
    async with patience():
        while job["state"] == "running":
            job = await api("GET", f"/jobs/{job['job']}", wait=5)
    return job


async def answered(organiser: Api, url: str) -> None:
    """Have a server answer the phase."""
    blue = organiser.of(await enrol(organiser, "blue", {"blue-1": url}))
    await organiser("POST", "/phases/test/open")
    await blue("POST", "/servers/blue-1/start")
    async with patience():
        while (await lane(organiser, "blue-1")).get("done", 0) < ARTICLES:
            await asyncio.sleep(0.05)


async def board_of(organiser: Api) -> Mapping[str, Any]:
    """Return the board once all stored answers are on it."""
    async with patience():
        while (board := await organiser("GET", "/phases/test/boards/INT"))["catching_up"]:
            await asyncio.sleep(0.05)
    return board


def check_whole(folder: Path) -> int:
    """Every version was set whole: with its audit entry, and the board before it."""
    versions = [row[0] for row in stored(folder, VERSIONS)]
    assert versions == list(range(1, len(versions) + 1))
    assert stored(folder, SET) == [(len(versions) - 1,)]
    assert stored(folder, KEPT) == [(len(versions) - 1,)]
    return len(versions)


@pytest.mark.nightly
async def test_a_kill_leaves_the_new_gold_with_its_boards_or_the_old(config, session):
    seed = int(time.time())
    print(f"seed {seed}")
    rng = random.Random(seed)
    folder, token, number, seen = config.parent / "hub", await new_token(config), 0, set()
    async with asked_server() as asked:
        async with hub_at(config) as hub:
            await answered(Api(session, hub.address, token), asked.url)
        for turn in range(KILLS):
            async with hub_at(config) as hub:  # killed at its end
                organiser = Api(session, hub.address, token)
                before = check_whole(folder)
                board = await board_of(organiser)
                number += 1
                with held(folder) if turn % 3 == 0 else nullcontext():  # cannot be stored
                    started = await organiser("PUT", PATH, **another(number))
                    await asyncio.sleep(rng.uniform(0.0, 1.0))
                    hub.kill()
                    await hub.ended()
            after = check_whole(folder)
            assert after - before in (0, 1), seed
            seen.add(after - before)
            async with hub_at(config) as hub:
                organiser = Api(session, hub.address, token)
                with pytest.raises(RefusedRequestError, match="no such job"):
                    await organiser("GET", f"/jobs/{started['job']}")
                now = await board_of(organiser)
                assert (now["rows"] == board["rows"]) == (before == after), seed
                gold = (await organiser("GET", "/phases/test"))["gold"]
                assert gold["INT"] == after
        assert seen == {0, 1}, seed  # kills fell before the end, and after it
