"""Several processes and machines: what PostgreSQL costs, and what is lost for how long.

`python -m benchmarks machines` measures everything, `python -m benchmarks.machines --only idle
--rounds 3` one group of rows with fewer rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from benchmarks import sized
from benchmarks.machines import losses, pages, speeds, stores
from benchmarks.machines.hubs import Stores, described
from benchmarks.machines.table import Row
from tests.stores import own_server

ROUNDS = sized(5, 1)

Measure: TypeAlias = Callable[[Stores, int], Iterator[Row]]

MEASURED: Mapping[str, Measure] = {
    "stores": stores.compared,
    "hubs": speeds.hubs,
    "dealing": speeds.dealing,
    "idle": losses.idle,
    "takeover": losses.takeover,
    "back": losses.back,
    "follower": pages.follower,
    "ready": pages.ready,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows, each with its target."""
    parser = argparse.ArgumentParser(prog="benchmarks.machines")
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    for name in options.only:
        print(f"{name}: {described()}", flush=True)
        with (
            TemporaryDirectory() as scratch,
            own_server(fsync="on", full_page_writes="on") as server,
        ):
            for row in MEASURED[name](Stores(server, Path(scratch)), options.rounds):
                print(f"  {row}", flush=True)
