"""The processor time of each test, its child processes included: a report, and two budgets.

`--times FILE` writes a line a test, and prints sums by folder and the longest tests. A test without
the marks `slow` and `nightly` may take `MOST` seconds, and all of them together `MOST_OF_ALL`; if
all examples of Hypothesis are tried, there is no budget. The same test takes twice as long on one
machine as on another, so `MOST` is far above what a test should take: the longest are printed.
Time of the wall is never looked at: it says what else the machine does. Fixtures of modules and
sessions are counted in the sums, not against a test.
"""

import ctypes
import gc
import os
import resource
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web_app

MOST = 6.0  # seconds: a test should take half of one
MOST_OF_ALL = 330.0  # seconds: three minutes of two cores are 360, the collection included
LONGEST = 30  # tests that are printed
_TICKS = os.sysconf("SC_CLK_TCK")


def worked() -> float:
    """Return the seconds that processors worked for this process and all that it started."""
    return sum(os.times()[:4]) + sum(map(_worked, _children("self")))


def _worked(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # it has ended: its parent has its times
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(_worked, _children(process)))


def _children(process: str) -> Iterator[str]:
    """Yield the children that have not ended; none where the system does not list them."""
    tasks = f"/proc/{process}/task"  # pathlib is slower: this is done twice a test
    try:
        for thread in os.listdir(tasks):  # noqa: PTH208
            with open(f"{tasks}/{thread}/children") as children:  # noqa: PTH123
                yield from children.read().split()
    except OSError:
        return


def let_go() -> None:
    """Free the hubs that have ended, and give their memory back.

    aiohttp keeps the last 1,024 handlers that were asked, each with its application: the whole hub.
    glibc keeps what is freed below a block that is still used: a large tree's 150 MB, for example.
    """
    web_app._cached_build_middleware.cache_clear()
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


class Measuring:
    """Adds to each report how long processors worked for its phase, and how much of it is shared.

    It is registered in each process that runs tests.
    """

    def __init__(self) -> None:
        self._last = worked()
        self._shared = 0.0
        self._depth = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Keep the time of what several tests share."""
        if fixturedef.scope == "function" or self._depth:
            return (yield)
        self._depth, before = 1, worked()
        try:
            return (yield)
        finally:
            self._depth = 0
            self._shared += worked() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Write the time since the last report into this one."""
        report: Any = yield
        now = worked()
        report.worked, report.shared = now - self._last, self._shared
        report.in_default = not any(map(item.get_closest_marker, ("slow", "nightly")))
        self._last, self._shared = now, 0.0
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Begin to measure when all tests are imported."""
        self._last = worked()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell whoever has all reports how much memory this process took."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["peak"] = _peak()


class Times:
    """Sums and judges what was measured: in the process that has all reports."""

    def __init__(self, path: Path, judges: bool = True) -> None:
        self._path = path
        self._judges = judges
        self._tests: defaultdict[str, float] = defaultdict(float)
        self._default: set[str] = set()
        self._over: dict[str, float] = {}
        self._peaks: list[int] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take one report."""
        if not hasattr(report, "worked"):  # of a process that died
            return
        self._tests[report.nodeid] += report.worked
        if report.in_default:
            self._default.add(report.nodeid)
            if report.when != "teardown":  # the last of a module ends what its tests share
                own = self._over.get(report.nodeid, 0.0) + report.worked - report.shared
                self._over[report.nodeid] = own

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker says at its end."""
        self._peaks.append(getattr(node, "workeroutput", {}).get("peak", 0))

    def _faults(self) -> list[str]:
        if not self._judges:
            return []
        faults = [
            f"{test} took {spent:.1f} s of processors, a test without `slow` may take {MOST:.1f}"
            for test, spent in self._over.items()
            if spent > MOST
        ]
        spent = sum(self._tests[test] for test in self._default)
        if spent > MOST_OF_ALL:
            faults.append(
                f"the default tests took {spent:.0f} s of processors,"
                f" together they may take {MOST_OF_ALL:.0f}"
            )
        return faults

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Write the file, and let the session fail if a budget does not hold."""
        yield
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ordered = sorted(self._tests.items(), key=lambda one: -one[1])
        self._path.write_text("".join(f"{spent:.2f}\t{test}\n" for test, spent in ordered))
        if self._faults() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the sums, the longest tests, and what is beyond a budget."""
        folders: defaultdict[str, list[float]] = defaultdict(list)
        for test, spent in self._tests.items():
            folders["/".join(test.partition("::")[0].split("/")[:-1])].append(spent)
        terminalreporter.section("seconds of processors")
        for folder, all_spent in sorted(folders.items()):
            terminalreporter.line(f"{sum(all_spent):8.1f} {folder} ({len(all_spent)} tests)")
        default = sum(self._tests[test] for test in self._default)
        terminalreporter.line(f"{default:8.1f} of {sum(self._tests.values()):.1f} in default tests")
        peaks = ", ".join(f"{peak / 2**20:.0f}" for peak in self._peaks or [_peak()])
        terminalreporter.line(f"MiB that each process took at most: {peaks}")
        for test in sorted(self._tests, key=self._tests.__getitem__, reverse=True)[:LONGEST]:
            terminalreporter.line(f"{self._tests[test]:8.1f} {test}")
        for fault in self._faults():
            terminalreporter.line(f"ERROR: {fault}", red=True)


def _peak() -> int:
    """Return the most bytes of memory that this process had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
