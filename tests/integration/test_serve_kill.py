"""A hub that is killed at any moment, while teams and organisers act, goes on by itself."""

import asyncio
import random
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.hubs.process import (
    Api,
    Hub,
    RefusedRequestError,
    challenge,
    checked_server,
    enrol,
    hub_at,
    lane,
    new_token,
    write_config,
)
from tests.hubs.stored import stored
from tests.integration.kits import Asked, asked_server
from tests.integration.test_kill import write_challenge
from tests.waiting import patience

ARTICLES = 150
CONCURRENCY = 2
TEAMS = ("blue", "green", "red")
TASKS = ("ACT", "INT", "IPT")
ATTEMPTS = "SELECT server_id, position, number, outcome, started_at FROM attempts"
ANSWERS = "SELECT server_id, position, number, payloads FROM answers"


@dataclass
class Deeds:
    """Requests to the hub: those that it acknowledged, and the state that follows from them."""

    rng: random.Random
    acknowledged: dict[str, str] = field(default_factory=dict)  # action by request id
    desired: dict[str, str | None] = field(default_factory=dict)  # of a lane; None: not known

    async def do(
        self, api: Api, server: str, action: str, method: str, path: str, **given: Any
    ) -> None:
        """Do something, and note whether it was acknowledged."""
        request_id = f"{self.rng.getrandbits(64):016x}"
        asks_for = {
            "servers.start": "running", "servers.resume": "running", "servers.pause": "paused",
            "servers.cancel": "paused", "servers.suspend": "suspended",
        }.get(action)  # fmt: skip
        before = self.desired.get(server)
        if asks_for:
            self.desired[server] = None
        try:
            await api(method, path, request_id, **given)
        except RefusedRequestError as refused:
            if refused.status != 409:  # 409: it was not the moment
                raise
            if asks_for:
                self.desired[server] = before
        except (aiohttp.ClientError, TimeoutError, ConnectionError):
            pass  # the hub was killed meanwhile: done or not
        else:
            self.acknowledged[request_id] = action
            if asks_for == "paused" and before in (None, "suspended"):
                self.desired[server] = before  # a pause lifts no suspension
            elif asks_for:
                self.desired[server] = asks_for


async def team_acts(deeds: Deeds, api: Api, server: str, asked: Asked, organiser: Api) -> None:
    """Do one thing after another to a server, until the hub is gone."""
    rng = deeds.rng
    while True:
        match rng.choice(("start", "start", "start", "pause", "next", "cancel", "update",
                          "suspend", "resume", "resume", "requeue")):  # fmt: skip
            case "suspend":
                path = f"/servers/{server}/suspend"
                await deeds.do(organiser, server, "servers.suspend", "POST", path, reason="why")
            case "resume" | "requeue" as verb:
                path = f"/servers/{server}/{verb}"
                await deeds.do(organiser, server, f"servers.{verb}", "POST", path)
            case "update":
                path = f"/servers/{server}"
                given = {"url": asked.url, "parameters": rng.choice(("text", "text+context"))}
                await deeds.do(api, server, "servers.update", "PATCH", path, **given)
                await deeds.do(api, server, "servers.test", "POST", f"{path}/test")
            case verb:
                path = f"/servers/{server}/{verb}"
                await deeds.do(api, server, f"servers.{verb}", "POST", path)
        await asyncio.sleep(rng.uniform(0.0, 0.5))


async def phase_changes(deeds: Deeds, organiser: Api) -> None:
    while True:
        await asyncio.sleep(deeds.rng.uniform(0.2, 2.0))
        for verb in ("freeze", "open"):
            path = f"/phases/test/{verb}"
            await deeds.do(organiser, "", f"phases.{verb}", "POST", path)
            await asyncio.sleep(deeds.rng.uniform(0.0, 0.3))


async def disturb(
    deeds: Deeds, organiser: Api, tokens: dict[str, str], asked: dict[str, Asked]
) -> Sequence[asyncio.Task[None]]:
    """Let everybody act for a while."""
    acting = [
        asyncio.create_task(
            team_acts(deeds, organiser.of(tokens[team]), team, asked[team], organiser)
        )
        for team in TEAMS
    ]
    acting.append(asyncio.create_task(phase_changes(deeds, organiser)))
    return acting


async def check_lanes(deeds: Deeds, organiser: Api) -> None:
    """Check that all that was acknowledged before the kill is there after it."""
    for server, desired in deeds.desired.items():
        if server and desired:
            detail = await lane(organiser, server)
            if detail["state"] != "finished":
                assert (detail["state"] in ("paused", "suspended")) == (desired != "running")
                assert (detail["state"] == "suspended") == (desired == "suspended"), detail


async def finish(organiser: Api, tokens: dict[str, str]) -> None:
    """Let all lanes work to their end."""
    with suppress(RefusedRequestError):
        await organiser("POST", "/phases/test/open")
    for team in TEAMS:
        api = organiser.of(tokens[team])
        for verb in ("resume", "pause"):
            with suppress(RefusedRequestError):  # not suspended; never started
                await organiser("POST", f"/servers/{team}/{verb}")
        while True:  # what is in flight is finished first
            with suppress(RefusedRequestError):
                await api("PATCH", f"/servers/{team}", parameters="text")
                break
            await asyncio.sleep(0.05)
        assert (await checked_server(api, team))["passed"]
        await api("POST", f"/servers/{team}/start")
    async with patience():
        for team in TEAMS:
            while (await lane(organiser, team))["done"] < ARTICLES:
                await asyncio.sleep(0.1)


async def boards(api: Api) -> Sequence[Any]:
    """Return what the boards say of each run, without what says when."""
    found = []
    async with patience():
        for task in TASKS:
            while (board := await api("GET", f"/phases/test/boards/{task}"))["catching_up"]:
                await asyncio.sleep(0.05)
            found.append(board)
    for board in found:
        for volatile in ("at", "created_at"):
            board.pop(volatile, None)
        board.pop("gold", None)  # a keyed digest, as is the mark: another store has another key
        board["signature"], marks = re.subn(r"\|mark:[0-9a-f]+", "", board["signature"])
        assert marks == 1
        for row in board["rows"]:
            row.pop("interval", None)
    return found


async def begin(organiser: Api, asked: dict[str, Asked]) -> dict[str, str]:
    """Enrol the teams and open the phase."""
    tokens = {
        team: await enrol(organiser, team, {team: asked[team].url}, concurrency=CONCURRENCY)
        for team in TEAMS
    }
    await organiser("POST", "/phases/test/open")
    return tokens


@pytest.mark.one_store("test_process_losses has a hundred kills of hubs on PostgreSQL")
@pytest.mark.parametrize(
    "kills", [pytest.param(3, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.nightly)]
)
async def test_kills_of_a_service_change_nothing(tmp_path: Path, kills: int) -> None:
    write_challenge(tmp_path)
    gold = {task: tmp_path / f"{task.lower()}.tsv" for task in TASKS}
    planned = {"challenges": [challenge(tmp_path / "articles", gold)]}
    seed = int(time.time())
    print(f"seed {seed}")  # shown where the test fails
    deeds = Deeds(random.Random(seed))
    async with AsyncExitStack() as stack:
        asked = {
            team: await stack.enter_async_context(asked_server(seconds))
            for team, seconds in zip(TEAMS, (0.3, 0.35, 0.4), strict=True)
        }
        timeout = aiohttp.ClientTimeout(total=60)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))

        config = await write_config(tmp_path, **planned)
        token = await new_token(config)
        tokens: dict[str, str] = {}
        kept: set[tuple[Any, ...]] = set()
        killed_at_work = 0
        for number in range(kills):
            hub = await Hub.begin(config)
            acting: Sequence[asyncio.Task[None]] = []
            if deeds.rng.random() < 0.15 and number:  # while it starts
                await asyncio.sleep(deeds.rng.uniform(0.0, 2.0))
            else:
                await hub.ready()
                organiser = Api(session, hub.address, token)
                tokens = tokens or await begin(organiser, asked)
                await check_lanes(deeds, organiser)
                acting = await disturb(deeds, organiser, tokens, asked)
                await asyncio.sleep(deeds.rng.uniform(0.3, 3.0))
            hub.kill()
            await hub.ended()
            for task in acting:
                task.cancel()
            for ended in await asyncio.gather(*acting, return_exceptions=True):
                assert isinstance(ended, asyncio.CancelledError), ended
            now = set(stored(tmp_path / "hub", ATTEMPTS))
            assert kept <= now, seed  # what was stored once stays as it was
            killed_at_work += len(now) > len(kept)
            kept = now
        assert killed_at_work >= kills / 6  # a busy machine answers little before a kill

        for server in asked.values():
            server.seconds = 0.0
        async with hub_at(config) as hub:
            organiser = Api(session, hub.address, token)
            await finish(organiser, tokens)
            disturbed = await boards(organiser)
            hub.process.terminate()
            assert await hub.ended() == 130

        config = await write_config(tmp_path, "undisturbed", **planned)
        token = await new_token(config)
        async with hub_at(config) as hub:
            organiser = Api(session, hub.address, token)
            await finish(organiser, await begin(organiser, asked))
            assert disturbed == await boards(organiser)

    hub_folder = tmp_path / "hub"
    answers = stored(hub_folder, ANSWERS)
    assert len(answers) == len({row[:2] for row in answers}) == len(TEAMS) * ARTICLES
    assert {tuple(row[:2] + row[3:]) for row in answers} == {
        tuple(row[:2] + row[3:]) for row in stored(tmp_path / "undisturbed", ANSWERS)
    }
    outcomes = stored(hub_folder, "SELECT DISTINCT outcome FROM attempts")
    assert set(outcomes) <= {("ok",), ("cancelled",)}, seed  # no fault of the hub is charged
    noted = dict(stored(hub_folder, "SELECT request_id, action FROM audit"))
    missing = {
        (action, request_id)
        for request_id, action in deeds.acknowledged.items()
        if noted.get(request_id) != action
    }
    assert not missing, seed
    expected = {"servers.start", "servers.pause", "servers.suspend", "phases.freeze"}
    assert kills < 20 or expected <= set(deeds.acknowledged.values()), seed
