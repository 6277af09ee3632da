"""A hub that is killed while BeCalm servers work goes on with what it had asked."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.becalm import BecalmPeer, becalm_peer
from tests.hubs.process import Api, challenge, checked_server, hub_at, new_token, write_config
from tests.hubs.stored import stored
from tests.waiting import patience, until

ARTICLES = 40
CONCURRENCY = 8
KILLS = 3  # the last of them in the midst of callbacks
ANSWERED = (
    "SELECT count(*), count(DISTINCT position) FROM attempts WHERE outcome IN ('ok', 'partial')"
)

AT_WORK = "SELECT article FROM communications WHERE acknowledged_at > 0 AND answered_at IS NULL"
OPEN = f"SELECT count(*) FROM ({AT_WORK}) AS at_work"


class Patient:
    """The calls of a server that works while `working` is set, and calls until it is heard."""

    def __init__(self) -> None:
        self.working = asyncio.Event()
        self.working.set()
        self.held = 0
        self.rng = random.Random(1)

    async def __call__(self, peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        """Call back; a hub that is not there is called again."""
        self.held += 1
        await self.working.wait()
        self.held -= 1
        await asyncio.sleep(self.rng.uniform(0.0, 0.05))
        (document,) = parameters["documents"]
        while True:
            try:
                made = await peer.call(parameters, peer.written(document))
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
                continue
            assert made.answer.get("errorName") in (None, "REQUEST_CLOSED"), made.answer
            return


def write_articles(folder: Path) -> dict[str, Path]:
    """Write articles with a protein each, and their gold."""
    (folder / "articles").mkdir()
    lines = []
    for number in range(ARTICLES):
        name = f"a{number:03d}"
        (folder / "articles" / f"{name}.txt").write_text(f"Article {number}\nTP53 is here.\n")
        lines.append(f"{name}\tP04637\n")
    (folder / "int.tsv").write_text("".join(lines))
    return {"INT": folder / "int.tsv"}


def asked(peer: BecalmPeer) -> Counter[str]:
    """Return how many times each article of the phase was asked for."""
    requests = [one["parameters"] for one in peer.asked if one["method"] == "getAnnotations"]
    ids = [one["documents"][0]["document_id"] for one in requests if one["documents"]]
    return Counter(name for name in ids if name.startswith("a"))


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_what_was_asked_before_a_kill_is_answered_after_it(tmp_path: Path) -> None:
    planned = {"challenges": [challenge(tmp_path / "articles", write_articles(tmp_path))]}
    config = await write_config(tmp_path, **planned)
    token = await new_token(config)
    calls = Patient()
    async with (
        becalm_peer(calls=calls) as peer,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session,
    ):
        at_work: set[str] = set()
        for kill in range(KILLS + 1):
            async with hub_at(config) as hub:
                organiser, peer.hub = Api(session, hub.address, token), hub.address
                if kill == 0:
                    await begin(organiser, peer)
                done = stored(tmp_path / "hub", ANSWERED)[0][0]
                calls.working.set()
                enough = ARTICLES if kill == KILLS else done + 5
                async with patience():
                    while stored(tmp_path / "hub", ANSWERED)[0][1] < enough:
                        await asyncio.sleep(0.02)
                if kill < KILLS - 1:
                    calls.working.clear()
                    await until(lambda: calls.held == CONCURRENCY)
                    await until(lambda: stored(tmp_path / "hub", OPEN) == [(CONCURRENCY,)])
                    at_work |= {name for (name,) in stored(tmp_path / "hub", AT_WORK)}
                hub.kill()
            if kill < KILLS - 1:
                assert calls.held == CONCURRENCY  # the server works on while the hub is gone
    attempts = stored(tmp_path / "hub", "SELECT outcome, count(*) FROM attempts GROUP BY outcome")
    assert dict(attempts) == {"ok": ARTICLES}
    assert stored(tmp_path / "hub", ANSWERED) == [(ARTICLES, ARTICLES)]
    times = asked(peer)
    assert len(times) == ARTICLES
    assert {times[name] for name in at_work} == {1}


async def begin(organiser: Api, peer: BecalmPeer) -> None:
    """Register the server, test it and start it."""
    await organiser("POST", "/teams", team="blue")
    issued = await organiser("POST", "/tokens", role="team", team="blue", label="test")
    blue = organiser.of(issued["token"])
    given = {"protocol": "becalm", "concurrency": CONCURRENCY, "tasks": ["INT"]}
    await blue("POST", "/servers", server="blue", url=peer.url, **given)
    peer.key = (await blue("POST", "/servers/blue/callback-key"))["key"]
    report = await checked_server(blue, "blue")
    assert report["passed"], report
    await organiser("POST", "/phases/test/open")
    await blue("POST", "/servers/blue/start")
