"""What a hub's work costs as its answers grow: each row at several sizes, and the law it follows.

`python -m benchmarks.growth --answers 10000 100000 1000000 --lanes 1000` makes a store of each size
and measures on it:

- started: a hub whose lanes are paused, from the command to its pages, then until it is at rest;
- asked: a hub whose lanes all ask a server that answers at once;
- gold: another gold of INT, while the hub is asked whether it lives;
- backup: the command in a process of its own.

`--only backup gold` measures some. The table is printed as Markdown: the figures, the exponent k
of the law `figure ~ answers^k` (fitted to all sizes; 0 is flat, 1 is linear), and the target.
`--json PATH` keeps the figures, and adds to those that it has, so that parts can be measured in
turn: `--answers` without sizes prints what is kept.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import http
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from html import unescape
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import aiohttp
import msgspec
import numpy as np

from benchmarks import many_answers, sized
from benchmarks.filled import PHASE, STORE_FILE, fill_rows
from benchmarks.many_lanes import OPEN, Hub, serving
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS
from metaserver.base.plans import PhasePlan
from metaserver.base.states import Control
from metaserver.store.copies import copy_store

MORE = sized(300_000, 3_000)  # answers that a store has articles for, besides those that it has
RATE_SECONDS = sized(15.0, 0.5)  # at full rate
STREAM_SECONDS = sized(10.0, 0.5)
SCREEN = 60  # rows of servers that a viewer sees
SERVER_ID = re.compile('id="(s-[^"]+)"')
STREAM = re.compile('data-stream="([^"]+)"')
BEHIND = re.compile("^metaserver_lanes_behind(?:{.*})? (.*)$", re.MULTILINE)
GZIP = b"\x1f\x8b"
AT_REST = 0.1  # of a core: what an idle hub stays below
REST_SECONDS = sized(3.0, 0.5)
PAGE_SECONDS = 600.0

Figures: TypeAlias = dict[str, float]
"""The figures of one size, by row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of the table: its unit and target. `flat` figures have no exponent that matters."""

    unit: str
    target: str = ""
    digits: int = 1


ROWS: Mapping[str, Row] = {
    "serve until the pages answer": Row(unit="s", target="3 / 5 at 10^5 / 10^6"),
    "CPU until the pages answer": Row(unit="s"),
    "serve until all is complete": Row(unit="s"),
    "CPU until all is complete": Row(unit="s"),
    "private memory at rest": Row(unit="MB", target="350 at 10^6", digits=0),
    "idle, lanes paused": Row(unit="% of a core", target="1", digits=2),
    "answers a second": Row(unit="1/s", digits=0),
    "CPU an answer": Row(unit="ms", target="0.7", digits=2),
    "/healthz p99 at full rate": Row(unit="ms", digits=0),
    "monitor page, compressed": Row(unit="kB", target="150"),
    "monitor stream, a viewer": Row(unit="kB/s", target="20"),
    "SIGTERM at full rate": Row(unit="s", target="3"),
    "gold change": Row(unit="s", target="15 at 10^5"),
    "gold change, /healthz p99": Row(unit="ms", target="50", digits=0),
    "gold change, CPU": Row(unit="s"),
    "backup": Row(unit="s", target="5 at 10^5"),
    "backup, CPU": Row(unit="s"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A hub's folder with a store."""

    folder: Path
    answers: int
    lanes: int

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.folder / STORE_FILE

    @property
    def articles(self) -> int:
        """The number of articles of the phase: those answered, and more."""
        return (self.answers + MORE) // self.lanes


# -- a hub at rest, and at work ------------------------------------------------------------------


def started(made: Made) -> Figures:
    """Start a hub whose lanes are paused; wait until it rests."""
    begin = time.monotonic()
    with serving(made.folder, None) as hub:
        with asyncio.Runner() as runner:
            runner.run(_page(hub))
            pages, spent = time.monotonic() - begin, hub.spent()
            runner.run(_caught_up(hub))
        rest, rest_spent = _until_rest(hub, begin)
        memory = _private(hub)
        share = hub.share()
    return {
        "serve until the pages answer": pages,
        "CPU until the pages answer": spent,
        "serve until all is complete": rest,
        "CPU until all is complete": rest_spent,
        "private memory at rest": memory,
        "idle, lanes paused": 100 * share,
    }


async def _caught_up(hub: Hub) -> None:
    """Wait until the boards have all stored answers."""
    async with _session() as session:
        while True:
            async with session.get(f"{hub.address}metrics") as response:
                response.raise_for_status()
                found = BEHIND.findall(_text(await response.read()))
            if not any(map(float, found)):
                return
            await asyncio.sleep(0.2)


def _until_rest(hub: Hub, begin: float) -> tuple[float, float]:
    """Wait until the hub takes no time; return the seconds until then, and of a core."""
    since, spent = time.monotonic(), hub.spent()
    while time.monotonic() < since + REST_SECONDS:
        time.sleep(0.5)
        if (now := hub.spent()) > spent + AT_REST * 0.5:
            since = time.monotonic()
        spent = now
    return since - begin, spent


def asked(made: Made) -> Figures:
    """Let all lanes ask a server that answers at once; then end the hub."""
    with peer(answer_of(ACCESSIONS)) as url:
        with opened(made, url), serving(made.folder, None) as hub:
            count = "SELECT max(rowid) FROM answers"
            hub.until(lambda: hub.count(count) > made.answers + made.lanes)
            with asyncio.Runner() as runner:
                runner.run(_page(hub))  # the boards are complete enough
                before, spent, begin = hub.count(count), hub.spent(), time.monotonic()
                late = runner.run(_livez(hub, RATE_SECONDS))
                answers, used = hub.count(count) - before, hub.spent() - spent
                took = time.monotonic() - begin
                page, streamed = runner.run(_monitor(hub))
            stopped = hub.stop()
        _forget(made)
    return {
        "answers a second": answers / took,
        "CPU an answer": 1e3 * used / answers,
        "/healthz p99 at full rate": 1e3 * late,
        "monitor page, compressed": page / 1e3,
        "monitor stream, a viewer": streamed / 1e3,
        "SIGTERM at full rate": stopped,
    }


@contextmanager
def opened(made: Made, url: str) -> Iterator[None]:
    """Have the phase open, and its lanes run, on servers at `url`, while the context lasts."""

    def change(plan: PhasePlan, control: Control) -> None:
        with closing(sqlite3.connect(made.store)) as connection, connection:
            connection.execute("UPDATE phases SET plan = ?", (msgspec.json.encode(plan),))
            connection.execute("UPDATE servers SET url = ?", (url,))
            connection.execute("UPDATE lanes SET control = ?", (control.value,))

    change(OPEN, Control.RUNNING)
    try:
        yield
    finally:
        change(PhasePlan(), Control.PAUSED)


def _forget(made: Made) -> None:
    """Delete what was answered, so that the store has its size again."""
    position = made.answers // made.lanes
    with closing(sqlite3.connect(made.store)) as connection, connection:
        for table in ("raw_answers", "answers", "attempts"):
            connection.execute(f"DELETE FROM {table} WHERE position >= ?", (position,))
        connection.execute("DELETE FROM checkpoints")
        connection.execute(
            "UPDATE lanes SET cursor = ?, serial = (SELECT coalesce(max(serial), 0) FROM attempts"
            " WHERE attempts.phase_id = lanes.phase_id AND attempts.server_id = lanes.server_id)",
            (position,),
        )


def _private(hub: Hub) -> float:
    return float(hub.account.memory_full_info().uss) / 1e6


async def _page(hub: Hub) -> bytes:
    """Return the monitor as it is sent, once it answers."""
    deadline = time.monotonic() + PAGE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(aiohttp.ClientConnectionError):
            async with (
                _session() as session,
                session.get(f"{hub.address}c/bc/{PHASE}/monitor") as response,
            ):
                if response.status == http.HTTPStatus.OK:
                    return await response.read()
        await asyncio.sleep(0.2)
    raise TimeoutError("the monitor does not answer")


async def _livez(hub: Hub, seconds: float) -> float:
    """Return the 99th percentile of the seconds that /healthz takes."""
    taken: list[float] = []
    begin = time.monotonic()
    async with _session() as session:
        while (asked := time.monotonic()) < begin + seconds:
            async with session.get(hub.address + "healthz") as response:
                await response.read()
            taken.append(time.monotonic() - asked)
            await asyncio.sleep(0.02)
    return float(np.quantile(taken, 0.99))


async def _monitor(hub: Hub) -> tuple[int, float]:
    """Return the bytes of the monitor, and those a second of its stream, as they are sent."""
    page = await _page(hub)
    text = _text(page)
    stream = STREAM.search(text)
    assert stream, "the monitor has no stream"
    rows = ",".join(SERVER_ID.findall(text)[:SCREEN])
    got, begin = 0, 0.0
    async with _session() as session:
        url = f"{hub.address.rstrip('/')}{unescape(stream[1])}&rows={rows}"
        async with session.get(url) as response:
            response.raise_for_status()
            await response.content.readany()  # the first frame is the page's own
            begin = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STREAM_SECONDS):
                    async for chunk in response.content.iter_any():
                        got += len(chunk)
    return len(page), got / (time.monotonic() - begin)


def _text(sent: bytes) -> str:
    return (gzip.decompress(sent) if sent.startswith(GZIP) else sent).decode()


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(auto_decompress=False, headers={"Accept-Encoding": "gzip"})


# -- commands ------------------------------------------------------------------------------------


def gold(made: Made) -> Figures:
    """Set another gold of INT."""
    [took] = many_answers.changed(made.folder, made.articles)
    return {
        "gold change": took.seconds,
        "gold change, CPU": took.core,
        "gold change, /healthz p99": 1e3 * took.p99,
    }


def backup(made: Made) -> Figures:
    """Copy the store, and check the copy."""
    copy = made.folder / "copy.sqlite"
    spent = _metered("backup", lambda: copy_store(made.store, copy))
    copy.unlink()
    return spent


def _metered(name: str, work: Callable[[], object]) -> Figures:
    """Do a work; return its seconds, and those of a core."""
    begin, before = time.monotonic(), time.process_time()
    work()
    return {name: time.monotonic() - begin, f"{name}, CPU": time.process_time() - before}


PARTS: Mapping[str, Callable[[Made], Figures]] = {
    one.__name__: one for one in (started, backup, gold, asked)
}
IN_PROCESS = frozenset({"started", "asked"})
"""The parts that have a process for the hub already."""


# -- all sizes -----------------------------------------------------------------------------------


def measure(answers: int, lanes: int, parts: Sequence[str], folder: Path) -> Figures:
    """Make a store, and measure parts on it; the figures of a part that fails are left out."""
    made = Made(folder=folder, answers=answers, lanes=lanes)
    begin = time.monotonic()
    asyncio.run(fill_rows(folder, lanes=lanes, articles=made.articles, answered=answers // lanes))
    size = made.store.stat().st_size / 1e6
    _say(f"{answers:,} answers: a store of {size:.0f} MB in {time.monotonic() - begin:.0f} s")
    figures: Figures = {}
    for name in parts:
        found = _measured(name, made)
        figures |= found
        _say("".join(f"  {row}: {figure:.4g} {ROWS[row].unit}\n" for row, figure in found.items()))
    return figures


def _measured(name: str, made: Made) -> Figures:
    try:
        if name in IN_PROCESS:
            return PARTS[name](made)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(PARTS[name], made).result()
    except Exception as error:  # the other parts count without it
        _say(f"  {name} failed: {error!r}")
        return {}


def _say(text: str) -> None:
    print(text.rstrip("\n"), file=sys.stderr, flush=True)


# -- the table -----------------------------------------------------------------------------------


def exponent(figures: Mapping[int, float]) -> float | None:
    """Return the least-squares k of `figure = c * answers^k`; None for fewer than two sizes."""
    points = [(size, figure) for size, figure in figures.items() if figure > 0]
    if len(points) < 2:
        return None
    sizes, values = np.log(np.array(points)).T
    return float(np.polyfit(sizes, values, 1)[0])


def table(found: Mapping[int, Figures]) -> str:
    """Return the figures as a table in Markdown."""
    sizes = sorted(found)
    head = ["row", *(f"{size:,}" for size in sizes), "law", "target"]
    lines = [head, ["---"] * len(head)]
    for name, row in ROWS.items():
        figures = {size: found[size][name] for size in sizes if name in found[size]}
        if figures:
            cells = [f"{figures[size]:.{row.digits}f}" if size in figures else "" for size in sizes]
            k = exponent(figures)
            law = "" if k is None else f"n^{k:.2f}"
            lines.append([f"{name}, {row.unit}", *cells, law, row.target])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _kept(path: Path | None) -> dict[int, Figures]:
    if path is None or not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[int, Figures])


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answers", type=int, nargs="*", default=[sized(10_000, 20)])
    parser.add_argument("--lanes", type=int, default=sized(100, 2))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where the stores are made")
    given = parser.parse_args()
    found = _kept(given.json)
    for answers in given.answers:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            figures = measure(answers, given.lanes, given.only, Path(folder))
        found[answers] = found.get(answers, {}) | figures
        if given.json is not None:
            given.json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    print(f"{given.lanes:,} lanes, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(table(found))


if __name__ == "__main__":
    main()
