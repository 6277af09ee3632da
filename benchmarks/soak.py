"""A hub at full rate for half an hour, watched: memory, write-ahead log, pages.

`python -m benchmarks.soak --minutes 30 --out soak` runs a hub, the servers that it asks, viewers of
its pages and a sampler, each a process of its own. After a third of the time the store is copied,
while the hub works on. Every 15 s a line is printed, and written to `soak.tsv`; `soak.svg` shows
the curves. A line at the end says by how many bytes an answer the hub's memory grew, from a fifth
of the time on.

`--trace` also writes to `soak.trace` where the memory was allocated that the hub has come to use
since it settled; this makes the hub several times slower.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from urllib.request import urlopen

import aiohttp
import numpy as np
import psutil

from benchmarks import sized
from benchmarks.live_pages import process, spent
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS, BASE, begun
from metaserver.cli.hub import work
from metaserver.config import WebSettings
from metaserver.store.copies import copy_store
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app

EVERY = sized(15.0, 0.5)  # seconds between two lines
PROBE = 0.05  # seconds between two requests of /healthz
MOST = 4_000  # answers a second; lanes have articles for so many
MANY = 1_000  # lanes that have a request in flight each, and not two
SLOW, SLOW_SECONDS = 20, 60.0  # viewers who take nothing of their streams, each for so long
VIEWERS, PAGES = 20, ("monitor", "board/INT", "board/IPT", "board/ACT")
FLOORS = 8  # parts of the time
SETTLED = 0.2  # of the time: caches are full and all lanes at work
STORE_FILE = "metaserver.sqlite"
TEXT = "MDM2 binds p53 & targets it for degradation. " * 40
FRAMES = 3  # of a place where memory is allocated


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A line of the soak: sizes in MB, times in milliseconds; the rates are since the last line."""

    seconds: float
    answers: int
    answers_s: float
    private: float
    wal: float
    store: float
    healthz_p99: float
    cpu_ms: float
    note: str = ""

    def line(self) -> str:
        """Return the sample as a line of a table, with its end."""
        cells = [
            one if isinstance(one, str | int) else f"{one:.1f}" for one in asdict(self).values()
        ]
        return "\t".join(map(str, cells)) + "\n"


# -- the hub -------------------------------------------------------------------------------------


async def _serve(
    folder: Path, url: str, lanes: int, articles: int, trace: Path | None, pipe: Connection
) -> None:
    urls = [url] * lanes
    concurrency = 2 if lanes < MANY else 1
    opened = begun(folder, urls, articles=articles, concurrency=concurrency, text=TEXT)
    async with (
        opened as (hub, _),
        serve_app(make_pages_app(hub), WebSettings(port=0)) as address,
    ):
        pipe.send(address)
        working = asyncio.create_task(work(hub, notices=False))
        while not working.done():
            await asyncio.sleep(0.2)
            if pipe.poll():
                if pipe.recv() == "stop":
                    working.cancel()
                elif trace is not None:
                    _trace(trace)
        with contextlib.suppress(asyncio.CancelledError):
            await working


def _trace(out: Path) -> None:
    """Write where the memory was allocated that is in use since the first call."""
    if not tracemalloc.is_tracing():
        tracemalloc.start(FRAMES)
        return
    found = tracemalloc.take_snapshot().statistics("traceback")
    total = sum(one.size for one in found)
    with out.open("w") as file:
        print(f"{total:,} bytes since the first snapshot\n", file=file)
        for one in found[:40]:
            print(f"{one.size:,} bytes in {one.count:,} blocks", file=file)
            print(*one.traceback.format(FRAMES), sep="\n", end="\n\n", file=file)


def run_hub(
    folder: Path, url: str, lanes: int, articles: int, trace: Path | None, pipe: Connection
) -> None:
    """Run the hub's process; on a message it stops."""
    asyncio.run(_serve(folder, url, lanes, articles, trace, pipe))


# -- the viewers ---------------------------------------------------------------------------------


async def _view(address: str) -> None:
    """Read streams of the monitor and the boards, and load a page every second, for ever.

    Some viewers open a stream, take nothing of it, and come again.
    """

    async def stream(session: aiohttp.ClientSession, page: str) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{address}{BASE}events?page={page}") as response:
                    async for _ in response.content.iter_any():
                        pass
            await asyncio.sleep(1.0)

    async def stall(page: str) -> None:
        place, loop = urlsplit(address), asyncio.get_running_loop()
        asked = f"GET /{BASE}events?page={page} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n"
        while True:
            with socket.socket() as client, contextlib.suppress(OSError):
                client.setblocking(False)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                await loop.sock_connect(client, (place.hostname, place.port))
                await loop.sock_sendall(client, asked.encode())
                await asyncio.sleep(SLOW_SECONDS)

    async def load(session: aiohttp.ClientSession) -> None:
        for page in itertools.cycle(["", *(BASE + page for page in PAGES)]):
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{address}{page}") as response:
                    await response.read()
            await asyncio.sleep(1.0)

    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=limits, read_bufsize=2**24) as session:
        pages = itertools.islice(itertools.cycle(PAGES), VIEWERS)
        slow = itertools.islice(itertools.cycle(PAGES), SLOW)
        await asyncio.gather(
            load(session), *(stream(session, page) for page in pages), *map(stall, slow)
        )


def run_viewers(address: str, pipe: Connection) -> None:
    """Run the viewers' process."""
    pipe.send(True)
    asyncio.run(_view(address))


# -- an organiser's commands ---------------------------------------------------------------------


def run_backup(store: Path, pipe: Connection) -> None:
    """Copy the store; send the seconds that it took."""
    begin = time.monotonic()
    copy_store(store, store.with_name("copy.sqlite"))
    pipe.send(time.monotonic() - begin)


class _Command:
    """A command that runs beside the hub from a moment on."""

    def __init__(
        self, name: str, at: float, work: Callable[..., None], made: str, store: Path
    ) -> None:
        self._name, self._at, self._work, self._store = name, at, work, store
        self._made = store.with_name(made)
        self._stack = contextlib.ExitStack()
        self._process: psutil.Process | None = None
        self._pipe: Connection | None = None

    def note(self, seconds: float) -> str:
        """Begin the command when its time has come; return how it is."""
        if self._pipe is None:
            if seconds < self._at:
                return ""
            begun = process(self._work, self._store)
            self._process, self._pipe = self._stack.enter_context(begun)
        assert self._process is not None
        if self._pipe.poll():
            note = f"{self._name} took {self._pipe.recv():.1f} s ({_size(self._made):.0f} MB) "
        elif self._process.status() == psutil.STATUS_ZOMBIE:
            note = f"{self._name} failed "
        else:
            return f"{self._name} "
        self._at = float("inf")
        self.close()
        return note

    def close(self) -> None:
        """End the command, and delete what it made."""
        self._stack.close()
        self._pipe = None
        self._made.unlink(missing_ok=True)


# -- the sampler ---------------------------------------------------------------------------------


class _Probe:
    """A thread that asks /healthz every `PROBE` seconds."""

    def __init__(self, address: str) -> None:
        self._url = f"{address}healthz"
        self._seconds: list[float] = []
        threading.Thread(target=self._run, daemon=True).start()

    def p99(self) -> float:
        """Return the 99th percentile since the last call, in seconds."""
        taken, self._seconds = self._seconds, []
        return float(np.quantile(taken, 0.99)) if taken else float("nan")

    def _run(self) -> None:
        while True:
            begin = time.monotonic()
            with contextlib.suppress(OSError):
                urlopen(self._url, timeout=30).read()
            self._seconds.append(time.monotonic() - begin)
            time.sleep(max(0.0, begin + PROBE - time.monotonic()))


def _size(path: Path) -> float:
    """Return the size of a file in MB; 0 where there is none."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size / 1e6
    return 0.0


def _answers(store: Path) -> int:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as connection:
        return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM answers").fetchone()[0])


def samples(
    hub: psutil.Process, address: str, store: Path, commands: Sequence[_Command], seconds: float
) -> Iterator[Sample]:
    """Yield a sample every `EVERY` seconds."""
    probe, begin = _Probe(address), time.monotonic()
    at, answers, used = 0.0, _answers(store), spent([hub])
    while at < seconds and hub.is_running():
        time.sleep(min(EVERY, max(0.1, seconds - at)))
        before, at = at, time.monotonic() - begin
        more, now_used = _answers(store), spent([hub])
        fresh = more - answers
        yield Sample(
            seconds=at,
            answers=more,
            answers_s=fresh / (at - before),
            private=hub.memory_full_info().uss / 1e6,
            wal=_size(store.with_name(STORE_FILE + "-wal")),
            store=_size(store),
            healthz_p99=probe.p99() * 1e3,
            cpu_ms=(now_used - used) / fresh * 1e3 if fresh else float("nan"),
            note="".join(command.note(at) for command in commands).strip(),
        )
        answers, used = more, now_used


@contextmanager
def soaked(
    scratch: Path, lanes: int, seconds: float, trace: Path | None
) -> Iterator[Iterator[Sample]]:
    """Run all processes; gives the samples."""
    folder = scratch / "hub"
    articles = round(MOST * seconds) // lanes + 1
    store = folder / STORE_FILE
    commands = [
        _Command("backup", seconds / 3, run_backup, "copy.sqlite", store),
    ]
    with (
        peer(answer_of(ACCESSIONS)) as url,
        process(run_hub, folder, url, lanes, articles, trace) as (hub, pipe),
    ):
        address = pipe.recv()
        with process(run_viewers, address):
            try:
                yield _traced(samples(hub, address, store, commands, seconds), pipe, seconds)
            finally:
                for command in commands:
                    command.close()
            pipe.send("stop")
            with contextlib.suppress(psutil.TimeoutExpired):  # it is killed then
                hub.wait(timeout=60)


def _traced(found: Iterator[Sample], pipe: Connection, seconds: float) -> Iterator[Sample]:
    """Have the hub's memory traced from when it has settled to the end."""
    marks = [SETTLED * seconds, 0.6 * seconds, 0.95 * seconds]
    for sample in found:
        yield sample
        if marks and sample.seconds >= marks[0]:
            marks.pop(0)
            pipe.send("trace")


# -- what is shown -------------------------------------------------------------------------------


def draw(found: Sequence[Sample], out: Path) -> None:
    """Draw the curves."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = {
        "private": "private memory, MB",
        "wal": "write-ahead log, MB",
        "store": "store, MB",
        "answers_s": "answers a second",
        "healthz_p99": "/healthz, p99, ms",
        "cpu_ms": "CPU an answer, ms",
    }
    figure = Figure(figsize=(9, 6), layout="constrained")
    minutes = [sample.seconds / 60 for sample in found]
    names = {sample.note.split()[0] for sample in found if sample.note}
    noted = [[one.seconds / 60 for one in found if one.note.startswith(name)] for name in names]
    spans = sorted((at[0] - EVERY / 60, at[-1]) for at in noted)
    axes = figure.subplots(2, 3, sharex=True).flat
    for place, (name, title) in zip(axes, shown.items(), strict=True):
        place.plot(minutes, [getattr(sample, name) for sample in found], linewidth=1)
        place.set_title(title, fontsize=9)
        place.set_ylim(bottom=0)
        for begin, end in spans:
            place.axvspan(begin, end, color="0.9", linewidth=0, zorder=0)
    figure.supxlabel("minutes (grey: backup)", fontsize=9)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "soak"}):  # a small file, repeatable
        figure.savefig(out, metadata={"Date": None})


def growth(found: Sequence[Sample], seconds: float) -> str:
    """Return by how much memory and log grew when all was at work.

    The memory's law goes through the least of each part of the time: a comparison of runs takes a
    hundred MB for some seconds, whatever the answers.
    """
    settled = [sample for sample in found if sample.seconds > SETTLED * seconds]
    if len(settled) < FLOORS:
        return "too short for a law"
    parts = np.array_split(np.arange(len(settled)), FLOORS)
    floors = [min((settled[i] for i in part), key=lambda one: one.private) for part in parts]
    slope, _ = np.polyfit([one.answers for one in floors], [one.private for one in floors], 1)
    return (
        f"private memory: {1e6 * slope:+.0f} bytes an answer, from {floors[0].private:.0f} to"
        f" {floors[-1].private:.0f} MB over {floors[-1].answers - floors[0].answers:,} answers,"
        f" at most {max(one.private for one in settled):.0f} MB;"
        f" write-ahead log at most {max(one.wal for one in found):.1f} MB;"
        f" /healthz p99 at worst {max(one.healthz_p99 for one in found):.0f} ms"
    )


def _stream(found: Iterator[Sample], out: IO[str]) -> Iterator[Sample]:
    names = "\t".join(field.name for field in fields(Sample)) + "\n"
    for line, sample in itertools.chain([(names, None)], ((one.line(), one) for one in found)):
        for file in (out, sys.stdout):
            file.write(line)
            file.flush()
        if sample is not None:
            yield sample


def main() -> None:
    """Print the lines, and draw them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=sized(2.0, 0.03))
    parser.add_argument("--lanes", type=int, default=sized(100, 2))
    parser.add_argument("--out", type=Path, default=None, help="PATH.tsv and PATH.svg are written")
    parser.add_argument("--folder", type=Path, default=None, help="where the store is made")
    parser.add_argument("--trace", action="store_true")
    given = parser.parse_args()
    seconds = 60 * given.minutes
    scratch = Path(tempfile.mkdtemp(prefix="soak-", dir=given.folder))
    out = given.out or scratch / "soak"
    trace = out.with_name(f"{out.name}.trace") if given.trace else None
    found: list[Sample] = []
    try:
        with (
            out.with_name(f"{out.name}.tsv").open("w") as table,
            soaked(scratch, given.lanes, seconds, trace) as run,
        ):
            found += _stream(run, table)
        print(growth(found, seconds))
        if given.out is not None:
            draw(found, out.with_name(f"{out.name}.svg"))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not found or found[-1].seconds < seconds - EVERY:
        print("the hub ended before its time", file=sys.stderr)
        sys.exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main()
