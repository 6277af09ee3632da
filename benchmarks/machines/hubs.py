"""Hubs to measure: processes of `metaserver serve` on a store that was made before.

The store is a file, or a database of a PostgreSQL server that is one of this machine's programs. A
process is a hub of its own, or has a role; or it is the yardstick, a worker with bare leases.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

from benchmarks.filled import STORE_FILE
from benchmarks.many_lanes import RUN, Made, fill
from metaserver.store.place import StorePlace, read_url
from tests.stores import USER, PostgresServer

PATIENCE = 180.0  # seconds
BARE = "bare"
"""The role of a worker whose lanes are dealt by the yardstick."""
ANSWERS = "SELECT coalesce(sum(serial), 0) FROM lanes"


class Stores:
    """Stores that were made once, and are copied for each hub that works on them."""

    def __init__(self, server: PostgresServer, folder: Path, host: str = "") -> None:
        self.server = server
        self._host = host  # by which hubs reach the server; its socket, where there is none
        self.folder = folder
        self._made: dict[tuple[Made, bool], StorePlace] = {}
        self._count = 0

    def copy(self, made: Made, *, postgres: bool) -> StorePlace:
        """Return a new copy of a store, which is made when it is first asked for."""
        if (made, postgres) not in self._made:
            self._made[made, postgres] = self._fill(made, self._place(postgres))
        first, second = self._made[made, postgres], self._place(postgres)
        if isinstance(first, Path) and isinstance(second, Path):
            shutil.copyfile(first, second)
        else:
            assert not isinstance(first, Path)
            assert not isinstance(second, Path)
            self.server.ask(f"CREATE DATABASE {second.database} TEMPLATE {first.database}")
        return second

    def remove(self, place: StorePlace) -> None:
        """Remove a copy whose hub has ended."""
        if isinstance(place, Path):
            shutil.rmtree(place.parent)
        else:
            self.server.ask(f"DROP DATABASE {place.database} WITH (FORCE)")

    def ask(self, place: StorePlace, statement: str) -> Sequence[Any]:
        """Send a statement to a store; return the rows."""
        if not isinstance(place, Path):
            return [tuple(row) for row in self.server.ask(statement, place.database)]
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(statement).fetchall()

    def _place(self, postgres: bool) -> StorePlace:
        self._count += 1
        name = f"store_{self._count}"
        if postgres:
            of_host = f"postgresql://{USER}@{self._host}:5432/{name}"
            return read_url(of_host if self._host else self.server.url(name), "store")
        (self.folder / name).mkdir()
        return self.folder / name / STORE_FILE

    def _fill(self, made: Made, place: StorePlace) -> StorePlace:
        if not isinstance(place, Path):
            self.server.ask(f"CREATE DATABASE {place.database}")
        asyncio.run(fill(self.folder, made, place))
        if isinstance(place, Path):
            with closing(sqlite3.connect(place)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return place


class Spent(NamedTuple):
    """Processor time in seconds: of the hub's processes, and of the PostgreSQL server."""

    hub: float
    database: float


@dataclass
class Hub:
    """A running hub: its store, and its processes by their names, such as `worker-1`."""

    stores: Stores
    place: StorePlace
    config: Path
    processes: dict[str, psutil.Popen] = field(default_factory=dict)
    lost: list[psutil.Popen] = field(default_factory=list)

    def start(self, *names: str, before: Sequence[str] = ()) -> None:
        """Start processes and wait until they work; `before` stands before their commands."""
        for name in names:
            role = name.partition("-")[0]
            command = [sys.executable, "-m", "benchmarks.machines.bare"]
            if role != BARE:
                command = [sys.executable, "-c", RUN, "serve", "--role", role]
            with self._log(name).open("wb") as log:
                self.processes[name] = psutil.Popen(
                    [*before, *command, "--config", str(self.config)], stderr=log
                )
        for name in names:
            self.until(partial(self._works_at, name))

    def address(self, name: str) -> str:
        """Return the address of a process's site."""
        return self._works_at(name)

    def lose(self, name: str, lose: Callable[[], object]) -> None:
        """Lose a process in some way."""
        self.lost.append(self.processes.pop(name))
        lose()

    def ask(self, statement: str) -> Sequence[Any]:
        """Send a statement to the store; return the rows."""
        return self.stores.ask(self.place, statement)

    def count(self, statement: str) -> int:
        """Return the number that a query of the store gives."""
        [(number,)] = self.ask(statement)
        return int(number)

    def spent(self) -> Spent:
        """Return the processor time that was taken so far."""
        hub = sum(sum(one.cpu_times()[:2]) for one in self.processes.values())
        return Spent(hub, 0.0 if isinstance(self.place, Path) else spent_by(self.stores.server))

    def until(self, reached: Callable[[], object], pause: float = 0.05) -> None:
        """Wait for a condition."""
        end = time.monotonic() + PATIENCE
        while not reached():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} has ended: {self._log(name).read_text()}"
            assert time.monotonic() < end, "it never comes"
            time.sleep(pause)

    def kill(self) -> None:
        """Kill all processes."""
        for process in [*self.processes.values(), *self.lost]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
            process.wait()

    def _works_at(self, name: str) -> str:
        """Return the address, or the name of a worker, that a process says; empty before."""
        said = re.search(r"(?:serving at|working as) (\S+)\s", self._log(name).read_text())
        return said[1] if said else ""

    def _log(self, name: str) -> Path:
        return self.config.parent / f"{name}.log"


def spent_by(server: PostgresServer) -> float:
    """Return the processor time of a PostgreSQL server, with its processes that have ended."""
    first = psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))
    seconds = sum(first.cpu_times()[:4])
    for one in first.children():
        with suppress(psutil.NoSuchProcess):
            seconds += sum(one.cpu_times()[:2])
    return seconds


@contextmanager
def hub_of(
    stores: Stores,
    made: Made,
    *names: str,
    postgres: bool = True,
    web: Mapping[str, object] | None = None,
    networks: Sequence[str] = (),
) -> Iterator[Hub]:
    """Run a hub on a copy of a store, with processes of these names."""
    place = stores.copy(made, postgres=postgres)
    folder = place.parent if isinstance(place, Path) else stores.folder / place.database
    folder.mkdir(exist_ok=True)
    given: dict[str, object] = {
        "folder": str(folder),
        "uniprot": {"releases": str(stores.folder / "releases")},
        "web": {"port": 0, **(web or {})},
        "security": {"allow_networks": ["127.0.0.0/8", *networks]},
        "logs": {"level": "error"},
    }
    if not isinstance(place, Path):
        given["store"] = place.secret
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(given))
    hub = Hub(stores, place, config)
    try:
        hub.start(*names)
        yield hub
    finally:
        hub.kill()
        stores.remove(place)


def described() -> str:
    """Return the machine and its load."""
    with suppress(OSError, IndexError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
        return f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
