"""Rows about processes with pages: what it costs to follow others, and when one is ready."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks import sized
from benchmarks.filled import checked_answers, entries_of, settings, take
from benchmarks.machines.hubs import ANSWERS, Hub, Stores, hub_of
from benchmarks.machines.table import Row
from benchmarks.many_lanes import Made, nobody
from metaserver.base.lanes import LaneKey
from metaserver.base.states import Control
from metaserver.store import leases, phases
from metaserver.store.store import open_store

RATE = sized(2_000, 100)  # answers a second that are followed
LANES = sized(1_000, 10)
SECONDS = sized(20.0, 0.5)
IDLE_SECONDS = sized(10.0, 0.5)
AT_A_TIME = 100  # answers that are given to the store's writer together
STORED = sized(45_000, 30)
STORED_LANES = sized(75, 3)
LAG = "metaserver_follower_lag_seconds"
BEHIND = "metaserver_lanes_behind"
LOOK_SECONDS = 0.5


def follower(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the rows of a process that follows answers which others store."""
    made = Made(nobody(), Control.PAUSED, lanes=LANES, articles=int(RATE * SECONDS / LANES))
    costs, lags, rates = [], [], []
    for _ in range(rounds):
        with hub_of(stores, made, "web-1") as hub:
            caught_up(hub)
            time.sleep(IDLE_SECONDS / 2)
            spent, began = hub.spent().hub, time.monotonic()
            with lag_of(hub):  # looks as often as below, so that looking is not counted
                time.sleep(IDLE_SECONDS)
            idle = (hub.spent().hub - spent) / (time.monotonic() - began)
            spent, began = hub.spent().hub, time.monotonic()
            with lag_of(hub) as seen:
                stored, seconds = asyncio.run(feed(hub, made))
                time.sleep(2.0)  # until the last answers are shown
            used = hub.spent().hub - spent - idle * (time.monotonic() - began)
            costs.append(used / stored * 1e6)
            lags.append(sorted(seen)[int(0.99 * len(seen))])
            rates.append(stored / seconds)
    notes = f"at {sorted(rates)[len(rates) // 2]:,.0f} answers/s of {LANES:,} lanes"
    what = "follower"
    yield Row(what=f"{what}, an answer with scoring", values=costs, unit="us",
              notes=notes)  # fmt: skip
    yield Row(what=f"{what}, lag (p99)", values=lags, target=2.0, unit="s", notes=notes)


async def feed(hub: Hub, made: Made) -> tuple[int, float]:
    """Store answers at `RATE` as a worker does; return how many, and in which time."""
    given = settings(hub.stores.folder)
    answers = checked_answers(given)
    async with open_store(hub.place, alone=False) as store:
        async with store.reading() as connection:
            [phase] = await phases.list_all(connection)
            keys = [LaneKey(phase.id, one.key.server_id) for one in await leases.seen(connection)]
        corpus = await store.corpus(phase.corpus_id)
        await take(store, keys)
        entries = entries_of(corpus, keys, made.articles, answers)
        began, count, storing = time.monotonic(), 0, []
        while some := list(itertools.islice(entries, AT_A_TIME)):
            await asyncio.sleep(began + count / RATE - time.monotonic())
            storing += [asyncio.ensure_future(store.record(entry)) for entry in some]
            count += len(some)
        await asyncio.gather(*storing)
        return count, time.monotonic() - began


@contextmanager
def lag_of(hub: Hub) -> Iterator[list[float]]:
    """Note how far a process is behind, several times a second, until the context ends."""
    seen: list[float] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.2):
            value = metric(hub, LAG)
            if value is not None:
                seen.append(value)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()


def caught_up(hub: Hub) -> None:
    """Wait until a process shows all that is stored; each look costs it some milliseconds."""
    hub.until(lambda: metric(hub, BEHIND) == 0, pause=LOOK_SECONDS)


def metric(hub: Hub, name: str) -> float | None:
    """Return a metric of a process's own; None where it does not say."""
    text = read(f"{hub.address('web-1')}metrics")
    found = re.search(rf"^{name} (\S+)", text or "", re.MULTILINE)
    return float(found[1]) if found else None


def read(address: str) -> str | None:
    """Return a page; None where there is no good answer."""
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return str(response.read().decode())
    except (OSError, urllib.error.HTTPError):
        return None


def ready(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the row of a process with pages that is started on many answers, no checkpoints."""
    articles = STORED // STORED_LANES
    made = Made(nobody(), Control.PAUSED, lanes=STORED_LANES, articles=articles, answers=articles)
    times, served = [], []
    for _ in range(rounds):
        with hub_of(stores, made) as hub:
            assert hub.count(ANSWERS) == STORED
            began = time.monotonic()
            hub.start("web-1")
            hub.until(partial(read, f"{hub.address('web-1')}readyz"))
            served.append(time.monotonic() - began)
            caught_up(hub)
            times.append(time.monotonic() - began)
    yield Row(
        what=f"a process with pages shows all of {STORED:,} answers",
        values=times,
        target=10.0,
        unit="s",
        notes=f"/readyz after {sorted(served)[len(served) // 2]:.1f} s",
    )
