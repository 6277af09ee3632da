"""Tries mutants: each is written into a copy of the checkout, and its tests run there."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from tests.mutants.edits import Mutant
from tests.mutants.selection import Lines
from tests.mutants.trees import environment

End = Literal["detected", "timeout", "survived", "not run"]
GRACE = 10.0  # seconds for a test beside those that it takes by itself
SLOWER = 4.0  # times as long as by itself
FIRST = 30  # tests that run alone first: most mutants are detected by them


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a mutant: "not run" where no test runs its line; `test` is the one that failed."""

    group: str
    path: str
    line: int
    name: str
    end: End
    tests: int
    test: str = ""


class Worker:
    """A process that runs tests in one copy of the checkout (`worker`)."""

    def __init__(self, tree: Path, libraries: Sequence[str]) -> None:
        self.tree = tree
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.worker"],
            cwd=tree,
            env=environment(tree),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({"preload": list(libraries)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def try_mutant(self, mutant: Mutant, tests: Sequence[str], lines: Lines) -> tuple[End, str]:
        """Return how a mutant fares, and which test failed; the first few tests run alone first."""
        file = self.tree / mutant.path
        text = file.read_text("utf-8")
        try:
            file.write_text(mutant.applied(text), "utf-8")
            for some in filter(None, (tests[:FIRST], tests[FIRST:])):
                status, failed = self.run(some, lines)
                if status != 0:  # a failure, or what is no more a program that can be tested
                    return "timeout" if status is None else "detected", "".join(failed[:1])
        finally:
            file.write_text(text, "utf-8")
        return "survived", ""

    def run(
        self, tests: Sequence[str], lines: Lines, *options: str
    ) -> tuple[int | None, Sequence[str]]:
        """Return pytest's exit status (None: out of time), and which tests failed."""
        seconds = lines.times(tests)
        request = {
            "tests": list(tests),
            "options": [f"--timeout={GRACE + SLOWER * max(seconds):.0f}", *options],
            "limit": 6 * GRACE + 2 * SLOWER * sum(seconds),
        }
        reply = self._ask(request)
        return reply["status"], reply["failed"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply


def libraries(tree: Path) -> list[str]:
    """Return what the project's core imports of others."""
    code = (
        "import metaserver.cli.serve, metaserver.cli.catalogue, scoring.cli\n"
        "import aiohttp.test_utils, json\n"
        "from tests.mutants.worker import libraries\n"
        "print(json.dumps(libraries()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env=environment(tree),
        check=True,
        capture_output=True,
    )
    names: list[str] = json.loads(found.stdout)
    return names


def try_all(
    workers: Sequence[Worker],
    sampled: Iterable[tuple[str, Mutant]],
    lines: Lines,
    budget: float,
    report: Callable[[Result], None],
) -> list[Result]:
    """Try mutants, each with a worker that is free."""
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def one(group: str, mutant: Mutant) -> Result:
        tests = lines.choose(mutant, budget)
        end: End = "not run"
        test = ""
        if tests:
            worker = free.get()
            try:
                end, test = worker.try_mutant(mutant, tests, lines)
            finally:
                free.put(worker)
        result = Result(
            group=group,
            path=mutant.path,
            line=mutant.first,
            name=mutant.name,
            end=end,
            tests=len(tests),
            test=test,
        )
        report(result)
        return result

    pool = ThreadPoolExecutor(len(workers))
    try:
        return list(pool.map(lambda pair: one(*pair), sampled))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def checked(worker: Worker, results: Sequence[Result], lines: Lines) -> list[Result]:
    """Return the results; what was detected by a test that fails by itself has survived."""
    tests = sorted({result.test for result in results if result.test})
    if not tests:
        return list(results)
    _, failed = worker.run(tests, lines, "--maxfail=0")
    for test in failed:
        print(f"fails without a mutant: {test}")
    return [
        msgspec.structs.replace(one, end="survived") if one.test in failed else one
        for one in results
    ]
