"""Rows about stores on SQLite and PostgreSQL: answers a second, and processor time an answer.

Each lane has one answer on its way to the store at a time, as a server with one request in flight.
The PostgreSQL server is one of this machine's programs, with its defaults, on a socket.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import sized
from benchmarks.filled import (
    STORE_FILE,
    checked_answers,
    entries_of,
    make_phase,
    settings,
    take,
)
from benchmarks.machines.hubs import Stores
from benchmarks.machines.table import Row
from metaserver.base.lanes import AttemptRecord
from metaserver.store.place import StorePlace, read_url
from metaserver.store.store import Store, open_store

TARGETS = sized({32: 0.7, 1_000: 0.9}, {2: 0.7})
"""The least ratio, by the number of lanes."""
ANSWERS = sized(16_000, 20)


class Speed(NamedTuple):
    """Answers a second, and microseconds of this process an answer."""

    rate: float
    cost: float


async def measure(place: StorePlace, folder: Path, lanes: int) -> Speed:
    """Store answers in a new store at full speed."""
    articles = max(4, ANSWERS // lanes)
    given = settings(folder)
    answers = checked_answers(given)
    async with open_store(place) as store:
        corpus, _, keys = await make_phase(store, lanes, articles)
        await take(store, keys)
        queues: defaultdict[int, list[AttemptRecord]] = defaultdict(list)
        for entry in entries_of(corpus, keys, articles, answers):
            queues[entry.lane.server_id].append(entry)
        began, used = time.perf_counter(), _processor()
        await asyncio.gather(*(_lane(store, queue) for queue in queues.values()))
        seconds, cost = time.perf_counter() - began, _processor() - used
    stored = lanes * articles
    return Speed(stored / seconds, cost / stored * 1e6)


async def _lane(store: Store, entries: Sequence[AttemptRecord]) -> None:
    for entry in entries:
        await store.record(entry)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def one(stores: Stores, lanes: int, number: int) -> tuple[Speed, Speed]:
    """Measure both stores, one after the other, in an order that changes."""
    name = f"round_{lanes}_{number}"
    stores.server.ask(f"CREATE DATABASE {name}")
    file = stores.folder / name / STORE_FILE
    file.parent.mkdir()
    places: list[StorePlace] = [file, read_url(stores.server.url(name), "store")]
    speeds = {}
    for place in places if number % 2 else reversed(places):
        speeds[str(place)] = asyncio.run(measure(place, stores.folder, lanes))
    stores.server.ask(f"DROP DATABASE {name}")
    return speeds[str(places[0])], speeds[str(places[1])]


def compared(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield a row for each number of lanes."""
    for lanes, target in TARGETS.items():
        found = [one(stores, lanes, number) for number in range(rounds)]
        files, databases = zip(*found, strict=True)
        yield Row(
            what=f"store, PostgreSQL / SQLite, {lanes:,} lanes",
            values=[b.rate / a.rate for a, b in found],
            target=target,
            least=True,
            notes=f"{statistics.median(one.rate for one in databases):,.0f} and"
            f" {statistics.median(one.rate for one in files):,.0f} answers/s,"
            f" {statistics.median(one.cost for one in databases):.0f} and"
            f" {statistics.median(one.cost for one in files):.0f} us of this process an answer",
        )
