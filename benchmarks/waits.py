"""What people wait for, beside the targets that can be met (docs/benchmarks.md).

`python -m benchmarks waits` measures all, `python -m benchmarks.waits --only starts` some. Two have
something of the same run beside them: a start the imports of its libraries, and the hub's work per
answer threads that decode and drop. With PostgreSQL they are in `benchmarks.machines`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp

from benchmarks import dispatch, sized
from benchmarks.filled import fill, gold_of
from benchmarks.machines.table import Row
from benchmarks.many_answers import jobs_of
from benchmarks.many_lanes import PAST, Made, serving
from benchmarks.many_lanes import fill as fill_lanes
from benchmarks.peer import PlainServer, answer_of, peer, reply_of
from benchmarks.phase import ACCESSIONS
from benchmarks.scoring_reading import write_campaign
from benchmarks.starting import seconds
from metaserver.base.plans import PhasePlan
from metaserver.base.states import Control, Visibility

ROUNDS = sized(5, 1)
STORED = sized(100_000, 30)  # answers, of ten servers
LOADS = sized([(200, 2.4), (1_000, 12.0), (24, 2.4)], [(3, 0.2)])  # servers; seconds to an answer
SECONDS = sized(30.0, 1.0)  # that are measured
SETTLE = sized(15.0, 0.5)  # until the lanes are spread
PACKED = sized((20, 600), (2, 10))  # runs and articles of a results package
COMPARED = sized(134, 2)  # runs
IMPORTS = "import aiohttp, aiosqlite, jinja2, lxml.etree, msgspec, sqlalchemy"
REQUEST = re.compile(rb"POST /(s\d+)/")
ROW = re.compile(r'runs/(s\d+)".{0,4000}?data-label="Articles">([\d,]+)', re.DOTALL)
OPEN = PhasePlan(opens=PAST, visibility=Visibility.PUBLIC)
PLACE = re.compile(r"http://127\.0\.0\.1:\d+/\S*")


def starts() -> Iterator[Row]:
    """Measure `metaserver serve` until a page answers."""
    imports = [seconds([sys.executable, "-c", IMPORTS], dict(os.environ)) for _ in range(ROUNDS)]
    for answers in (0, STORED):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            if answers:
                asyncio.run(fill(folder, lanes=10, articles=answers // 10))
            spent, memory = [], []
            for _ in range(ROUNDS):
                with serving(folder, None) as hub:
                    _read(hub.address)
                    spent.append(hub.spent())
                    memory.append(hub.account.memory_info().rss / 1e6)
        what = f"serve until a page answers, {answers:,} answers"
        times = statistics.median(spent) / statistics.median(imports)
        yield Row(what=what, values=spent, unit="s of a core",
                  notes=f"{times:.1f} times the imports of its libraries")  # fmt: skip
        yield Row(what=f"{what}: memory", values=memory, unit="MB")


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as response:
        return bytes(response.read())


@dataclass
class Seen:
    """What servers and a viewer of their board have seen, by one clock, in seconds."""

    answered: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    shown: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    idle: list[float] = field(default_factory=list)
    received: int = 0  # bytes of the stream, uncompressed

    def asked(self, server: str) -> None:
        """Note that a server has a request."""
        if answered := self.answered[server]:
            self.idle.append(time.perf_counter() - answered[-1])

    def frame(self, text: str) -> None:
        """Note what a frame of the board shows: runs, and how many articles each has."""
        now = time.perf_counter()
        self.received += len(text.encode())
        lines = text.splitlines()
        if "event: frame" not in lines:
            return
        data = "".join(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
        for html in json.loads(data)["html"].values():
            for server, count in ROW.findall(html):
                self.shown[server].setdefault(int(count.replace(",", "")), now)

    def waits(self, since: float) -> list[float]:
        """Return how long each answer since then took to be shown, in seconds."""
        found = []
        for server, times in self.answered.items():
            shown = sorted(self.shown[server].items())
            for number, answered in enumerate(times, 1):
                if answered >= since:
                    found += [at - answered for count, at in shown if count >= number][:1]
        return found


class _Server(PlainServer):
    """A server that notes when it was asked, and when it answered."""

    def __init__(self, seen: Seen, reply: bytes, wait: float) -> None:
        super().__init__(reply, wait)
        self._seen, self._wait = seen, wait

    def asked(self, request: bytearray) -> None:
        found = REQUEST.match(request)
        assert found is not None, request[:80]
        server = found[1].decode()
        self._seen.asked(server)
        wait = self._wait * random.uniform(0.5, 1.5)  # else all answer in one moment
        asyncio.get_running_loop().call_later(wait, self._answered, server)

    def _answered(self, server: str) -> None:
        if self.answer():
            self._seen.answered[server].append(time.perf_counter())


async def _watch(wait: float, pipe: Connection) -> None:
    """Serve, send the port; get the board's stream, and send what was seen of it."""
    seen, loop = Seen(), asyncio.get_running_loop()
    reply = reply_of(answer_of(ACCESSIONS))
    server = await loop.create_server(
        lambda: _Server(seen, reply, wait), "127.0.0.1", 0, backlog=4096
    )
    pipe.send(server.sockets[0].getsockname()[1])
    stream = await asyncio.to_thread(pipe.recv)
    async with (
        aiohttp.ClientSession(read_bufsize=2**24) as session,
        session.get(stream) as response,
    ):
        reading = asyncio.create_task(_frames(response, seen))
        await asyncio.sleep(SETTLE)
        since, received, idle = time.perf_counter(), seen.received, len(seen.idle)
        await asyncio.sleep(SECONDS)
        passed = time.perf_counter() - since
        got, idle_since = seen.received - received, seen.idle[idle:]
        answers = sum(one >= since for times in seen.answered.values() for one in times)
        await asyncio.sleep(2)  # until the last are shown
        reading.cancel()
    pipe.send((seen.waits(since), idle_since, got / passed, answers / passed))


async def _frames(response: aiohttp.ClientResponse, seen: Seen) -> None:
    while True:
        seen.frame((await response.content.readuntil(b"\n\n")).decode())


def _run_watch(wait: float, pipe: Connection) -> None:
    asyncio.run(_watch(wait, pipe))


def answers() -> Iterator[Row]:
    """Measure how long an answer takes to be shown, and its server to be asked again."""
    spawn = multiprocessing.get_context("spawn")
    for servers, wait in LOADS:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_run_watch, args=(wait, theirs), daemon=True)
        process.start()
        url = f"http://127.0.0.1:{ours.recv()}/{{}}/"
        many = int((SETTLE + SECONDS + 60) / wait)
        with tempfile.TemporaryDirectory() as scratch:
            made = Made(url, Control.RUNNING, OPEN, lanes=servers, articles=many)
            asyncio.run(fill_lanes(Path(scratch), made))
            with serving(Path(scratch), None) as hub:
                ours.send(
                    f"{hub.address}c/bc/p00/events?page=board/INT&sort=run"
                )  # the same rows at all times
                begun, spent = time.perf_counter(), hub.spent()
                shown, idle, received, rate = ours.recv()
                share = (hub.spent() - spent) / (time.perf_counter() - begun)
        process.join()
        load = f"{servers:,} servers, {rate:.0f} answers/s"
        none = (None, None)
        for what, values, targets in (
            (f"an answer until the board's stream shows it, {load}", shown,
             none if servers > 200 else (0.25, 0.5)),
            (f"a server's idle time, {load}", idle, none),
        ):  # fmt: skip
            cuts = statistics.quantiles(values, n=100)
            for name, value, target in zip(
                ("p50", "p99"), (cuts[49], cuts[98]), targets, strict=True
            ):
                yield Row(what=f"{what}, {name}", values=[value], target=target, unit="s")
        yield Row(
            what=f"the board's stream, {load}", values=[received / 1000], target=75, unit="kB/s",
            notes=f"the hub takes {share:.2f} of a core",
        )  # fmt: skip


def work() -> Iterator[Row]:
    """Measure the hub's work per answer of 30 hits, beside threads that decode and drop."""
    for kit in (False, True):
        spent, ratios = [], []
        with peer(answer_of(ACCESSIONS), kit=kit) as url, tempfile.TemporaryDirectory() as scratch:
            for turn in range(ROUNDS):
                hub = asyncio.run(dispatch.whole(url, Path(scratch) / str(turn)))
                spent.append(hub.process)
                ratios.append(dispatch.script(url).clock / hub.clock)
        server = "kit" if kit else "free server"
        yield Row(what=f"an answer of 30 hits, {server}", values=spent, unit="ms of a core")
        yield Row(what="the same, as fast as threads that drop it", values=ratios)


def jobs() -> Iterator[Row]:
    """Measure a change of gold, its preview and a results package."""
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(fill(Path(scratch), lanes=10, articles=STORED // 10))
        gold = {"task": "INT", "content": gold_of("INT", STORED // 10, 1), "source": "gold.tsv"}
        took = jobs_of(Path(scratch), {"gold.preview": gold, "gold.set": gold})
    for what, one, target in zip(("preview", "change"), took, (None, 8), strict=True):
        yield Row(what=f"gold {what} at {STORED:,} answers", values=[one.seconds], target=target,
                  unit="s", notes=f"/healthz p99 {one.p99:.3f} s")  # fmt: skip
    runs, articles = PACKED
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(fill(Path(scratch), lanes=runs, articles=articles))
        [made] = jobs_of(Path(scratch), {"results-package.make": {}}, is_frozen=True)
    yield Row(what=f"results package of {runs} runs, {articles} articles, 3 tasks",
              values=[made.seconds], unit="s",
              notes=f"{made.core:.1f} s of a core")  # fmt: skip


def evaluator() -> Iterator[Row]:
    """Measure `scoring evaluate` of a run of usual size, and `scoring compare`."""
    scoring = str(Path(sys.executable).with_name("scoring"))
    with tempfile.TemporaryDirectory() as scratch:
        gold, files = write_campaign(Path(scratch), runs=COMPARED, hits=sized(30, 5) + 100)
        given = ["--task", "INT", "--gold", str(gold)]
        for name, runs in (("evaluate", files[:1]), ("compare", files)):
            command = [scoring, name, *given, *map(str, runs)]
            spent = [seconds(command, dict(os.environ)) for _ in range(ROUNDS)]
            yield Row(what=f"scoring {name} of {len(runs)}", values=spent, unit="s of a core")


def demo() -> Iterator[Row]:
    """Measure `metaserver demo --exit` to its first page, and to its end."""
    program = str(Path(sys.executable).with_name("metaserver"))
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [program, "demo", "--exit", "--port", "0", "--package", f"{scratch}/package"],
            stdout=subprocess.PIPE, text=True, cwd=scratch,
        )  # fmt: skip
        assert process.stdout is not None
        page = 0.0
        for line in process.stdout:
            if not page and (place := PLACE.search(line)):
                _read(place[0])
                page = time.perf_counter() - begun
        assert process.wait() == 0
        yield Row(what="demo to its first page", values=[page], target=3, unit="s")
        yield Row(what="demo to its end", values=[time.perf_counter() - begun], target=40, unit="s")


MEASURED: dict[str, Callable[[], Iterator[Row]]] = {
    one.__name__: one for one in (starts, answers, work, jobs, evaluator, demo)
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks waits")
    everything = [one for one in MEASURED if sized(True, one != "demo")]  # a test runs the demo
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=everything)
    for name in parser.parse_args(arguments).only:
        for row in MEASURED[name]():
            print(row, flush=True)


if __name__ == "__main__":
    main()
