"""Memory a call: one server, thousands of requests in flight, articles of a full text's length.

The articles are rendered when they are sent, so what is in flight holds no article. Measured as
the growth of the process's private memory from before the lane begins until all are in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil

from benchmarks import sized
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, begun
from metaserver.cli.hub import work
from metaserver.phases.runtime import RunningPhase

IN_FLIGHT = sized(5_000, 100)
OPEN_FILES = 2 * IN_FLIGHT + 1_000
ANSWER_AFTER = 60.0  # seconds: nothing is answered before all are in flight
TEXT = "MDM2 binds p53 & targets it for degradation. " * 1_200  # 54 kB


def _private() -> int:
    return int(psutil.Process().memory_full_info().uss)


async def _growth(url: str, folder: Path, lanes: int) -> int:
    """Return the growth in bytes with all requests in flight."""
    each = IN_FLIGHT // lanes
    opened = begun(folder, [url] * lanes, articles=each, concurrency=each, text=TEXT)
    async with opened as (hub, running):
        before = _private()
        working = asyncio.create_task(work(hub))
        while _in_flight(running) < IN_FLIGHT or not _all_sent(url):
            await asyncio.sleep(0.2)
        await asyncio.sleep(1.0)
        growth = _private() - before
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
    return growth


def _in_flight(running: RunningPhase) -> int:
    return sum(status.in_flight for status in running.boards.monitor().servers)


def _all_sent(url: str) -> bool:
    """Return whether each request has a connection, and none has bytes left to send."""
    port = int(url.rstrip("/").rpartition(":")[2])
    connections = [
        connection
        for connection in psutil.Process().net_connections("tcp")
        if getattr(connection.raddr, "port", None) == port
    ]
    return len(connections) >= IN_FLIGHT


def _measure(lanes: int) -> float:
    """Return the bytes a call, in a process of its own: what one run freed the next would use."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    with (
        peer(answer_of(ACCESSIONS), ANSWER_AFTER) as url,
        tempfile.TemporaryDirectory() as scratch,
    ):
        return asyncio.run(_growth(url, Path(scratch) / "run", lanes)) / IN_FLIGHT


def main() -> None:
    """Print the memory a call in one lane and in a hundred."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        print(f"skipped: needs {OPEN_FILES} open files, the limit here is {hard}")
        return
    print(f"{IN_FLIGHT} calls in flight, articles of {len(TEXT) // 1000} kB")
    for lanes in (1, 100):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            print(f"{lanes:4} lanes {pool.submit(_measure, lanes).result() / 1024:8.1f} KiB a call")


if __name__ == "__main__":
    main()
