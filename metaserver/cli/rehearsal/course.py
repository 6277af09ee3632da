"""The course of a rehearsal: teams come, servers are asked, the hub is killed once; its summary."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from metaserver.base.errors import HubError
from metaserver.base.states import ANSWERED, Outcome
from metaserver.base.zones import in_words
from metaserver.cli.process import end_process
from metaserver.cli.rehearsal.plan import PlannedServer
from metaserver.cli.remote.client import RemoteHub, followed
from metaserver.store.place import STORE_FILE
from metaserver.store.reader import open_reader

# -- checks of the store of a rehearsed hub: every answer is there, and once -----------------------

Asked: TypeAlias = tuple[str, str]
"""A server and an article."""


@dataclass(kw_only=True)
class Stored:
    """All servers' attempts, as stored.

    `answers` counts accepted answers by server and article, `ended` are those finished: answered or
    given up.
    """

    articles: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    answers: Counter[Asked] = field(default_factory=Counter)
    ended: set[Asked] = field(default_factory=set)

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.outcomes.total()

    @property
    def faults(self) -> Mapping[str, int]:
        """The attempts that were not answered in full, by outcome, most frequent first."""
        return {
            str(outcome): count
            for outcome, count in self.outcomes.most_common()
            if outcome is not Outcome.OK
        }

    @property
    def twice(self) -> Set[Asked]:
        """Articles for which a server has several answers."""
        return {article for article, count in self.answers.items() if count > 1}

    def lost_since(self, earlier: Stored) -> Set[Asked]:
        """Return the answers that an earlier reading of the store had and this has not."""
        return earlier.answers.keys() - self.answers.keys()

    def missing(self, servers: int) -> int:
        """Return for how many servers and articles there is no end."""
        return servers * self.articles - len(self.ended)


async def read_stored(folder: Path) -> Stored:
    """Read all attempts from a hub's folder, also beside a hub at work."""
    stored = Stored()
    async with open_reader(folder / STORE_FILE) as reader:
        for lane in await reader.lanes():
            stored.articles = len(lane.corpus.ids)
            async for _, attempt, final in reader.attempts(lane.key, lane.server, lane.corpus):
                article = (attempt.server, attempt.article)
                stored.outcomes[attempt.outcome] += 1
                if attempt.outcome in ANSWERED:
                    stored.answers[article] += 1
                if final:
                    stored.ended.add(article)
    return stored


# -- the processes of a rehearsal: the hub, which is killed and started again, and the servers -----

START_SECONDS = 120.0
STOP_SECONDS = 10.0
SERVING = "metaserver: serving at "
SERVERS = "metaserver.cli.rehearsal.servers"
COMMAND = "metaserver.cli.main"


async def _begin(module: str, *arguments: str, log: Path) -> asyncio.subprocess.Process:
    """Start a module; its standard error is added to the log. Ctrl-C is not for it."""
    with log.open("ab") as errors:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )  # fmt: skip


class HubProcess:
    """`metaserver serve` as its own process; `address` is where it is served."""

    def __init__(self, config: Path, log: Path) -> None:
        self.address = ""
        self._config = config
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves."""
        start = self._log.stat().st_size if self._log.exists() else 0
        self._process = await _begin(COMMAND, "serve", "--config", str(self._config), log=self._log)
        try:
            async with asyncio.timeout(START_SECONDS):
                while not (address := self._address_after(start)):
                    if self._process.returncode is not None:
                        raise HubError(f"the hub did not start: {self._said(start)}")
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise HubError(f"the hub did not start within {START_SECONDS:.0f} s") from error
        self.address = address

    def _said(self, start: int) -> str:
        return self._log.read_bytes()[start:].decode("utf-8", "replace").strip()

    def _address_after(self, start: int) -> str:
        lines = self._said(start).splitlines()
        addresses = [line.removeprefix(SERVING) for line in lines if line.startswith(SERVING)]
        return addresses[0].strip() if addresses else ""

    async def kill(self) -> None:
        """Kill it without warning."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """Let it stop by itself, or kill it."""
        if self._process is not None:
            await end_process(self._process, STOP_SECONDS)

    async def ended(self) -> None:
        """Wait until it has ended by itself, which it should not: raises `HubError`."""
        assert self._process is not None
        status = await self._process.wait()
        raise HubError(f"the hub has ended, with status {status}: see {self._log}")

    async def new_token(self) -> str:
        """Return a new organiser token."""
        process = await _begin(
            COMMAND, "token", "create", "--role", "organiser", "--label", "rehearsal",
            "--config", str(self._config), log=self._log,
        )  # fmt: skip
        out, _ = await process.communicate()
        if process.returncode:
            raise HubError(f"no token was made: see {self._log}")
        return out.decode().strip()


@asynccontextmanager
async def simulated_servers(plan: Path, log: Path) -> AsyncIterator[Mapping[str, str]]:
    """Serve a plan while the context lasts; yields the address of each server by its name."""
    process = await _begin(SERVERS, str(plan), log=log)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        if not line:
            raise HubError(f"the simulated servers did not start: see {log}")
        addresses: Mapping[str, str] = json.loads(line)
        yield addresses
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# -- the course of a rehearsal ---------------------------------------------------------------------

AT_ONCE = 8
"""Servers that are tested at the same time."""
LOOK_SECONDS = 0.5
SAY_SECONDS = 10.0
FREEZE_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The progress of all servers; `finished`: no article is left, or the phase is frozen.

    `cut_off`: it was frozen, by its date or by an organiser, with articles left.
    """

    ended: int
    total: int
    down: Sequence[str]
    finished: bool
    cut_off: bool


@dataclass(frozen=True, kw_only=True)
class Restart:
    """The hub's restart: what its store had before, and the real seconds it was away."""

    at: float
    before: Stored
    away: float


class Course:
    """A phase in a running hub, asked as its organiser; times are the challenge's, in seconds."""

    def __init__(self, process: HubProcess, token: str, phase: str, speed: float) -> None:
        self.phase = phase
        self._process = process
        self._token = token
        self._speed = speed
        self._opened = 0.0

    @property
    def now(self) -> float:
        """The time since the phase was opened."""
        return (time.time() - self._opened) * self._speed

    async def ask(self, method: str, path: str, body: Any = None, **places: str) -> Any:
        """Ask the hub, and follow a job to its end."""
        return await asyncio.to_thread(self._ask, method, path, body, places)

    def _ask(self, method: str, path: str, body: Any, places: Mapping[str, str]) -> Any:
        hub = RemoteHub(url=self._process.address, token=self._token)
        answer = hub.ask(method, path, places=places, body=body)
        is_job = isinstance(answer, dict) and {"job", "began_at"} <= answer.keys()
        return followed(hub, answer) if is_job else answer

    async def enrol(self, servers: Sequence[PlannedServer], addresses: Mapping[str, str]) -> None:
        """Register all teams and servers, and test each server."""
        for team in dict.fromkeys(server.team for server in servers):
            await self.ask("POST", "/teams", {"team": team})
        turn = asyncio.Semaphore(AT_ONCE)

        async def register(server: PlannedServer) -> None:
            async with turn:
                registered = {
                    "server": server.name,
                    "url": addresses[server.name],
                    "parameters": "text+context",
                    "concurrency": server.concurrency,
                    "team": server.team,
                }
                await self.ask("POST", "/servers", registered)
                tested = await self.ask(
                    "POST", "/servers/{server}/test", {"phase": self.phase}, server=server.name
                )
                if not tested["passed"]:
                    failed = [step for step in tested["steps"] if step["state"] == "failed"]
                    raise HubError(f"{server.name} did not pass its test: {failed[0]['message']}")

        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(register(server))

    async def open(self, servers: Sequence[PlannedServer], length: float | None) -> None:
        """Open the phase, start all servers, and let it freeze by itself after `length`."""
        await self.ask("POST", "/phases/{phase}/open", {}, phase=self.phase)
        self._opened = time.time()
        for server in servers:
            start = {"phase": self.phase}
            await self.ask("POST", "/servers/{server}/start", start, server=server.name)
        if length is not None:  # after the starts, which a frozen phase would refuse
            freezes = datetime.fromtimestamp(self._opened + length / self._speed, UTC)
            dates = {"freezes": freezes.isoformat()}
            await self.ask("PATCH", "/phases/{phase}", dates, phase=self.phase)

    async def progress(self) -> Standing:
        """Return how far all servers are."""
        phase = await self.ask("GET", "/phases/{phase}", phase=self.phase)
        servers = await self.ask("GET", "/servers")
        lanes = {server["server"]: lane for server in servers for lane in server["phases"]}
        ended = [lane["done"] + lane["given_up"] for lane in lanes.values()]
        total = [lane["total"] for lane in lanes.values()]
        is_over = phase["state"] in ("frozen", "closed")
        return Standing(
            ended=sum(ended),
            total=sum(total),
            down=[name for name, lane in lanes.items() if lane["state"] == "down"],
            finished=is_over or (ended == total and not phase["catching_up"]),
            cut_off=is_over and ended != total,
        )

    async def play(self, folder: Path, say: Any) -> tuple[Restart, Standing]:
        """Wait until all servers have finished; meanwhile kill the hub once and start it again."""
        restart, said = None, 0.0
        while True:
            progress = await self.progress()
            if restart is None and (progress.finished or progress.ended * 2 >= progress.total):
                restart = await self._restart(folder)
                say(f"{in_words(restart.at)}: the hub was killed, and serves again after"
                    f" {restart.away:.1f} s")  # fmt: skip
                continue
            if progress.finished or time.time() - said > SAY_SECONDS:
                said = time.time()
                down = f"; down: {', '.join(progress.down)}" if progress.down else ""
                say(
                    f"{in_words(self.now)}: {progress.ended:,} of {progress.total:,} articles{down}"
                )
            if progress.finished:
                assert restart is not None
                return restart, progress
            await asyncio.sleep(LOOK_SECONDS)

    async def _restart(self, folder: Path) -> Restart:
        at, before = self.now, await read_stored(folder)
        killed = time.monotonic()
        await self._process.kill()
        await self._process.start()
        return Restart(at=at, before=before, away=time.monotonic() - killed)

    async def freeze(self, tasks: Sequence[str]) -> Mapping[str, Any]:
        """Freeze the phase, and return its frozen boards by task when they are there."""
        phase = await self.ask("GET", "/phases/{phase}", phase=self.phase)
        if phase["state"] not in ("frozen", "closed"):
            await self.ask("POST", "/phases/{phase}/freeze", {}, phase=self.phase)
        try:
            async with asyncio.timeout(FREEZE_SECONDS):
                while True:
                    frozen = await self.ask("GET", "/phases/{phase}/frozen", phase=self.phase)
                    newest = {answer["task"]: answer["board"] for answer in reversed(frozen)}
                    if newest.keys() >= set(tasks):
                        break
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError as error:
            raise HubError("the boards were not frozen") from error
        return {
            task: await self.ask("GET", "/boards/{board}", board=newest[task]) for task in tasks
        }


# -- the summary of a rehearsal: what happened, who leads, and whether the checks hold -------------


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check: `found` says what was found, even if it holds."""

    name: str
    holds: bool
    found: str


class FirstPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The run that leads a board, by the board's first measure."""

    task: str
    run: str
    measure: str
    value: float | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A rehearsal's result; times in seconds, the challenge's unless they are called real."""

    seed: int
    speed: float
    teams: int
    servers: int
    articles: int
    seconds: float
    real_seconds: float
    attempts: int
    answered: int
    given_up: int
    without_end: int
    faults: Mapping[str, int]
    restarted_at: float
    answered_before_restart: int
    restart_real_seconds: float
    first: Sequence[FirstPlace]
    checks: Sequence[Check]

    def lines(self) -> Sequence[str]:
        """Return its lines."""
        faults = ", ".join(f"{name} {count:,}" for name, count in self.faults.items())
        unfinished = f", {self.without_end:,} not by the freeze" if self.without_end else ""
        return [
            (f"{self.teams} teams, {self.servers} servers, {self.articles} articles in"
            f" {in_words(self.seconds)} of the challenge ({in_words(self.real_seconds)} here)"),
            f"articles: {self.answered:,} answered, {self.given_up:,} given up{unfinished}",
            f"attempts: {self.attempts:,}; faults: {faults or 'none'}",
            (f"restart: after {in_words(self.restarted_at)} with {self.answered_before_restart:,}"
            f" answers; served again after {self.restart_real_seconds:.1f} s"),
            *(f"first in {best.task}: {best.run}, {best.measure} {_shown(best.value)}"
              for best in self.first),
            *(f"{'ok' if check.holds else 'FAILED'}: {check.name} ({check.found})"
              for check in self.checks),
        ]  # fmt: skip


def judge(stored: Stored, restart: Restart, *, servers: int, cut_off: bool) -> Sequence[Check]:
    """Return the store's checks; `cut_off`: the freeze left articles unfinished."""
    missing = stored.missing(servers)
    lost, twice = stored.lost_since(restart.before), stored.twice
    again = [article for article in restart.before.answers if stored.answers[article] > 1]
    return [
        Check(name="no answer is lost", holds=not lost, found=f"{len(lost)} lost in the restart"),
        Check(
            name="every article has an end",
            holds=cut_off or not missing,
            found=f"{missing} without" + (", cut off by the freeze" if cut_off else ""),
        ),
        Check(
            name="no answer is scored twice",
            holds=not twice,
            found=f"{len(twice)} twice, {len(again)} of them from before the restart",
        ),
    ]


def first_places(boards: Mapping[str, Any]) -> Sequence[FirstPlace]:
    """Return the runs that lead frozen boards: several if they share first place."""
    return [
        FirstPlace(task=task, run=row["run"], measure=board["order"][0],
                   value=row["values"].get(board["order"][0]))
        for task, board in boards.items()
        for row in board["rows"]
        if row["place"] == 1
    ]  # fmt: skip


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"
