"""Rows about lanes that rest, and about what is lost: a worker, its cable, the database.

Take-over is the time from the loss of a worker until 95 % of the lanes that it had have an answer
more; the database is back from the end of its start until as many of all lanes have.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks import sized
from benchmarks.machines.hubs import Hub, Stores, hub_of, spent_by
from benchmarks.machines.table import Row
from benchmarks.many_lanes import LATE, SETTLE, Made
from benchmarks.peer import answer_of, peer
from benchmarks.phase import ACCESSIONS
from metaserver.base.states import Control
from metaserver.store.leases import LEASE_SECONDS
from tests.integration.links import Cut, machine
from tests.stores import own_server

IDLE_LANES = sized(1_000, 4)
IDLE_SECONDS = sized(30.0, 0.5)
LANES = sized(60, 6)
ANSWER_SECONDS = 0.2
DOWN_SECONDS = sized(3.0, 0.5)
MOST = 0.95
WORKERS = ("worker-1", "worker-2")
BY_LANE = "SELECT server_id, serial FROM lanes"
HELD = "SELECT count(*) FROM lanes WHERE worker IS NOT NULL"
LOG_BYTES = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"


def idle(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the rows of lanes that wait for answers, which take an hour."""
    cores, pages, log = [], [], []
    with peer(answer_of(ACCESSIONS), LATE) as url:
        made = Made(url, Control.RUNNING, lanes=IDLE_LANES)
        for _ in range(rounds):
            with hub_of(stores, made, "web-1", *WORKERS) as hub:
                hub.until(lambda: _in_flight(hub, url) >= IDLE_LANES)
                time.sleep(3 * SETTLE)
                before, began = _spent(hub), time.monotonic()
                written = hub.count(LOG_BYTES)
                time.sleep(IDLE_SECONDS)
                seconds, after = time.monotonic() - began, _spent(hub)
                used = {name: (after[name] - before[name]) / seconds for name in after}
                log.append((hub.count(LOG_BYTES) - written) / seconds / 1e3)
                cores.append(used["PostgreSQL"] + sum(used[name] for name in WORKERS))
                pages.append(used["web-1"])
                notes = ", ".join(f"{name} {share:.3f}" for name, share in used.items())
    what = f"{IDLE_LANES:,} idle lanes"
    yield Row(what=f"{what}, 2 workers and PostgreSQL", values=cores,
              unit="of a core", notes=f"the last round: {notes}")  # fmt: skip
    yield Row(what=f"{what}, log of PostgreSQL", values=log, target=1.0, unit="kB/s")


def _in_flight(hub: Hub, url: str) -> int:
    port = int(url.rstrip("/").rpartition(":")[2])
    known = [one for name in WORKERS for one in hub.processes[name].net_connections("tcp")]
    return sum(bool(one.raddr) and one.raddr.port == port for one in known)


def _spent(hub: Hub) -> Mapping[str, float]:
    of_processes = {name: sum(one.cpu_times()[:2]) for name, one in hub.processes.items()}
    return {**of_processes, "PostgreSQL": spent_by(hub.stores.server)}


def takeover(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the rows of workers that are lost, in leases."""
    with peer(answer_of(ACCESSIONS), ANSWER_SECONDS) as url:
        for way, sent in (("kill -9", signal.SIGKILL), ("SIGSTOP", signal.SIGSTOP)):
            times = []
            for _ in range(rounds):
                with hub_of(stores, _working(url), "web-1", *WORKERS) as hub:
                    process = hub.processes["worker-2"]
                    times.append(_taken_over(hub, partial(process.send_signal, sent)))
            yield _take_over(way, times)
    if os.geteuid() == 0:
        yield _cut_off(stores, rounds)
    else:
        print("take-over after a cut cable: not measured, since only root makes networks")


def _cut_off(stores: Stores, rounds: int) -> Row:
    """Return the row of a worker on a machine of its own, whose cable is cut."""
    times = []
    with (
        machine() as far,
        own_server(fsync="on", full_page_writes="on", listen_addresses=far.here) as server,
        peer(answer_of(ACCESSIONS), ANSWER_SECONDS, host=far.services_here) as url,
    ):
        server.admit(f"{far.there}/32", f"{far.here}/32")
        own, networks = Stores(server, stores.folder, far.here), [f"{far.services_here}/32"]
        for _ in range(rounds):
            with hub_of(own, _working(url), "web-1", "worker-1", networks=networks) as hub:
                hub.start("worker-2", before=("ip", "netns", "exec", far.name))
                times.append(_taken_over(hub, partial(far.cut, Cut.BOTH)))
                far.mend(Cut.BOTH)
    return _take_over("a cut cable", times)


def _working(url: str) -> Made:
    return Made(url, Control.RUNNING, lanes=LANES, articles=1_000)


def _take_over(way: str, times: Sequence[float]) -> Row:
    return Row(
        what=f"take-over after {way}",
        values=[seconds / LEASE_SECONDS for seconds in times],
        target=1.5,
        unit="leases",
        notes=f"of {LEASE_SECONDS:g} s",
    )


def _taken_over(hub: Hub, lose: Callable[[], object]) -> float:
    """Lose the second worker; return the seconds until its lanes answer again."""
    pid = hub.processes["worker-2"].pid
    held = f"SELECT server_id FROM lanes WHERE worker LIKE '%-{pid}-%'"
    hub.until(lambda: len(hub.ask(held)) >= LANES // 3 and hub.count(HELD) >= LANES)
    time.sleep(2 * LEASE_SECONDS)
    lanes = {row[0] for row in hub.ask(held)}
    began = time.monotonic()
    hub.lose("worker-2", lose)
    before = dict(hub.ask(BY_LANE))
    hub.until(lambda: _with_more(hub, before, lanes) >= MOST * len(lanes))
    return time.monotonic() - began


def _with_more(hub: Hub, before: Mapping[Any, Any], lanes: Iterable[Any]) -> int:
    """Return how many of some lanes have an answer more."""
    now = dict(hub.ask(BY_LANE))
    return sum(now[lane] > before[lane] for lane in lanes)


def back(stores: Stores, rounds: int) -> Iterator[Row]:
    """Yield the row of a database that is restarted while all lanes work."""
    times = []
    with (
        own_server(fsync="on", full_page_writes="on") as server,
        peer(answer_of(ACCESSIONS), ANSWER_SECONDS) as url,
    ):
        own = Stores(server, stores.folder)
        for _ in range(rounds):
            with hub_of(own, _working(url), "web-1", *WORKERS) as hub:
                times.append(_away(hub))
    what = f"PostgreSQL back after {DOWN_SECONDS:g} s, until 95 % of the lanes answer"
    yield Row(what=what, values=times, target=3.0, unit="s")


def _away(hub: Hub) -> float:
    """Stop the database and start it; return the seconds from then on until lanes answer."""
    hub.until(lambda: hub.count(HELD) >= LANES)
    time.sleep(2 * LEASE_SECONDS)
    hub.stores.server.stop("fast")
    time.sleep(DOWN_SECONDS)
    hub.stores.server.start()
    began, before = time.monotonic(), dict(hub.ask(BY_LANE))
    hub.until(lambda: _with_more(hub, before, before) >= MOST * LANES)
    return time.monotonic() - began
