"""The starter kits as `annotators new` writes them: smoke test, conformance run, bad callers."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from annotators.check import check
from annotators.starter import KITS, write_kit
from tests.conformance.foreign import CACHE, NEEDED, Command, param, started
from tests.integration.callers import SECONDS
from tests.integration.verdicts import agreed

pytestmark = pytest.mark.slow
FLOOD = b"x" * 2**20
ENVIRONMENT = os.environ | {
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "GOCACHE": str(CACHE / "go"),
}


@pytest.fixture(scope="module", params=[param(one, one) for one in KITS])
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    NEEDED[name]()
    return name


@pytest.fixture(scope="module")
def kit(language: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of each kit in turn."""
    folder = tmp_path_factory.mktemp(language)
    write_kit(folder, language)
    return folder


def ran(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def start_of(language: str) -> Callable[[int, Path], Command]:
    """Return how a kit's server is started: as its README says, or as its container does."""
    found = KITS[language]

    def command(port: int, folder: Path) -> Command:
        if found.build:
            built = ran(found.build.replace("GOCACHE=/tmp/go ", ""), folder)
            assert built.returncode == 0, built.stderr
        path = f"PATH={ENVIRONMENT['PATH']}"
        program = (found.program or found.run).split()
        return ["env", "-C", str(folder), path, f"PORT={port}", *program]

    return command


def test_its_smoke_test_passes(language: str, kit: Path) -> None:
    done = ran(KITS[language].test, kit)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", ["a short article", "an entity of its own"])
def test_its_smoke_test_fails_where_the_contract_is_broken(
    language: str, kit: Path, case: str, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(kit, folder)
    contract = json.loads((folder / "contract.json").read_text(encoding="utf-8"))
    (one,) = (one for one in contract["cases"] if one["name"] == case)
    if "result" in one:
        one["result"]["normalizations"][0]["rank"] = 7
    else:
        one["faults"] = [-1]
    (folder / "contract.json").write_text(json.dumps(contract), encoding="utf-8")
    assert ran(KITS[language].test, folder).returncode != 0


@pytest.fixture(scope="module")
def running(language: str, kit: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with started(start_of(language), kit) as (url, process):
        yield url, process


async def test_it_passes_the_hubs_test_and_the_teams(
    running: tuple[str, subprocess.Popen[bytes]],
) -> None:
    run = await agreed(running[0])
    assert run.passed, run.reasons()
    states = {step.name: step.state for step in run.steps}
    others = {name for name, state in states.items() if state != "passed"}
    assert others == {"resolve", "TLS", "tasks"}  # it answers INT alone
    short = next(step for step in run.steps if step.name == "short article")
    assert short.message == "hits: 3 (INT)"
    assert not short.problems


def test_bad_callers_do_not_stop_it(running: tuple[str, subprocess.Popen[bytes]]) -> None:
    url, process = running
    address = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
    with socket.create_connection(address) as silent:
        silent.sendall(b"POST / HTTP/1.1\r\nHost: kit\r\n")
        assert status_of(url, None) in {200, 405}
        assert flooded(address) in {b"413", b"400", b""}
        assert status_of(url, b"no XML") == 200
    assert process.poll() is None


def status_of(url: str, body: bytes | None) -> int:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "text/xml"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def flooded(address: tuple[str, int]) -> bytes:
    """Send a body that never ends; return the status, empty if the server hung up."""
    head = b"POST / HTTP/1.1\r\nHost: kit\r\nContent-Length: 99999999999\r\n\r\n"
    answer = b""
    with socket.create_connection(address, timeout=SECONDS) as caller, suppress(OSError):
        with suppress(OSError):
            caller.sendall(head)
            for _ in range(80):
                caller.sendall(FLOOD)
        answer = caller.recv(1000)
    return b"".join(answer.split(b" ")[1:2])


def test_it_ends_on_sigterm(language: str, kit: Path) -> None:
    with started(start_of(language), kit) as (_, process):
        process.terminate()
        assert process.wait(timeout=SECONDS) in endings()


async def test_right_requests_leave_no_warnings_in_its_log(language: str, kit: Path) -> None:
    """Its log is read when something is wrong: a line a request would hide it."""
    with started(start_of(language), kit) as (url, process):
        assert await check(url, show=lambda _: None)
        process.terminate()
        process.wait(timeout=SECONDS)
        assert (kit / "log").read_text().splitlines() == [f"listening on {url.replace('RPC2', '')}"]


def endings() -> Sequence[int]:
    return (0, -15, 143)  # of its own accord, by the signal, and Java's
