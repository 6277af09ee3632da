"""The cost of curators' requests to a running challenge: answers a second with 50 at once, without.

Both are measured in turn, several rounds, and compared round by round, so that a machine that is
busy otherwise slows both. The 50 requests come while the lanes are at work: by the policy `idle`
they wait until these have ended, by `share` a server is sent one beside its lane. The time ends
with the challenge's last answer.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks import sized
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, begun
from metaserver.base.conformance import ConformanceVerdict
from metaserver.base.states import Role
from metaserver.cli.single_phase import work_to_end
from metaserver.config import ServersForCurators
from metaserver.curation.operations import requests
from metaserver.curation.operations.requests import NewRequest
from metaserver.curation.parts import CurationParts
from metaserver.operations import tokens
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import ask
from metaserver.operations.tokens import NewToken
from metaserver.phases.conformance import Conditions
from metaserver.phases.runtime import RunningPhase
from metaserver.store import servers

SERVERS, CONCURRENCY, ARTICLES, ROUNDS = sized((8, 4, 150, 3), (2, 2, 4, 1))
SECONDS = sized(0.25, 0.05)
"""Seconds in which a server answers: quicker than any of BioCreative II.5's, by far."""
REQUESTS = sized(50, 2)
TOKENS = sized(5, 2)
TEXT = "MDM2 binds p53 & targets it for degradation. " * 40  # an abstract's length
TARGET = 0.05
ORGANISER = Caller(role=Role.ORGANISER, name="benchmark")


async def challenge(url: str, folder: Path, policy: ServersForCurators | None) -> float:
    """Return the answers a second of a challenge, with requests under a policy or without any."""
    opened = begun(
        folder, [url] * SERVERS, articles=ARTICLES, concurrency=CONCURRENCY, text=TEXT,
        curation={"servers": (policy or ServersForCurators.IDLE).value},
    )  # fmt: skip
    async with opened as (hub, running):
        await agree(hub, running)
        curators = [await curator(hub, number) for number in range(TOKENS)]
        asking = asyncio.create_task(ask_all(hub, curators if policy else []))
        took = 0.0

        async def end() -> None:
            nonlocal took
            took = time.perf_counter() - began
            for request in await asking:
                live = await hub.part(CurationParts).requests.get(request)
                if live is not None and not live.settled:
                    await hub.part(CurationParts).requests.forget(live)

        began = time.perf_counter()
        await work_to_end(hub, running, end)
        done = sum(status.done for status in running.boards.monitor().servers)
        assert done == SERVERS * ARTICLES
    return done / took


async def agree(hub: HubContext, running: RunningPhase) -> None:
    """Let all servers have passed their tests, and serve curators."""
    for registered in running.servers.values():
        terms = Conditions.of(registered.server, running, hub.settings).terms
        verdict = ConformanceVerdict(terms=terms, at=time.time(), passed=True, reasons=())
        async with hub.store.writing() as connection:
            await servers.serve_curators(connection, registered.id, True)
            await servers.put_conformance(
                connection, registered.id, running.phase.id,
                verdict=msgspec.json.encode(verdict), report=b"{}",
            )  # fmt: skip


async def curator(hub: HubContext, number: int) -> Caller:
    """Return a curator with a token."""
    issued = await ask(
        hub, ORGANISER, tokens.create, NewToken(role=Role.CURATOR, label=f"c{number}")
    )
    return Caller(role=Role.CURATOR, token_id=issued.id, name=f"curator {number}")


async def ask_all(hub: HubContext, curators: list[Caller]) -> list[str]:
    """Ask all requests at once; return their ids."""
    if not curators:
        return []
    asked = (
        ask(hub, curators[number % TOKENS], requests.ask, NewRequest(text=f"{number} {TEXT}"))
        for number in range(REQUESTS)
    )
    return [found.request for found in await asyncio.gather(*asked)]


def measure(url: str, folder: Path, policy: ServersForCurators) -> None:
    """Print what 50 requests cost, round by round."""
    costs, without = [], []
    for turn in range(ROUNDS + 1):  # the first warms up
        place = folder / f"{policy} {turn}"
        alone = asyncio.run(challenge(url, place / "without", None))
        beside = asyncio.run(challenge(url, place / "with", policy))
        if turn:
            costs.append(1 - beside / alone)
            without.append(alone)
    print(
        f"{policy}: {REQUESTS} requests at once cost {statistics.median(costs):+.1%} of"
        f" {statistics.median(without):.0f} answers/s, rounds {min(costs):+.1%} to"
        f" {max(costs):+.1%} (target: less than {TARGET:.0%})"
    )


def main() -> None:
    with (
        peer(answer_of(ACCESSIONS), SECONDS) as url,
        tempfile.TemporaryDirectory() as scratch,
    ):
        for policy in (ServersForCurators.IDLE, ServersForCurators.SHARE):
            measure(url, Path(scratch), policy)


if __name__ == "__main__":
    main()
