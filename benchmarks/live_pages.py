"""The cost of a live monitor: 1,000 servers that each answer once a second, watched.

- page: its bytes with all it needs, and those of its stream, as a browser receives them;
- browser: the page in Debian's Chromium, headless: the share of a core that all its processes take,
  its frames a second (`requestAnimationFrame`), and the time until rows that were scrolled to have
  their figures;
- viewers: event streams read by a process of their own, at one place of the table and at many: the
  share of a core and the memory that the hub takes more than without them.

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
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks import sized
from benchmarks.phase import BASE, begun
from metaserver.base import files
from metaserver.base.records import ArticleId, Attempt, Server, Timings
from metaserver.base.states import Outcome, RetryDecision
from metaserver.config import WebSettings
from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.phases.runtime import RunningPhase
from metaserver.web.public.monitor import server_id
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app

SERVERS, ARTICLES = sized((1_000, 100_000), (100, 1_000))
VIEWERS = sized([(200, 1), (200, 20), (1_000, 20)], [(2, 2)])  # and at how many places
ROWS, STEP = 60, 10  # of a viewer, as rows.js asks for them
PATIENCE = 10.0  # seconds for a row's figures
SETTLE = sized(5.0, 1.0)  # seconds before something is measured
BEAT = 0.05  # seconds between two handfuls of answers
SECONDS = sized(12.0, 0.5)  # that are measured
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


PAINTED = """() => new Promise(done => new PerformanceObserver(list =>
    done(list.getEntriesByName("first-contentful-paint")[0].startTime)
).observe({type: "paint", buffered: true}))"""
ELEMENTS = "document.querySelectorAll('*').length"
SCROLLS = sized(11, 1)
# Scrolls to another place, and waits until no row in the window lacks its figures.
SCROLLED = """patience => new Promise((done, fail) => {
    const rows = [...document.querySelectorAll("#servers tr")];
    rows[Math.floor(Math.random() * rows.length)].scrollIntoView();
    const begin = performance.now();
    const look = () => {
        const seen = rows.filter(row => {
            const { top, bottom } = row.getBoundingClientRect();
            return bottom > 0 && top < innerHeight;
        });
        const waited = performance.now() - begin;
        if (!seen.some(row => row.classList.contains("brief"))) done(waited);
        else if (waited > patience) fail(new Error("no figures"));
        else setTimeout(look, 10);
    };
    look();
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


class Windows:
    """The rows that each viewer sees: a screen of them, at some place of the table."""

    def __init__(self, ids: list[str], places: int) -> None:
        self._ids = ids
        self._places = places

    def of(self, viewer: int) -> list[str]:
        """Return the ids of a viewer's rows."""
        steps = (len(self._ids) - ROWS) // STEP + 1
        begin = STEP * (viewer % self._places * steps // self._places)
        return self._ids[begin : begin + ROWS]


async def watch_all(address: str, places: int, viewers: int, pipe: Connection) -> None:
    """Read the streams of all viewers; send True when each has the page, then the bytes since.

    They see windows at so many `places`, and take what is compressed, which is not unpacked here.
    """
    got, ready = [0] * viewers, asyncio.Semaphore(0)
    ids = [server_id(f"s{number}") for number in range(SERVERS)]
    windows = Windows(ids, places)

    async def view(session: aiohttp.ClientSession, number: int) -> None:
        rows = ",".join(windows.of(number))
        stream = f"{address}{BASE}events?page=monitor&rows={rows}"
        async with session.get(stream) as response:
            assert response.headers["Content-Encoding"] == "gzip"
            await response.content.readany()
            ready.release()
            async for chunk in response.content.iter_any():
                got[number] += len(chunk)

    connector = aiohttp.TCPConnector(limit=0)
    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=limits, read_bufsize=2**24, auto_decompress=False
    ) as session:
        views = [asyncio.create_task(view(session, number)) for number in range(viewers)]
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


def run_watch(address: str, places: int, viewers: int, pipe: Connection) -> None:
    """Run the viewers' process."""
    files.raise_limit()
    asyncio.run(watch_all(address, places, viewers, pipe))


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


def share(
    processes: Callable[[], Iterable[psutil.Process]],
    seconds: float = SECONDS,
    page: Page | None = None,
) -> float:
    """Return the share of a core that processes take from now on.

    Events of `page` are handled meanwhile.
    """
    before, begin = spent(processes()), time.monotonic()
    if page is None:
        time.sleep(seconds)
    else:
        page.wait_for_timeout(1000 * seconds)
    return (spent(processes()) - before) / (time.monotonic() - begin)


def chromium() -> list[psutil.Process]:
    """Return all processes of the browser."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if "chrom" in one.name()]


@dataclass
class Received:
    """Bytes that a page received, as they were sent: in all, and of its event streams."""

    total: int = 0
    streams: int = 0
    streamed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, page: Page) -> Received:
        """Count what a page receives from now on."""
        received, session = cls(), page.context.new_cdp_session(page)
        session.on("Network.responseReceived", received._began)
        session.on("Network.dataReceived", received._got)
        session.on("Network.loadingFinished", received._ended)
        session.send("Network.enable")
        return received

    def _began(self, event: dict[str, Any]) -> None:
        if event["type"] == "EventSource":
            self.streamed.add(event["requestId"])

    def _got(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self.streamed:
            self.streams += event["encodedDataLength"]

    def _ended(self, event: dict[str, Any]) -> None:
        if event["requestId"] not in self.streamed:
            self.total += event["encodedDataLength"]


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
        page.wait_for_timeout(1_000 * SETTLE)
        blank = share(chromium)
        received = Received.of(page)
        page.goto(f"{address}monitor")
        painted = page.evaluate(PAINTED)
        page.wait_for_timeout(1_000 * SETTLE)
        kilobytes = received.total / 1000
        print(
            f"page: {kilobytes:.0f} kB with all it needs, target 150; painted in {painted:.0f} ms"
        )
        print(f"page: {page.evaluate(ELEMENTS)} elements; begin of its stream below 5 s:"
              f" {received.streams / 1000:.0f} kB")  # fmt: skip
        page.evaluate("scrollTo(0, document.querySelector('#servers').offsetTop + 10_000)")
        page.wait_for_timeout(1_000 * SETTLE)
        before, begin, streamed = spent([hub]), time.monotonic(), received.streams
        taken = share(chromium, page=page)
        passed = time.monotonic() - begin
        served = (spent([hub]) - before) / passed
        rate = (received.streams - streamed) / passed / 1000
        print(f"browser: {taken:.3f} of a core (an empty page {blank:.3f}), target 0.25")
        print(f"browser: {page.evaluate(FRAMES, SECONDS):.1f} frames/s, target 50")
        print(f"stream: {rate:.1f} kB/s as received, target 20")
        print(f"hub with one page open: {served:.3f} of a core")
        _check(page)
        waits = sorted(page.evaluate(SCROLLED, 1000 * PATIENCE) for _ in range(SCROLLS))
        print(f"scrolled elsewhere: figures after {waits[len(waits) // 2]:.0f} ms, at most"
              f" {waits[-1]:.0f} ms, target 1,000")  # fmt: skip
        browser.close()


def _check(page: Page) -> None:
    """Fail where the page that was measured did not change."""
    done = "[...document.querySelectorAll('[data-slot=done]')].at(-1).textContent"
    before = page.evaluate(done)
    page.wait_for_timeout(2_500)
    assert page.inner_text("#live").strip() == "live"
    assert page.evaluate(done) != before


def watch(address: str, hub: psutil.Process, alone: float, viewers: int, places: int) -> None:
    """Measure what so many viewers cost the hub."""
    memory = hub.memory_info().rss
    with process(run_watch, address, places, viewers) as (_, pipe):
        assert pipe.recv()
        time.sleep(SETTLE)
        pipe.send(True)
        before, begin = pipe.recv(), time.monotonic()
        watched = share(lambda: [hub])
        pipe.send(True)
        rate = (pipe.recv() - before) / viewers / (time.monotonic() - begin)
        grown = (hub.memory_info().rss - memory) / viewers
    print(
        f"hub with {viewers} viewers at {places} places: {watched:.3f} of a core,"
        f" {watched - alone:.3f} more than without; {rate / 1000:.1f} kB/s and"
        f" {grown / 1000:.0f} kB of memory each"
    )


def main() -> None:
    """Measure and print."""
    with process(run_serve) as (hub, pipe):
        address = pipe.recv()
        time.sleep(SETTLE)
        alone = share(lambda: [hub])
        print(f"hub without viewers: {alone:.3f} of a core")
        browse(address, hub)
        for viewers, places in VIEWERS:
            watch(address, hub, alone, viewers, places)


if __name__ == "__main__":
    main()
