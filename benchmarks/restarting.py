"""The time of a restart: until the pages of a hub answer, and until its boards are complete.

`python -m benchmarks.restarting --answers 10000 100000` fills a store for 1,000 lanes and starts
`metaserver serve` on it as a process of its own: once without checkpoints, as after an import, and
once with those that it has written.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import yaml

from benchmarks import sized
from benchmarks.filled import PHASE, fill_rows

LANES = sized(1_000, 2)
PATIENCE = 1_800.0  # seconds
RUN = "import sys; from metaserver.cli.main import main; sys.exit(main(sys.argv[1:]))"
BEHIND = re.compile(rb"^metaserver_lanes_behind (\S+)", re.MULTILINE)


def _config(folder: Path) -> Path:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = {
        "folder": str(folder),
        "uniprot": {"releases": str(folder / "releases")},
        "web": {"port": port},
        "logs": {"level": "warning"},
    }
    path = folder / "hub.yaml"
    path.write_text(yaml.safe_dump(given))
    return path


@contextmanager
def _serving(config: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Start a hub; it is stopped as an organiser does it."""
    command = [sys.executable, "-c", RUN, "serve", "--config", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    port = yaml.safe_load(config.read_text())["web"]["port"]
    try:
        yield psutil.Process(process.pid), f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _read(address: str) -> bytes | None:
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return bytes(response.read())
    except OSError:
        return None


def _figures(hub: psutil.Process, began: float) -> str:
    used = hub.cpu_times()
    memory = hub.memory_info().rss / 2**20
    return f"{time.monotonic() - began:7.1f} s {used.user + used.system:7.1f} s {memory:6.0f} MB"


def _restart(name: str, config: Path) -> None:
    began = time.monotonic()
    with _serving(config) as (hub, address):
        while _read(f"{address}/c/bc/{PHASE}/board/INT") is None:
            time.sleep(0.05)
        print(f"{name:32} pages answer    {_figures(hub, began)}", flush=True)
        while time.monotonic() < began + PATIENCE:
            found = BEHIND.search(_read(f"{address}/metrics") or b"")
            if found and float(found[1]) == 0:
                break
            time.sleep(0.2)
        print(f"{name:32} boards complete {_figures(hub, began)}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks restarting")
    parser.add_argument("--answers", type=int, nargs="+", default=sized([10_000, 100_000], [10]))
    for answers in parser.parse_args().answers:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            asyncio.run(fill_rows(folder, lanes=LANES, articles=answers // LANES))
            os.sync()
            config = _config(folder)
            _restart(f"{answers:,} answers, no checkpoints", config)
            _restart(f"{answers:,} answers, checkpoints", config)


if __name__ == "__main__":
    main()
