"""Every benchmark runs: once each, as small as can be. How fast it is says `make bench`."""

import subprocess
import sys

import pytest

from benchmarks import names
from tests.shared import ROOT, shared
from tests.tools import tool

QUICK = {
    "codec", "decoding", "fuzz_decoding", "hostile_bodies", "other_evaluations",
    "scoring_large_file", "scoring_peers", "scoring_reading",
}  # fmt: skip
NIGHTLY = {"machines"}  # leases are waited for, on networks that only root makes
NEEDED = {
    "consensus": lambda: shared("data"),
    "live_pages": lambda: tool("chromium"),
    "species": lambda: shared("data"),
}


def marks(name: str) -> list[pytest.MarkDecorator]:
    if name in NIGHTLY:
        return [pytest.mark.nightly]
    return [] if name in QUICK else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(one, marks=marks(one)) for one in names()])
def test_a_benchmark_runs_at_a_toy_size(name: str) -> None:
    if name in NEEDED:
        NEEDED[name]()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--toy", name], cwd=ROOT, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2
    assert " failed: " not in done.stderr  # a part of one
