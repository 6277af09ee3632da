"""Help, and commands that ask a running hub, load nothing that the hub itself needs."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from metaserver.cli.main import build_parser
from metaserver.cli.remote.outlines import outlines
from tests.loading import commands, loaded

MAIN = "metaserver.cli.main"
HELP = {"msgspec", "typing_extensions"}
ASKING = HELP | {"rich", "pygments", "markdown_it", "mdurl"}


@pytest.fixture(autouse=True)
def built() -> None:
    """Build the outlines, where the sources were changed since."""
    outlines()


@pytest.mark.slow
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_help_of_every_command_loads_no_library_of_the_hub(step: int) -> None:
    lines = [[*words, "--help"] for words in commands(build_parser())]
    assert len(lines) > 80
    lines = lines[::step]
    for words, libraries in zip(lines, loaded(MAIN, lines), strict=True):
        assert libraries <= HELP, words


@pytest.mark.slow
def test_what_is_no_command_is_refused_as_quickly() -> None:
    lines = [[], ["unknown"], ["servers", "unknown"], ["servers", "get"], ["run", "--articles"]]
    for words, libraries in zip(lines, loaded(MAIN, lines), strict=True):
        assert libraries <= HELP, words


class OneServer(BaseHTTPRequestHandler):
    """A hub that has one server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'[{"server": "one", "phases": []}]')

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def hub() -> Iterator[str]:
    """Serve at a free port; gives the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OneServer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_command_that_asks_a_hub_loads_no_library_of_the_hub(hub: str) -> None:
    asked = ["servers", "list", "--hub", hub]
    lines = [[*asked, "--json"], asked, [*asked, "--only", "server"]]
    for words, libraries in zip(lines, loaded(MAIN, lines), strict=True):
        assert libraries <= ASKING, words
