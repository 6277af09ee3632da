"""Help, and commands that ask a running hub, load nothing that the hub itself is made of."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions

import pytest

from metaserver.cli.main import build_parser
from metaserver.cli.remote.outlines import outlines

HELP = {"msgspec", "typing_extensions"}
ASKING = HELP | {"rich", "pygments", "markdown_it", "mdurl"}
SCRIPT = """
import contextlib, io, json, sys
before = set(sys.modules)  # what the environment loads into every Python
from metaserver.cli.main import main
loaded = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(words)
    loaded.append(sorted({name.partition(".")[0] for name in sys.modules.keys() - before}))
print(json.dumps(loaded))
"""


def loaded(lines: Sequence[Sequence[str]]) -> Sequence[set[str]]:
    """Return the libraries of others that are loaded after each command, all in one process."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(lines)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    libraries = packages_distributions().keys() - {"metaserver", "scoring", "annotators"}
    return [libraries.intersection(names) for names in json.loads(found.stdout)]


def commands(parser: argparse.ArgumentParser, words: Sequence[str] = ()) -> Iterator[list[str]]:
    """Yield the words of every command that a parser knows."""
    yield [*words]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, [*words, name])


def test_help_of_every_command_loads_no_library_of_the_hub() -> None:
    outlines()  # built, where the sources were changed
    lines = [[*words, "--help"] for words in commands(build_parser())]
    assert len(lines) > 80
    for words, libraries in zip(lines, loaded(lines), strict=True):
        assert libraries <= HELP, words


@pytest.mark.parametrize("words", [["unknown"], ["servers", "unknown"], ["servers", "get"], []])
def test_what_is_no_command_is_refused_as_quickly(words: list[str]) -> None:
    outlines()
    assert loaded([words])[0] <= HELP


class NoServers(BaseHTTPRequestHandler):
    """A hub without servers."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'[{"server": "one", "phases": []}]')

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def hub() -> Iterator[str]:
    """Serve at a free port; gives the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), NoServers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("form", [[], ["--json"], ["--only", "server"]])
def test_a_command_that_asks_a_hub_loads_no_library_of_the_hub(hub: str, form: list[str]) -> None:
    outlines()
    assert loaded([["servers", "list", "--hub", hub, *form]])[0] <= ASKING
