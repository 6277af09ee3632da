"""Answers a second of the hub, against the limit and against a simple script.

- bare: an aiohttp client loop that posts the same bytes and ignores the answers (the limit);
- hub: all of it: render, call, decode, validate against a UniProt release, store, score;
- script: threads and `xmlrpc.client.ServerProxy`, answers decoded and dropped.

All ask the same server process, with as many requests in flight, in turn, several rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
import xmlrpc.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiohttp

from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, begun
from metaserver.cli.single_phase import work_to_end
from metaserver.wire.xmlrpc import encode_call

SERVERS, CONCURRENCY, ARTICLES, ROUNDS = 8, 4, 250, 5
REQUESTS = SERVERS * ARTICLES
TEXT = "MDM2 binds p53 & targets it for degradation. " * 40  # an abstract's length


async def bare(url: str) -> float:
    """Return the seconds a client loop takes that ignores the answers."""
    body = encode_call("Annotator.getAnnotation", [TEXT])
    left = iter(range(REQUESTS))

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(url, data=body) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        begin = time.perf_counter()
        await asyncio.gather(*(worker(session) for _ in range(SERVERS * CONCURRENCY)))
        return time.perf_counter() - begin


async def whole(url: str, folder: Path) -> float:
    """Return the seconds the hub takes; every answer is stored and scored in them."""
    opened = begun(folder, [url] * SERVERS, articles=ARTICLES, concurrency=CONCURRENCY, text=TEXT)
    async with opened as (hub, running):
        begin = time.perf_counter()
        await work_to_end(hub, running)
        for task in running.boards.tasks():
            running.boards.board(task.name)
        took = time.perf_counter() - begin
        assert sum(status.done for status in running.boards.monitor().servers) == REQUESTS
    return took


def script(url: str) -> float:
    """Return the seconds that threads with the standard library's client take."""

    def ask(number: int) -> None:
        with xmlrpc.client.ServerProxy(url) as server:
            for _ in range(REQUESTS // (SERVERS * CONCURRENCY)):
                server.Annotator.getAnnotation(TEXT)

    begin = time.perf_counter()
    with ThreadPoolExecutor(SERVERS * CONCURRENCY) as pool:
        list(pool.map(ask, range(SERVERS * CONCURRENCY)))
    return time.perf_counter() - begin


def measure(url: str, folder: Path) -> None:
    """Print the medians of the rounds, and the ratios round by round."""
    rates: dict[str, list[float]] = {"bare": [], "hub": [], "script": []}
    for turn in range(ROUNDS + 1):  # the first warms up
        seconds = {
            "bare": asyncio.run(bare(url)),
            "hub": asyncio.run(whole(url, folder / str(turn))),
            "script": script(url),
        }
        if turn:
            for name, took in seconds.items():
                rates[name].append(REQUESTS / took)
    for name, measured in rates.items():
        ratios = [rate / limit for rate, limit in zip(measured, rates["bare"], strict=True)]
        print(
            f"{name:8}{statistics.median(measured):8.0f} answers/s"
            f"   {statistics.median(ratios):.2f} of bare"
        )


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
