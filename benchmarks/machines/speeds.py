"""Rows about speed at work: whole hubs on both stores, one process and several, and dealing.

A peer that costs next to nothing answers all lanes. The rate is of the answers that are stored
within `SECONDS`; processor time is that of the hub's processes, and of the PostgreSQL server.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks import sized
from benchmarks.machines.hubs import ANSWERS, BARE, Hub, Stores, hub_of
from benchmarks.machines.table import Row
from benchmarks.many_lanes import Made
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS
from metaserver.base.states import Control

LANES = sized(75, 4)
MANY = sized(1_000, 8)
SECONDS = sized(10.0, 0.5)
WARM = sized(3.0, 0.5)
BY_WORKER = "SELECT coalesce(worker, ''), sum(serial) FROM lanes GROUP BY worker"


class Speed(NamedTuple):
    """Answers a second, and milliseconds of processor time an answer."""

    rate: float
    cost: float


def running(url: str, lanes: int) -> Made:
    """Return a phase whose servers are running, with more articles than are sent."""
    return Made(url, Control.RUNNING, lanes=lanes, articles=max(60, 40_000 // lanes))


def speed_of(hub: Hub) -> Speed:
    """Measure a hub at full rate."""
    hub.until(lambda: hub.count(ANSWERS) >= LANES)
    time.sleep(WARM)
    first, spent, began = hub.count(ANSWERS), hub.spent(), time.monotonic()
    time.sleep(SECONDS)
    stored, used, seconds = hub.count(ANSWERS) - first, hub.spent(), time.monotonic() - began
    cost = used.hub - spent.hub + used.database - spent.database
    return Speed(stored / seconds, cost / stored * 1e3)


def hubs(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the rows of whole hubs."""
    kinds: dict[str, tuple[bool, Sequence[str]]] = {
        "file": (False, ["all-1"]),
        "database": (True, ["all-1"]),
        "workers": (True, ["web-1", "worker-1", "worker-2"]),
    }
    found: dict[str, list[Speed]] = {kind: [] for kind in kinds}
    with peer(answer_of(ACCESSIONS)) as url:
        for number in range(rounds):
            for kind in list(kinds) if number % 2 else reversed(kinds):
                postgres, names = kinds[kind]
                with hub_of(stores, running(url, LANES), *names, postgres=postgres) as hub:
                    found[kind].append(speed_of(hub))
    rates = {kind: statistics.median(one.rate for one in some) for kind, some in found.items()}
    costs = {kind: statistics.median(one.cost for one in some) for kind, some in found.items()}
    for kind, what, target in (
        ("database", "whole hub, PostgreSQL / SQLite, one process each", 0.9),
        ("workers", "whole hub, pages and 2 workers / SQLite, one process", 1.5),
    ):
        yield Row(
            what=what,
            values=[a.rate / b.rate for a, b in zip(found[kind], found["file"], strict=True)],
            target=target,
            least=True,
            notes=f"{rates[kind]:,.0f} and {rates['file']:,.0f} answers/s",
        )
    yield Row(
        what="processor time an answer, hub and PostgreSQL / hub on SQLite",
        values=[a.cost / b.cost for a, b in zip(found["database"], found["file"], strict=True)],
        target=1.1,
        notes=f"{costs['database']:.2f} and {costs['file']:.2f} ms; with pages and 2 workers"
        f" {costs['workers']:.2f} ms",
    )


class Dealt(NamedTuple):
    """Answers a second from the first one on, and the share of the process with less."""

    rate: float
    lesser: float


def dealt_in(hub: Hub) -> Dealt:
    """Measure two workers from their first answers on."""
    hub.until(lambda: hub.count(ANSWERS) > 0)
    began = time.monotonic()
    time.sleep(SECONDS)
    rows = dict(hub.ask(BY_WORKER))
    seconds = time.monotonic() - began
    counts = [int(count) for worker, count in rows.items() if worker]
    lesser = min(counts) / sum(counts) if len(counts) > 1 else 0.0
    return Dealt(sum(counts) / seconds, lesser)


def dealing(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the rows of dealing beside the yardstick, bare leases."""
    roles = ("worker", BARE)
    with peer(answer_of(ACCESSIONS)) as url:
        for lanes in (LANES, MANY):
            found: dict[str, list[Dealt]] = {role: [] for role in roles}
            for number in range(rounds):
                for role in roles if number % 2 else reversed(roles):
                    made = running(url, lanes)._replace(due=True)
                    with hub_of(stores, made, f"{role}-1", f"{role}-2") as hub:
                        found[role].append(dealt_in(hub))
            bare = statistics.median(one.rate for one in found[BARE])
            queue = statistics.median(one.rate for one in found["worker"])
            pairs = list(zip(found["worker"], found[BARE], strict=True))
            yield Row(
                what=f"dealing by PgQueuer / bare leases, {lanes} lanes, 2 workers",
                values=[ours.rate / theirs.rate for ours, theirs in pairs],
                target=0.8,
                least=True,
                notes=f"{queue:,.0f} and {bare:,.0f} answers/s",
            )
            least = statistics.median(one.lesser for one in found[BARE])
            yield Row(
                what=f"share of the lesser worker, {lanes} lanes",
                values=[one.lesser for one in found["worker"]],
                target=0.4,
                least=True,
                notes=f"bare leases {least:.2f}",
            )
