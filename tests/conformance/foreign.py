"""Annotation servers in other languages, started for a test on a port of their own."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

PEERS = Path(__file__).parent / "peers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metaserver-peers"
START_SECONDS = 30.0

Command = Sequence[str]
Language = Callable[[int, Path], Command]


def missing(what: str) -> None:
    """Skip the test for want of `what`, or fail it where CI=true: there nothing may be missing."""
    message = f"{what} is not here; .ci/peers installs it"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def program(name: str, *check: str) -> str:
    """Return a program's path where it is here and running it with `check` succeeds."""
    path = shutil.which(name)
    if path is None:
        missing(name)
    elif check and subprocess.run([path, *check], capture_output=True, check=False).returncode:
        missing(f"{name} {' '.join(check)}")
    return str(path)


def perl(port: int, folder: Path) -> Command:
    return [program("perl", "-MRPC::XML::Server", "-e", "1"), _script("perl_rpc_xml.pl"), f"{port}"]


def ruby(port: int, folder: Path) -> Command:
    found = program("ruby", "-e", 'require "webrick"; require "xmlrpc/server"')
    return [found, _script("ruby_xmlrpc.rb"), f"{port}"]


def php(port: int, folder: Path) -> Command:
    return _php(port, "php_xmlrpc.php")


def careless(port: int, folder: Path) -> Command:
    """Return a server of PHP's that is as easily written as read wrongly."""
    return _php(port, "php_careless.php")


def _php(port: int, script: str) -> Command:
    found = program("php", "-r", 'exit(function_exists("xmlrpc_server_create") ? 0 : 1);')
    quiet = ["-d", "display_errors=0", "-d", "log_errors=0"]
    return [found, *quiet, "-S", f"127.0.0.1:{port}", _script(script)]


def node(port: int, folder: Path) -> Command:
    modules = CACHE / "node_modules"
    if not (modules / "xmlrpc").is_dir():
        missing("npm's xmlrpc")
    environment = ["env", f"NODE_PATH={modules}", "NODE_NO_WARNINGS=1"]
    return [*environment, program("node"), _script("node_xmlrpc.js"), f"{port}"]


def python(port: int, folder: Path) -> Command:
    return [sys.executable, _script("python_xmlrpc.py"), f"{port}"]


def c(port: int, folder: Path) -> Command:
    config = program("xmlrpc-c-config", "abyss-server", "--libs")
    flags = subprocess.check_output([config, "abyss-server", "--cflags", "--libs"], text=True)
    built = folder / "annotator"
    source = [_script("c_xmlrpc_c.c"), "-o", str(built)]
    subprocess.run([program("gcc"), "-Wall", "-Wextra", "-O1", *source, *flags.split()], check=True)
    return [str(built), f"{port}"]


def tcl(port: int, folder: Path) -> Command:
    """Return a server of Tcl's library, which takes bytes for characters."""
    loads = folder / "loads.tcl"
    loads.write_text("package require xmlrpc")
    return [program("tclsh", str(loads)), _script("tcl_xmlrpc.tcl"), f"{port}"]


def aimock(key: str) -> Language:
    """Return an endpoint of language models, which answers as `answers.json` in its folder says."""

    def command(port: int, folder: Path) -> Command:
        found = CACHE / "node_modules/.bin/llmock"
        if not found.exists():
            missing("npm's @copilotkit/aimock")
        answers = ["--fixtures", str(folder / "answers.json"), "--strict"]
        return ["env", f"AIMOCK_API_KEYS={key}", str(found), "--port", f"{port}", *answers]

    return command


def annotator(*arguments: str, key: str) -> Language:
    """Return a server of the command `annotators serve`, with a model's key."""
    serve = [sys.executable, "-m", "annotators", "serve", *arguments]
    return lambda port, folder: ["env", f"OPENAI_API_KEY={key}", *serve, "--port", f"{port}"]


PHP = 'exit(function_exists("xmlrpc_encode_request") && function_exists("pcntl_fork") ? 0 : 1);'
NEEDED: dict[str, Callable[[], str]] = {
    "python": lambda: sys.executable,
    "perl": lambda: program("perl", "-MRPC::XML", "-MHTTP::Daemon", "-e", "1"),
    "java": lambda: program("javac", "--version"),
    "ruby": lambda: program("ruby", "-e", 'require "webrick"; require "xmlrpc/server"'),
    "node": lambda: program("node", "--version"),
    "php": lambda: program("php", "-r", PHP),
    "go": lambda: program("go", "version"),
    "r": lambda: program("Rscript", "-e", "library(httpuv); library(xml2); library(jsonlite)"),
}
"""Whether a language is here: it skips the tests, or fails them where CI=true."""

LANGUAGES: Sequence[Language] = (perl, ruby, php, node, python, c)
NIGHTLY = frozenset({"c", "go", "php", "r", "ruby"})
"""What `.ci/peers` leaves out if it is not asked for everything."""


def param(language: str, *values: object) -> ParameterSet:
    """Return the parameters of tests of one language, with the mark `nightly` if it is rare."""
    return pytest.param(*values, id=language, marks=[pytest.mark.nightly] * (language in NIGHTLY))


@contextmanager
def running(language: Language, folder: Path) -> Iterator[str]:
    """Run the annotation server of one language; gives its URL. `folder` is for what it builds."""
    with started(language, folder) as (url, _):
        yield url


@contextmanager
def started(language: Language, folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the annotation server of one language; gives its URL and its process."""
    port = _free_port()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(language(port, folder), stdout=output, stderr=output)
    try:
        _wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}/RPC2", process
    finally:
        process.kill()
        process.wait()


def _script(name: str) -> str:
    return str(PEERS / name)


def _free_port() -> int:
    """A port that was free a moment ago: few of these servers can say which one they took."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    pytest.fail(f"{process.args} did not start: {log.read_text(errors='replace')}")
