"""The cost of 1,000 lanes: to start them, to keep them while nothing is sent, and to stop them.

`metaserver serve` runs as a process of its own, on a store that was made before, with nobody on its
pages. What it costs is its processor time, as the system accounts for it:

- start: until its site answers, and until all lanes have a request in flight to a server that does
  not answer;
- idle: the share of a core while all lanes are paused, finished, or down and probed, and with 50
  phases that are closed;
- stop: the seconds from SIGTERM to the end of the process, while all lanes are answered as fast as
  it asks.

`python -m benchmarks.many_lanes --code FOLDER` measures the hub of another checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import psutil
import yaml

from benchmarks import sized
from benchmarks.filled import RELEASE, STORE_FILE, TEXT, gold_of, record_answers, settings
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, make_articles
from metaserver.base.lanes import LaneKey
from metaserver.base.plans import PhasePlan
from metaserver.base.records import PhaseName, Server, ServerName, TaskName, TeamName
from metaserver.base.states import Control
from metaserver.store import leases, phases, servers, teams
from metaserver.store.articles import pack_articles, store_articles
from metaserver.store.place import StorePlace
from metaserver.store.store import open_store

LANES = sized(1_000, 3)
PHASES = sized(50, 3)  # that are closed, with LANES lanes together
ANSWERS = 10  # of each paused lane
SETTLE = sized(5.0, 0.5)  # seconds before a share is measured
PROBED = sized(60.0, 0.5)  # seconds until probes of lanes that are down have their longest pause
BUSY = 0.1  # of a core: it still does what its start has left
SECONDS = sized(20.0, 0.5)  # that are measured
RATE_SECONDS = sized(10.0, 0.5)  # at full rate before SIGTERM
LATE = 3_600.0  # seconds after which a server answers that does not answer
PAST = datetime.now(UTC) - timedelta(days=30)
OPEN = PhasePlan(opens=PAST)
CLOSED = PhasePlan(opens=PAST, freezes=PAST, closes=PAST)
RUN = "import sys; from metaserver.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Hub:
    """A running `metaserver serve` and its store."""

    def __init__(self, process: subprocess.Popen[str], store: Path, address: str) -> None:
        self.address = address
        self.account = psutil.Process(process.pid)
        self._process = process
        self._store = store

    def spent(self) -> float:
        """Return the processor time that it has taken, in seconds."""
        times = self.account.cpu_times()
        return times.user + times.system

    def share(self) -> float:
        """Return the share of a core that it takes once it has come to rest."""
        time.sleep(SETTLE)
        while self._share(SETTLE) > BUSY:
            pass
        return self._share(SECONDS)

    def _share(self, seconds: float) -> float:
        before, begin = self.spent(), time.monotonic()
        time.sleep(seconds)
        return (self.spent() - before) / (time.monotonic() - begin)

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for a condition."""
        while not reached():
            assert self._process.poll() is None, "the hub has ended"
            time.sleep(0.1)

    def count(self, query: str) -> int:
        """Return the number that a query of its store gives."""
        with closing(sqlite3.connect(f"file:{self._store}?mode=ro", uri=True)) as connection:
            return int(connection.execute(query).fetchone()[0])

    def in_state(self, state: str) -> int:
        """Return the number of lanes that have been in a state."""
        return self.count(
            "SELECT count(DISTINCT phase_id * 1000000 + server_id) FROM state_changes"
            f" WHERE state = '{state}'"
        )

    def connections(self, url: str) -> int:
        """Return the number of its connections to a server."""
        port = int(url.rstrip("/").rpartition(":")[2])
        known = self.account.net_connections("tcp")
        return sum(bool(one.raddr) and one.raddr.port == port for one in known)

    def stop(self) -> float:
        """Send SIGTERM; return the seconds until it has ended."""
        begin = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        return time.monotonic() - begin


class Made(NamedTuple):
    """The phases of a store: how many, with how many lanes each, of how many articles.

    `url` may have `{}` for the server's name.
    """

    url: str
    control: Control
    plan: PhasePlan = OPEN
    phases: int = 1
    lanes: int = LANES
    articles: int = 100
    answers: int = 0  # of each lane, stored
    due: bool = False  # at work, where no process with pages orders it


async def fill(folder: Path, made: Made, place: StorePlace | None = None) -> None:
    """Make a hub's store in its folder, or in another place."""
    given = settings(folder)
    async with open_store(place or folder / STORE_FILE) as store:
        packed = pack_articles(make_articles(made.articles, TEXT))
        async with store.writing() as connection:
            corpus = await store_articles(connection, packed)
            await phases.add_corpus_version(connection, "corpus", corpus.id, "made")
            await phases.set_challenge(connection, "bc", "A challenge", "UTC")
            [challenge] = await phases.list_challenges(connection)
            team = await teams.add(connection, TeamName("blue"), "", "")
            ids = [
                await servers.add(
                    connection, Server(name=ServerName(name), url=made.url.format(name)), team
                )
                for name in (f"s{number:04}" for number in range(made.lanes))
            ]
            for number in range(made.phases):
                phase = await phases.add(
                    connection,
                    PhaseName(f"p{number:02}"),
                    challenge.id,
                    made.plan,
                    corpus_id=corpus.id,
                    release=RELEASE,
                )
                for task in ("ACT", "INT", "IPT"):
                    gold = gold_of(task, made.articles)
                    await phases.set_gold(connection, phase, TaskName(task), "gold.tsv", gold)
                for server in ids:
                    await servers.set_control(connection, LaneKey(phase, server), made.control)
                if made.due:
                    await leases.make_running_due(connection, phase)
        if made.answers:
            keys = [LaneKey(phase, server) for server in ids]
            await record_answers(store, given, corpus, keys, made.answers)


@contextmanager
def serving(folder: Path, code: Path | None) -> Iterator[Hub]:
    """Run the hub of a store from when its site answers until the context ends."""
    config = folder / "config.yaml"
    given = {
        "folder": str(folder),
        "uniprot": {"releases": str(folder / "releases")},
        "web": {"port": 0},
        "security": {"allow_networks": ["127.0.0.0/8"]},
        "logs": {"level": "error"},
    }
    config.write_text(yaml.safe_dump(given), "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "serve", "--config", str(config)],
        env=os.environ | ({"PYTHONPATH": str(code)} if code else {}),
        cwd=code or Path.cwd(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Hub(process, folder / STORE_FILE, _address(process))
    finally:
        process.kill()
        process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    """Return the address that a hub says it serves at."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if served := re.search("serving at (.*)", line):
            return served[1]
    raise AssertionError(said)


@contextmanager
def hub_of(made: Made, code: Path | None) -> Iterator[Hub]:
    """Run a hub on a store that is made for it."""
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(fill(Path(scratch), made))
        with serving(Path(scratch), code) as hub:
            yield hub


def nobody() -> str:
    """Return the URL of a server that is not there."""
    with closing(socket.socket()) as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{reserved.getsockname()[1]}/"


def paused(code: Path | None) -> None:
    """Measure lanes that are paused, each with answers."""
    with hub_of(Made(nobody(), Control.PAUSED, answers=ANSWERS), code) as hub:
        print(f"idle, {LANES} lanes paused: {hub.share():.4f} of a core")


def running(code: Path | None) -> None:
    """Measure the start of lanes that send, and lanes that wait for answers."""
    with (
        peer(answer_of(ACCESSIONS), LATE) as url,
        hub_of(Made(url, Control.RUNNING), code) as hub,
    ):
        print(f"start, {LANES} lanes running: {hub.spent():.1f} s of a core until the site answers")
        hub.until(lambda: hub.connections(url) >= LANES)
        print(f"start, {LANES} lanes running: {hub.spent():.1f} s of a core until all have sent")
        print(f"idle, {LANES} lanes waiting for answers: {hub.share():.4f} of a core")
        print(f"stop, {LANES} lanes waiting for answers: {hub.stop():.1f} s after SIGTERM")


def down(code: Path | None) -> None:
    """Measure lanes whose server is down, once their probes have their longest pause."""
    with hub_of(Made(nobody(), Control.RUNNING), code) as hub:
        hub.until(lambda: hub.in_state("down") >= LANES)
        time.sleep(PROBED)
        print(f"idle, {LANES} lanes down: {hub.share():.4f} of a core")


def finished(code: Path | None) -> None:
    """Measure lanes that are finished."""
    with (
        peer(answer_of(ACCESSIONS)) as url,
        hub_of(Made(url, Control.RUNNING, articles=1), code) as hub,
    ):
        hub.until(lambda: hub.in_state("finished") >= LANES)
        print(f"idle, {LANES} lanes finished: {hub.share():.4f} of a core")


def closed(code: Path | None) -> None:
    """Measure phases that are over, with their boards stored."""
    made = Made(nobody(), Control.RUNNING, plan=CLOSED, phases=PHASES, lanes=LANES // PHASES)
    with hub_of(made, code) as hub:
        print(f"start, {PHASES} phases closed: {hub.spent():.1f} s of a core")
        hub.until(lambda: hub.count("SELECT count(*) FROM frozen_boards") >= 3 * PHASES)
        print(f"idle, {PHASES} phases closed: {hub.share():.4f} of a core")


def stopped(code: Path | None) -> None:
    """Measure how long SIGTERM takes while all lanes are answered at once."""
    attempts = "SELECT count(*) FROM attempts"
    with (
        peer(answer_of(ACCESSIONS)) as url,
        hub_of(Made(url, Control.RUNNING, articles=1_000), code) as hub,
    ):
        hub.until(lambda: hub.count(attempts) >= 2 * LANES)
        time.sleep(RATE_SECONDS)
        before = hub.count(attempts)
        seconds = hub.stop()
        print(f"stop, {LANES} lanes at full rate: {seconds:.1f} s after SIGTERM")
        stored = hub.count(attempts)
        charged = hub.count(f"{attempts} WHERE outcome != 'ok'")
        print(f"  {stored - before} answers stored meanwhile, {charged} attempts without an answer")


MEASURED = {one.__name__: one for one in (paused, running, down, finished, closed, stopped)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="the cost of 1,000 lanes")
    parser.add_argument("--code", type=Path, help="a checkout whose hub is measured")
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED))
    options = parser.parse_args(arguments)
    for name in options.only:
        MEASURED[name](options.code)


if __name__ == "__main__":
    main()
