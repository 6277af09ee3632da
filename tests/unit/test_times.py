"""What tests take: the processor time that is counted, the budgets of it, and memory."""

import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from metaserver.operations.context import HubContext
from tests.hubs.inside import at_work, settings
from tests.hubs.sites import visiting
from tests.times import MOST, MOST_OF_ALL, Times, let_go, worked

WORK = "import time\nwhile time.process_time() < 0.2: pass\n"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system lists no children")
def test_the_time_of_a_child_counts_while_it_runs_and_after_its_end() -> None:
    before = worked()
    with subprocess.Popen(
        [sys.executable, "-c", f"{WORK}print(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout
        child.stdout.readline()
        running = worked() - before
        child.communicate(b"\n")
    assert running >= 0.18  # clock ticks are 10 ms
    assert worked() - before >= 0.18


def report(test: str, seconds: float, shared: float = 0.0, **changed: object) -> SimpleNamespace:
    given = {"nodeid": test, "worked": seconds, "shared": shared, "when": "call"}
    return SimpleNamespace(**{**given, "in_default": True, **changed})


@pytest.mark.parametrize(
    ("reports", "faults"),
    [
        ([report("a", MOST / 2), report("a", MOST / 2)], 0),
        ([report("a", MOST / 2), report("a", MOST / 2 + 0.1)], 1),
        ([report("a", MOST + 1, shared=1)], 0),
        ([report("a", MOST + 1, in_default=False)], 0),
        ([report("a", MOST + 1, when="teardown")], 0),
        ([report("a", MOST_OF_ALL + 1, shared=MOST_OF_ALL)], 1),
        ([report("a", MOST_OF_ALL + 1, in_default=False)], 0),
    ],
)
def test_a_test_and_all_of_them_have_a_budget(reports, faults, tmp_path):
    times = Times(tmp_path / "times.tsv")
    for one in reports:
        times.pytest_runtest_logreport(one)
    assert len(times._faults()) == faults


async def test_a_hub_that_has_ended_is_let_go(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, visiting(running) as visitor:
        assert (await visitor.get("/")).status == 200
    del running, visitor
    let_go()
    assert not [one for one in gc.get_objects() if isinstance(one, HubContext)]
