"""A night of a hub of three workers and two processes with pages, in which everything fails.

Processes are killed and frozen, and start again without their key or with a clock that is an hour
ahead; the database goes, is cut off, cannot be written or is full; organisers act meanwhile.
Afterwards nothing is missing, nothing was charged, all show the same, and `scoring` finds the same
numbers. `METASERVER_KILLS` is the number of kills, 100 or more for every fault; what was done is
printed: `pytest -s -m nightly tests/integration/test_chaos.py`.
"""

import asyncio
import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from scoring import evaluate_files
from tests import stores
from tests.hubs.command import metaserver
from tests.hubs.process import Hub, RefusedRequestError, write_config
from tests.integration.fleet import (
    ARTICLES,
    TASKS,
    TEAMS,
    Fleet,
    begin,
    fleet,
)
from tests.integration.test_process_database import (
    Fault,
    connections_cut,
    full,
    killed,
    read_only,
    small_disk,
    stopped_at_once,
    stopped_fast,
)
from tests.integration.test_process_losses import require_kept
from tests.stores import PostgresServer
from tests.waiting import patience, until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")

KILLS = int(os.environ.get("METASERVER_KILLS", "100"))
WEBS, WORKERS = ("web-1", "web-2"), ("worker-1", "worker-2", "worker-3")
FREEZES_IN = timedelta(minutes=58)
"""When the phase freezes: by a clock that is an hour ahead, it is over."""
FROZEN = 16.0  # seconds: three leases
RESTART = 2.0  # seconds after which a unit starts what has ended (deploy/systemd)
AHEAD, KEYLESS = "with a clock an hour ahead", "without the key"
EXPECTED = (
    "serving at ", "working as ", "no organiser can sign in yet",
    "nothing can be stored, so no article is sent: ", "answers can be stored again",
    "waiting until it is there", "nothing is sent to some servers by this process: ",
    "opens the credentials of all servers again",
    "the clock of this machine differs from the database's by +3", "stood still for ",
    "was given up: it starts again",
)  # fmt: skip
"""Parts of the lines that faults of this night cause."""


@dataclass
class Night:
    """A hub, what was done to it, and what its processes have said."""

    hub: Fleet
    database: PostgresServer
    rng: random.Random
    keyless: Path
    """Settings of a machine that has not the key of servers' credentials."""
    done: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    frozen: set[str] = field(default_factory=set)
    amiss: set[str] = field(default_factory=set)
    """Processes on machines that are not as they should be."""

    async def kill(self, name: str) -> None:
        """Kill a process."""
        process = self.hub.processes[name]
        assert process.process.returncode is None, process.log  # none ends by itself
        await self.hub.kill(name)
        self.said += process.log

    async def begin(self, name: str) -> None:
        """Start a process, now and then on a machine that is not as it should be."""
        role = name.split("-")[0]
        way = self.rng.choice(("", "", "", AHEAD, KEYLESS if role == "worker" else ""))
        if way:
            self.done[f"start {way}"] += 1
            self.amiss.add(name)
        else:
            self.amiss.discard(name)
        self.hub.processes[name] = await Hub.begin(
            self.keyless if way == KEYLESS else self.hub.config,
            role,
            "tests.hubs.ahead" if way == AHEAD else "metaserver.cli.main",
        )

    async def lose(self, name: str) -> None:
        """Kill a process, and start it again as its unit would."""
        await self.kill(name)
        self.done[f"kill -9 of {name}"] += 1
        await asyncio.sleep(self.rng.uniform(0.0, RESTART))
        await self.begin(name)
        await self.until_ready(name)

    async def until_ready(self, name: str) -> None:
        """Wait until a process is ready; one that ends before is started again, as by its unit."""
        async with patience():
            while not await (process := self.hub.processes[name]).has_begun():
                status = await process.ended()
                assert status not in (0, 2), process.log  # these are for ever
                self.done[f"end by itself, status {status}"] += 1
                self.said += process.log
                await asyncio.sleep(RESTART)
                await self.begin(name)

    def some(self, names: Sequence[str]) -> list[str]:
        """Return some processes that are not frozen, at random."""
        found = [name for name in names if name not in self.frozen]
        return self.rng.sample(found, k=min(len(found), self.rng.choice((1, 2, 3, 4))))

    async def freeze(self, name: str) -> None:
        """Freeze a process for three leases."""
        self.frozen.add(name)
        process = self.hub.processes[name].process
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(FROZEN)
        process.send_signal(signal.SIGCONT)
        self.frozen.discard(name)
        self.done[f"freeze of {name}"] += 1

    async def fail(self, fault: Fault) -> None:
        """Let the database fail; meanwhile a process is killed, and starts without it."""
        name = self.some(WORKERS)[0] if fault is full else self.some(WEBS + WORKERS)[0]
        before = self.blocked()

        async def noticed() -> bool:
            if not self.blocked() > before or (fault is full and await self.any_ready()):
                return False
            if name not in started:
                started.append(name)
                await self.kill(name)
                await self.begin(name)
                self.done["start while the database is away"] += 1
            return True

        started: list[str] = []
        await fault(self.database, noticed)
        self.done[f"database {fault.__name__.replace('_', ' ')}"] += 1
        for one in set(self.hub.processes) - self.frozen:
            await self.until_ready(one)
        await until(self.any_ready)

    def blocked(self) -> int:
        """Return how often a process that is there has said that nothing can be stored."""
        logs = [line for one in self.hub.processes.values() for line in one.log]
        return sum("nothing can be stored" in line for line in logs)

    async def any_ready(self) -> bool:
        """Return whether a process with pages that is not frozen is ready for requests."""
        for name in set(WEBS) - self.frozen:
            if self.hub.processes[name].address:
                try:
                    if await self.hub.processes[name].is_ready(self.hub.session):
                        return True
                except aiohttp.ClientError:
                    continue
        return False

    async def keep_pace(self, share: float) -> None:
        """Let servers answer so fast that they have done a share of the articles."""
        behind = await self.hub.done() < share * len(TEAMS) * ARTICLES
        for asked in self.hub.asked.values():
            asked.seconds = 0.2 if behind else 5.0


async def act(hub: Fleet, rng: random.Random) -> None:
    """Let organisers pause and start servers on any process, whatever is alive."""
    while True:
        await asyncio.sleep(rng.uniform(0.2, 1.0))
        web = rng.choice(WEBS)
        server = rng.choice(list(hub.asked))
        verb = rng.choice(("pause", "start", "start", "cancel"))
        try:
            async with asyncio.timeout(5.0):  # it may be frozen
                await hub.api(web)("POST", f"/servers/{server}/{verb}")
        except (KeyError, RefusedRequestError, aiohttp.ClientError, OSError):  # killed meanwhile
            continue


@asynccontextmanager
async def night(folder: Path, rng: random.Random) -> AsyncIterator[Night]:
    """Run a hub whose phase is open, on a small disk if it can be had."""
    freezes = (datetime.now(UTC) + FREEZES_IN).isoformat(timespec="seconds")
    async with small_disk(400) as disk:
        if disk is None:
            print("the disk is not filled: a file system of its own cannot be mounted here")
        with stores.own_server(within=disk, fsync="on" if disk else "off") as database:
            database.ask("CREATE DATABASE metaserver")
            async with fleet(folder, 1.0, url=database.url("metaserver"), freezes=freezes) as hub:
                keyless = await write_config(folder, "keyless", store=hub.url)
                made = Night(hub, database, rng, keyless)
                await hub.start(*WEBS, *WORKERS)
                await begin(hub, "web-1", auth="bearer", secret="a-secret-of-teams")
                yield made


def plan(kills: int, rng: random.Random, *, disk: bool) -> Sequence[str | Fault]:
    """Return what is done one after another: kills by `kill`, freezes by `freeze`, and faults."""
    faults = [stopped_fast, stopped_at_once, killed, connections_cut, read_only]
    few = [*faults, full] if disk else faults
    if kills < 100:
        few = rng.sample(faults[:3], k=1)
    planned: list[str | Fault] = [*few * 2, *["freeze"] * 5] if kills >= 100 else [*few, "freeze"]
    rng.shuffle(planned)
    at = sorted(rng.choices(range(kills), k=len(planned)))
    deck: list[str | Fault] = []
    for number in range(kills):
        deck += [one for place, one in zip(at, planned, strict=True) if place == number]
        deck.append("kill")
    return deck


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(4, marks=pytest.mark.slow),
        pytest.param(KILLS, marks=[pytest.mark.nightly, pytest.mark.timeout(3_300)]),
    ],
)
async def test_a_night_of_faults_changes_nothing(tmp_path: Path, kills: int) -> None:
    seed = int(os.environ.get("METASERVER_SEED", time.time()))
    print(f"seed {seed}")  # shown where the test fails
    rng = random.Random(seed)
    async with night(tmp_path, rng) as made:
        acting = asyncio.create_task(act(made.hub, rng))
        await pass_through(made, kills)
        acting.cancel()
        await finish(made)
        numbers = await require_nothing_changed(made, tmp_path)
        assert all(one.process.returncode is None for one in made.hub.processes.values())
        said = made.said + [line for one in made.hub.processes.values() for line in one.log]
        for what, count in sorted((made.done + Counter(map(kind_of, said))).items()):
            print(f"{count:5} x {what}")
        print(f"{numbers} numbers of boards are those of scoring")
        unexpected = [line for line in said if kind_of(line) not in EXPECTED]
        assert not unexpected, "\n".join(unexpected[:20])


async def pass_through(made: Night, kills: int) -> None:
    """Let all happen, a freeze beside what comes next."""
    rng, freezing = made.rng, asyncio.create_task(asyncio.sleep(0))
    deck = plan(kills, rng, disk="metaserver-full" in made.hub.url)
    while deck:
        await made.keep_pace(1 - len(deck) / kills)
        await asyncio.sleep(rng.uniform(0.0, 1.5))
        if deck[0] == "kill":
            count = next((at for at, one in enumerate(deck) if one != "kill"), len(deck))
            victims = made.some(WEBS + WORKERS)[:count]
            deck = deck[len(victims) :]
            print("kills of", *victims, flush=True)
            await asyncio.gather(*map(made.lose, victims))
            continue
        await freezing
        fault, *deck = deck
        print(fault, flush=True)
        if isinstance(fault, str):
            freezing = asyncio.create_task(made.freeze(rng.choice(WEBS + WORKERS)))
            await asyncio.sleep(0)  # it has begun
        else:
            await made.fail(fault)
    await freezing


def kind_of(line: str) -> str:
    """Return the part by which a line is expected; the line itself if it is not."""
    return next((part for part in EXPECTED if part in line), line)


async def finish(made: Night) -> None:
    """Let all servers come to their end at once, on machines that are as they should be."""
    hub = made.hub
    for asked in hub.asked.values():
        asked.seconds = 0.0
    for name in made.amiss:
        await made.kill(name)
    await hub.start(*made.amiss)
    for team in hub.asked:
        await hub.api("web-2")("POST", f"/servers/{team}/start")
    await hub.until_done(len(hub.asked) * ARTICLES)


async def require_nothing_changed(made: Night, folder: Path) -> int:
    """Check what was stored and is shown; return how many numbers `scoring` finds again."""
    hub = made.hub
    await require_kept(hub)
    assert not await hub.ask("SELECT server_id, note FROM state_changes WHERE state = 'down'")
    phase = await hub.api("web-1")("GET", "/phases/test")
    assert phase["state"] == "test", phase  # no clock that was ahead has frozen it
    await hub.api("web-1")("POST", "/phases/test/freeze")
    (folder / "token").write_text(hub.token)
    named = ["--hub", hub.processes["web-2"].address, "--token-file", folder / "token"]
    package = folder / "package"
    ended = await metaserver("results", "test", "--gold", "--out", package, *named)
    assert ended.status == 0, ended.stderr
    return sum(numbers_found_again(package, task) for task in TASKS)


def numbers_found_again(package: Path, task: str) -> int:
    """Evaluate the runs of a package; return how many numbers of its board are the same."""
    raw = json.loads((package / f"boards/{task}.json").read_bytes())["views"]["raw"]
    [policy] = re.findall(r"articles:([^|]+)", raw["signature"])
    gold, runs = package / f"gold/{task}.tsv", sorted((package / f"runs/{task}").iterdir())
    cards = {
        path.stem: evaluate_files(task, gold, path, articles=policy).to_dict() for path in runs
    }
    count = 0
    for row in raw["rows"]:
        card = cards[row["run"]]
        for name, value in row["values"].items():
            if (again := card.get(name, card.get("macro", {}).get(name))) is not None:
                assert value == again, (row["run"], name)
                count += 1
    assert len(raw["rows"]) == len(TEAMS)
    return count
