"""Answers a second of the hub, against the limit and against a simple script.

- bare: an aiohttp client loop that posts the same bytes and ignores the answers (the limit);
- hub: all of it: render, call, decode, validate against a UniProt release, store, score;
- script: threads and `xmlrpc.client.ServerProxy`, answers decoded and dropped.

All ask the same server process, with as many requests in flight, in turn, several rounds. The
processor time an answer is of the whole process, and of its event loop's thread alone. On a machine
that is busy otherwise the least of the rounds is the nearest to the truth, and it is printed too.
Another round samples what the hub's event loop is busy with.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
import xmlrpc.client
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import aiohttp

from benchmarks import sized
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, begun
from benchmarks.sampling import Sampler
from metaserver.cli.single_phase import work_to_end
from metaserver.exchange.wire.xmlrpc import encode_call

SERVERS, CONCURRENCY, ARTICLES, ROUNDS = sized((8, 4, 250, 5), (2, 2, 4, 1))
REQUESTS = SERVERS * ARTICLES
SAMPLED = sized(3, 1)  # rounds in which the hub is sampled
GROUPS = {
    "scoring": ["leaderboards/scoreboard"],
    "reading and checking answers": ["metaserver/exchange/wire/"],
    "compressing answers": ["metaserver/base/"],
    "monitor, metrics, events": ["metaserver/boards/", "metaserver/phases/"],
    "loading texts": ["sqlalchemy", "aiosqlite"],
    "aiohttp": ["/aiohttp/"],
    "client": ["metaserver/exchange/http/"],
    "lanes": ["metaserver/lanes/"],
    "store": ["metaserver/store/"],
    "waiting, while threads work": ["selectors.py"],
    "asyncio": ["/asyncio/"],
}
TEXT = "MDM2 binds p53 & targets it for degradation. " * 40  # an abstract's length


class Took(NamedTuple):
    """The milliseconds that an answer took: by the clock, of the process, of the loop's thread."""

    clock: float
    process: float
    thread: float


class Watch:
    """A watch that is started at the beginning of what it times."""

    def __init__(self) -> None:
        self._began = self._now()

    def took(self) -> Took:
        """Return the milliseconds an answer since the start."""
        now = self._now()
        return Took(*((b - a) * 1e3 / REQUESTS for a, b in zip(self._began, now, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), time.thread_time()


async def bare(url: str) -> Took:
    """Measure a client loop that ignores the answers."""
    body = encode_call("Annotator.getAnnotation", [TEXT])
    left = iter(range(REQUESTS))

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(url, data=body) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        watch = Watch()
        await asyncio.gather(*(worker(session) for _ in range(SERVERS * CONCURRENCY)))
        return watch.took()


async def whole(url: str, folder: Path, sampler: Sampler | None = None) -> Took:
    """Measure the hub; every answer is stored and scored meanwhile."""
    opened = begun(folder, [url] * SERVERS, articles=ARTICLES, concurrency=CONCURRENCY, text=TEXT)
    async with opened as (hub, running):
        watch = Watch()
        with sampler.running() if sampler else nullcontext():
            await work_to_end(hub, running)
            for task in running.boards.tasks():
                running.boards.board(task.name)
        took = watch.took()
        assert sum(status.done for status in running.boards.monitor().servers) == REQUESTS
    return took


def script(url: str) -> Took:
    """Measure threads with the standard library's client."""

    def ask(number: int) -> None:
        with xmlrpc.client.ServerProxy(url) as server:
            for _ in range(REQUESTS // (SERVERS * CONCURRENCY)):
                server.Annotator.getAnnotation(TEXT)

    watch = Watch()
    with ThreadPoolExecutor(SERVERS * CONCURRENCY) as pool:
        list(pool.map(ask, range(SERVERS * CONCURRENCY)))
    return watch.took()


def measure(url: str, folder: Path) -> None:
    """Print the medians of the rounds, the ratios round by round, and the hub's shares."""
    rounds: list[Mapping[str, Took]] = []
    for turn in range(ROUNDS + 1):  # the first warms up
        taken = {
            "bare": asyncio.run(bare(url)),
            "hub": asyncio.run(whole(url, folder / str(turn))),
            "script": script(url),
        }
        rounds += [taken] if turn else []
    for name in rounds[0]:
        taken_of = [taken[name] for taken in rounds]
        clock, process, thread = zip(*taken_of, strict=True)
        print(
            f"{name:8}{1e3 / statistics.median(clock):8.0f} answers/s"
            f"   {_ratio(rounds, 'bare', name):.2f} of bare"
            f"   {_milliseconds(process)} ms of a core ({_milliseconds(thread)} in the loop)"
        )
    print(f"the hub is {_ratio(rounds, 'script', 'hub'):.1f} times as fast as the script")
    sampler = Sampler(GROUPS)
    for turn in range(SAMPLED):
        asyncio.run(whole(url, folder / f"sampled {turn}", sampler))
    print(", ".join(f"{name} {share:.0%}" for name, share in sampler.shares().items()))


def _ratio(rounds: Sequence[Mapping[str, Took]], slow: str, fast: str) -> float:
    """Return how many times as fast one is as another, by the clock: the median of the rounds."""
    return statistics.median(taken[slow].clock / taken[fast].clock for taken in rounds)


def _milliseconds(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.3f}, least {min(times):.3f}"


def main() -> None:
    """Measure against a server that uses the kit, and against one that costs nothing."""
    in_flight = SERVERS * CONCURRENCY
    print(f"{REQUESTS} answers of 30 hits, {in_flight} in flight, median of {ROUNDS} rounds")
    for kit in (True, False):
        print("server made with the kit" if kit else "server that costs next to nothing")
        with (
            peer(answer_of(ACCESSIONS), kit=kit) as url,
            tempfile.TemporaryDirectory() as scratch,
        ):
            measure(url, Path(scratch))


if __name__ == "__main__":
    main()
