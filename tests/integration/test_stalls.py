"""The hub stands still, blocked or stopped by a signal: servers are not charged for it."""

import asyncio
import re
import signal
import time
from pathlib import Path

import aiohttp
import pytest

from metaserver.base.conformance import Conformance, StepState
from metaserver.base.states import Outcome
from metaserver.exchange.http.caller import MAX_QUERIES, MAX_VOIDED
from metaserver.exchange.http.client import HttpClient, HttpLimits, open_client
from metaserver.exchange.http.watchdog import STALL
from tests.hubs.command import DEMO, GOLD_FILES
from tests.hubs.process import (
    PATIENCE,
    Api,
    challenge,
    enrol,
    hub_at,
    lane,
    new_token,
    write_config,
)
from tests.hubs.stored import stored
from tests.integration.callers import article_caller, conformance_of, server
from tests.integration.kits import asked_server
from tests.integration.peers import GOOD, Connection, peer
from tests.waiting import patience, until

LIMIT = 2.0  # seconds for an article
LONG = LIMIT + STALL + 0.5


class Blocking:
    """A good server that blocks the hub's loop (it is the test's) for some requests, from 1."""

    def __init__(self, *when: int) -> None:
        self.when = when
        self.asked = 0

    async def __call__(self, connection: Connection) -> None:
        while True:
            await connection.request()
            self.asked += 1
            if self.asked in self.when:
                time.sleep(LONG)  # noqa: ASYNC251 - that is what is tested
            await connection.respond(GOOD)


async def awake(client: HttpClient) -> None:
    """Let the watchdog begin."""
    await until(lambda: client.watchdog._beat is not None)


async def test_an_attempt_that_ran_out_of_time_while_the_hub_stood_still_is_void() -> None:
    async with peer(Blocking(1)) as there, article_caller(time_limit=LIMIT, stalls=True) as caller:
        await awake(caller._client)
        first, _ = await caller.call(server(there.url), 0, 1)
        second, answer = await caller.call(server(there.url), 0, 2)
    assert first.outcome is Outcome.CANCELLED
    assert first.message.startswith("the hub stood still for ")
    assert first.message.endswith(f"does not count: timeout: no complete answer within {LIMIT:g} s")
    assert second.outcome is Outcome.OK
    assert answer is not None


@pytest.mark.slow
async def test_a_hub_that_always_stands_still_sends_an_article_a_few_times_only() -> None:
    """Or a lane would go on for ever."""
    blocking = Blocking(*range(1, MAX_VOIDED + 2))
    async with peer(blocking) as there, article_caller(time_limit=LIMIT, stalls=True) as caller:
        await awake(caller._client)
        ends = [await caller.call(server(there.url), 0, number) for number in range(MAX_VOIDED + 1)]
    outcomes = [attempt.outcome for attempt, _ in ends]
    assert outcomes == [Outcome.CANCELLED] * MAX_VOIDED + [Outcome.TIMEOUT]


async def test_a_server_that_hangs_while_the_hub_is_well_is_charged() -> None:
    async def hang(connection: Connection) -> None:
        await connection.request()
        await asyncio.sleep(PATIENCE)

    async with peer(hang) as there, article_caller(time_limit=0.2, stalls=True) as caller:
        caller._client.watchdog.clock = time.process_time  # others may use the machine
        await awake(caller._client)
        attempt, _ = await caller.call(server(there.url), 0, 1)
    assert attempt.outcome is Outcome.TIMEOUT


@pytest.mark.slow
async def test_a_probe_is_repeated_that_ended_while_the_hub_stood_still(monkeypatch):
    monkeypatch.setattr("metaserver.exchange.http.caller.PROBE_SECONDS", LIMIT)
    blocking = Blocking(1)
    async with peer(blocking) as there, article_caller(stalls=True) as caller:
        await awake(caller._client)
        assert await caller.probe(server(there.url)) is None
    assert blocking.asked == 2


# -- the conformance run ---------------------------------------------------------------------------


async def conform(blocking: Blocking) -> Conformance:
    async with peer(blocking) as there, open_client(HttpLimits(connect=1.0)) as client:
        await awake(client)
        return await conformance_of(server(there.url), client, time_limit=LIMIT)


@pytest.mark.slow
async def test_a_step_that_failed_while_the_hub_stood_still_is_taken_again() -> None:
    blocking = Blocking(1, 3)
    run = await conform(blocking)
    assert run.passed, run.reasons()
    said = {step.name: step.message for step in run.steps if "asked again" in step.message}
    assert set(said) == {"state", "short article"}
    assert all("asked again: the hub stood still for" in message for message in said.values())


@pytest.mark.slow
async def test_a_step_is_taken_again_a_few_times_only() -> None:
    run = await conform(Blocking(*range(2, 2 + MAX_QUERIES)))
    assert not run.passed
    (failed,) = [step for step in run.steps if step.state is StepState.FAILED]
    assert (failed.name, failed.outcome) == ("short article", Outcome.CANCELLED)
    assert failed.message.startswith("the hub stood still for")


# -- a hub that is stopped -------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_hub_that_is_stopped_and_goes_on_charges_nobody(tmp_path: Path) -> None:
    """As a laptop that is closed: SIGSTOP, longer than an article's time limit, and SIGCONT."""
    config = await write_config(
        tmp_path,
        challenges=[challenge(DEMO / "articles", GOLD_FILES)],
        limits={"timeout": 3, "attempts": 1},  # one that was charged would be given up
    )
    async with (
        asked_server(0.3) as asked,
        hub_at(config) as hub,
        aiohttp.ClientSession() as session,
    ):
        organiser = Api(session, hub.address, await new_token(config))
        blue = organiser.of(await enrol(organiser, "blue", {"blue-1": asked.url}))
        before, asked.seconds = asked.texts.total(), 1.0
        await organiser("POST", "/phases/test/open")
        await blue("POST", "/servers/blue-1/start")
        await until(lambda: asked.texts.total() != before)
        hub.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(6.0)
        hub.process.send_signal(signal.SIGCONT)
        asked.seconds = 0.0
        async with patience():
            while (await lane(blue, "blue-1"))["state"] != "finished":
                await asyncio.sleep(0.1)
        metrics = await (await session.get(f"{hub.address}metrics")).text()
    attempts = stored(tmp_path / "hub", "SELECT outcome, message FROM attempts")
    void = [message for outcome, message in attempts if outcome == "cancelled"]
    assert void
    assert all(message.startswith("the hub stood still for ") for message in void)
    assert {outcome for outcome, _ in attempts} <= {"ok", "partial", "cancelled"}
    assert re.search(r"^metaserver_event_loop_stalls_total [1-9]", metrics, re.MULTILINE)
    assert any("stood still" in line for line in hub.log)
