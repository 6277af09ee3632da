"""Start times of commands, in processor time, against pip's help.

`python -m benchmarks starting`. Each command runs 11 times, all in turn, as processes of their own;
what counts is the median of user and system time, as the system accounts for the process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks import sized

RUNS = sized(11, 1)
TARGET = 0.4  # seconds
PEERS = {"python -c pass": ["-c", "pass"], "pip --help": ["-m", "pip", "--help"]}
NAMED = "pip --help"
OURS = sized(
    [
        "metaserver --help",
        "metaserver --version",
        "metaserver run --help",
        "metaserver uniprot build --help",
        "metaserver servers --help",
        "metaserver servers register --help",
        "metaserver servers list",
        "metaserver servers list --json",
        "scoring --help",
        "scoring evaluate --help",
        "annotators --help",
        "annotators serve --help",
    ],
    ["metaserver --help"],
)


class _Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'[{"server": "one", "team": "blue", "tasks": ["INT"], "phases": []}]')

    def log_message(self, *_: object) -> None:
        """Print nothing among the figures."""


@contextmanager
def answering() -> Iterator[str]:
    """Serve what a hub answers; gives the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def seconds(command: Sequence[str], environment: dict[str, str]) -> float:
    """Run a command; return the processor time that it took."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table."""
    scripts = Path(sys.executable).parent
    commands = {name: [sys.executable, *words] for name, words in PEERS.items()}
    for name in OURS:
        program, *words = name.split()
        commands[name] = [str(scripts / program), *words]
    with answering() as hub:
        environment = os.environ | {"METASERVER_URL": hub}
        for command in commands.values():  # bytecode and outlines are there, files in memory
            seconds(command, environment)
        measured: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                measured[name].append(seconds(command, environment))
    medians = {name: statistics.median(times) for name, times in measured.items()}
    print(f"{'':38} median s   min s   max s   to {NAMED}")
    for name, median in medians.items():
        low, high = min(measured[name]), max(measured[name])
        missed = "  over the target" if name in OURS and median >= TARGET else ""
        print(
            f"{name:38} {median:8.3f} {low:7.3f} {high:7.3f} {median / medians[NAMED]:8.2f}{missed}"
        )


if __name__ == "__main__":
    main()
