"""Runs pytest in a fresh child for each line of input: a mutant is written, its tests run here.

Third-party libraries are imported once, the project and its tests in each child: they are what is
changed. A child that takes too long is killed with all that it started.
"""

import importlib
import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

PROJECT = ("metaserver", "scoring", "annotators", "tests")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "--hypothesis-seed=0")
# Plug-ins that were imported before pytest began cannot have their assertions rewritten.
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def main() -> None:
    """Answer requests until the input ends."""
    replies = os.fdopen(os.dup(1), "w")
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    for line in sys.stdin:
        request = json.loads(line)
        if "preload" in request:
            reply: dict[str, Any] = {"loaded": _preload(request["preload"])}
        else:
            reply = _run(request["tests"], request["options"], request["limit"])
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def libraries() -> list[str]:
    """Return what the project has imported of others, in an order that can be imported again."""
    return [
        name
        for name, module in [*sys.modules.items()]
        if name.partition(".")[0] not in (*PROJECT, "__main__", "__mp_main__")
        and getattr(module, "__spec__", None) is not None
    ]


def _preload(names: list[str]) -> int:
    loaded = 0
    plugins = [entry.module for entry in entry_points(group="pytest11")]
    for name in (*names, "hypothesis.strategies", *plugins):
        with suppress(Exception):
            importlib.import_module(name)
            loaded += 1
    return loaded


class _Chosen:
    """Runs just these tests, in this order, and sends the names of those that fail.

    Not all names of tests can be given as arguments: pytest would split some of them.
    """

    def __init__(self, tests: list[str], write: int) -> None:
        self._tests = tests
        self._write = write

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(test.partition("::")[0] for test in self._tests))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        missing = [test for test in self._tests if test not in found]
        if missing:
            raise pytest.UsageError(f"there are no tests {missing}")
        items[:] = [found[test] for test in self._tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._write, report.nodeid.encode() + b"\n")


def _run(tests: list[str], options: list[str], limit: float) -> dict[str, Any]:
    """Return pytest's exit status (None: not within `limit` seconds) and which tests failed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(read)
        status = 99
        try:
            chosen = _Chosen(tests, write)
            status = int(pytest.main([*OPTIONS, *options, *chosen.files], [chosen]))
        finally:
            os._exit(status)
    os.close(write)
    status = _wait(child, limit)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what the tests have left behind
    with os.fdopen(read, "rb") as failed:
        os.set_blocking(failed.fileno(), False)
        names = failed.read() or b""
    return {"status": status, "failed": names.decode("utf-8", "replace").splitlines()}


def _wait(child: int, limit: float) -> int | None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    main()
