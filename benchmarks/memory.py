"""Memory a call: one server, thousands of requests in flight, articles of a full text's length.

The articles are rendered when they are sent, so what is in flight holds no article. Measured as
the growth of the process's private memory from before the lane begins until all are in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import tempfile
from pathlib import Path

import psutil

from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, make_articles, make_plan
from metaserver.app import Hub, open_hub

IN_FLIGHT = 5_000
ANSWER_AFTER = 60.0  # seconds: nothing is answered before all are in flight
TEXT = "MDM2 binds p53 & targets it for degradation. " * 1_200  # 54 kB


def _private() -> int:
    return int(psutil.Process().memory_full_info().uss)


async def _growth(url: str, folder: Path, lanes: int) -> tuple[int, int]:
    """Return the growth in bytes with all requests in flight, and how many there were."""
    each = IN_FLIGHT // lanes
    plan = make_plan(folder, [url] * lanes, articles=each, concurrency=each)
    async with open_hub(plan, make_articles(each, TEXT)) as hub:
        before = _private()
        running = asyncio.create_task(hub.engine.run())
        while _in_flight(hub) < IN_FLIGHT or not _all_sent(url):
            await asyncio.sleep(0.2)
        await asyncio.sleep(1.0)
        growth = _private() - before
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    return growth, IN_FLIGHT


def _in_flight(hub: Hub) -> int:
    return sum(status.in_flight for status in hub.boards.monitor().servers)


def _all_sent(url: str) -> bool:
    """Whether the kernel holds a connection for each request and none has bytes left to send."""
    port = int(url.rstrip("/").rpartition(":")[2])
    connections = [
        connection
        for connection in psutil.Process().net_connections("tcp")
        if connection.raddr and connection.raddr.port == port
    ]
    return len(connections) >= IN_FLIGHT


def main() -> None:
    """Print the memory a call in one lane and in a hundred."""
    wanted = 2 * IN_FLIGHT + 1_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        print(f"skipped: needs {wanted} open files, the limit here is {hard}")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    print(f"{IN_FLIGHT} calls in flight, articles of {len(TEXT) // 1000} kB")
    for lanes in (1, 100):
        with (
            peer(answer_of(ACCESSIONS), ANSWER_AFTER) as url,
            tempfile.TemporaryDirectory() as scratch,
        ):
            growth, calls = asyncio.run(_growth(url, Path(scratch) / "run", lanes))
        print(f"{lanes:4} lanes {growth / calls / 1024:8.1f} KiB a call")


if __name__ == "__main__":
    main()
