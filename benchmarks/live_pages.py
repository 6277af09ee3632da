"""The cost of a live monitor: 300 servers that each answer once a second, watched.

- browser: the page in Debian's Chromium, headless: the share of a core that all its processes take,
  and its frames a second (`requestAnimationFrame`);
- viewers: 200 event streams read by a process of their own: the share of a core that the hub takes
  more than without them.

The hub's process has the real monitor, site and streams, and receives the servers' attempts as
from their lanes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.phase import begun
from metaserver.config import WebSettings
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.model.records import ArticleId, Attempt, Server, Timings
from metaserver.model.states import Outcome, RetryDecision
from metaserver.phases.runtime import RunningPhase
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app

SERVERS, VIEWERS, ARTICLES = 300, 200, 100_000
BEAT = 0.05  # seconds between two handfuls of answers
SECONDS = 20.0  # that are measured
FAILED = 0.02  # of the attempts
FRAMES = """seconds => new Promise(done => {
    let count = 0;
    const begin = performance.now();
    const step = now => {
        count += 1;
        if (now - begin < 1000 * seconds) requestAnimationFrame(step);
        else done(1000 * count / (now - begin));
    };
    requestAnimationFrame(step);
})"""


def attempt_of(server: Server, number: int, some: random.Random) -> Attempt:
    """Return an attempt as it ends: mostly an answer after about a second."""
    failed = some.random() < FAILED
    seconds = some.lognormvariate(0.0, 0.5)
    return Attempt(
        server=server.name,
        article=ArticleId(f"a{number:06d}"),
        number=1,
        started_at=time.time() - seconds,
        outcome=Outcome.FAULT if failed else Outcome.OK,
        message="the model is not loaded" if failed else "",
        timings=Timings(send=0.01, wait=seconds - 0.02, transfer=0.01, total=seconds),
        bytes_out=10_000,
        bytes_in=3_000,
    )


async def answer(phase: RunningPhase, servers: list[Server]) -> None:
    """Let every server answer once a second, a handful of them at a time, until cancelled."""
    some, number = random.Random(7), 0
    handful = round(len(servers) * BEAT)
    while True:
        begin = time.monotonic()
        for _ in range(handful):
            server = servers[number % len(servers)]
            ended = attempt_of(server, number // len(servers), some)
            decision = RetryDecision(answered=ended.outcome is Outcome.OK, wait=1.0)
            phase.published(LaneChanged(server=server, in_flight=1, down=""))
            phase.published(
                AttemptEnded(
                    server=server,
                    serial=1 + number // len(servers),
                    position=0,
                    attempt=ended,
                    answer=None,
                    decision=decision,
                )
            )
            number += 1
        await asyncio.sleep(max(0.0, begin + BEAT - time.monotonic()))


async def serve(pipe: Connection) -> None:
    """Serve the monitor, and send its address into `pipe`."""
    urls = ["http://127.0.0.1:1/"] * SERVERS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "hub"
        opened = begun(folder, urls, articles=ARTICLES, concurrency=1, text="")
        async with (
            opened as (hub, phase),
            serve_app(make_pages_app(hub), WebSettings(port=0)) as address,
        ):
            pipe.send(address)
            await answer(phase, [known.server for known in phase.servers.values()])


async def watch_all(address: str, pipe: Connection) -> None:
    """Read the streams of all viewers; send True when each has the page, then the bytes since."""
    got, ready = [0] * VIEWERS, asyncio.Semaphore(0)

    async def view(session: aiohttp.ClientSession, number: int) -> None:
        async with session.get(f"{address}events?page=monitor") as response:
            await response.content.readuntil(b"\n\n") if number else None
            ready.release()
            async for chunk in response.content.iter_any():
                got[number] += len(chunk)

    connector = aiohttp.TCPConnector(limit=0)
    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=limits, read_bufsize=2**24
    ) as session:
        views = [asyncio.create_task(view(session, number)) for number in range(VIEWERS)]
        for _ in views:
            await ready.acquire()
        pipe.send(True)
        while True:
            await asyncio.sleep(0.1)
            if pipe.poll():
                pipe.recv()
                pipe.send(sum(got))


def run_serve(pipe: Connection) -> None:
    """Run the hub's process."""
    asyncio.run(serve(pipe))


def run_watch(address: str, pipe: Connection) -> None:
    """Run the viewers' process."""
    asyncio.run(watch_all(address, pipe))


@contextmanager
def process(
    work: Callable[..., None], *given: object
) -> Iterator[tuple[psutil.Process, Connection]]:
    """Run a function in a process of its own while the context lasts."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    begun = spawn.Process(target=work, args=(*given, theirs), daemon=True)
    begun.start()
    assert begun.pid is not None
    try:
        yield psutil.Process(begun.pid), ours
    finally:
        begun.kill()
        begun.join()


def spent(processes: Iterable[psutil.Process]) -> float:
    """Return the processor time that processes have taken, in seconds."""
    times = [one.cpu_times() for one in processes if one.is_running()]
    return sum(time.user + time.system for time in times)


def share(processes: Callable[[], Iterable[psutil.Process]], seconds: float = SECONDS) -> float:
    """Return the share of a core that processes take from now on."""
    before, begin = spent(processes()), time.monotonic()
    time.sleep(seconds)
    return (spent(processes()) - before) / (time.monotonic() - begin)


def chromium() -> list[psutil.Process]:
    """Return all processes of the browser."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if "chrom" in one.name()]


def browse(address: str, hub: psutil.Process) -> None:
    """Measure the page in a browser."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("browser: not measured, no Chromium here")
        return
    arguments = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        page.wait_for_timeout(3_000)
        blank = share(chromium)
        page.goto(f"{address}monitor")
        page.wait_for_timeout(5_000)
        before, begin = spent([hub]), time.monotonic()
        taken = share(chromium)
        served = (spent([hub]) - before) / (time.monotonic() - begin)
        print(f"browser: {taken:.3f} of a core (an empty page {blank:.3f}), target 0.25")
        print(f"browser: {page.evaluate(FRAMES, SECONDS):.1f} frames/s, target 50")
        print(f"hub with one page open: {served:.3f} of a core")
        _check(page)
        browser.close()


def _check(page: Page) -> None:
    """Fail where the page that was measured did not change."""
    done = "document.querySelector('[data-slot=done]').textContent"
    before = page.evaluate(done)
    page.wait_for_timeout(2_500)
    assert page.inner_text("#live").strip() == "live"
    assert page.evaluate(done) != before


def main() -> None:
    """Measure and print."""
    with process(run_serve) as (hub, pipe):
        address = pipe.recv()
        time.sleep(3)
        alone = share(lambda: [hub])
        print(f"hub without viewers: {alone:.3f} of a core")
        browse(address, hub)
        with process(run_watch, address) as (_, viewers):
            assert viewers.recv()
            time.sleep(3)
            watched = share(lambda: [hub])
            viewers.send(True)
            time.sleep(0.5)
            rate = viewers.recv() / VIEWERS / (SECONDS + 3)
        print(
            f"hub with {VIEWERS} viewers: {watched:.3f} of a core, {watched - alone:.3f} more"
            f" than without, target 0.1; {rate / 1000:.0f} kB/s each"
        )


if __name__ == "__main__":
    main()
