"""The tests that run a line, and the time of each: from a run under coverage, kept between runs.

Only what has changed is measured again: changed test files, and those whose tests run a changed
module. A change of what tests share (fakes, fixtures) measures all again.
"""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import coverage
import msgspec

from tests.mutants.edits import Mutant
from tests.mutants.trees import environment
from tests.shared import ROOT

SUITES = ("tests/unit", "tests/properties", "tests/golden", "tests/integration")
KEPT = ROOT / ".cache" / "mutants" / "lines.json"


class Lines(msgspec.Struct):
    """The tests that run each line of the sampled modules, and the seconds each test takes."""

    files: dict[str, str] = msgspec.field(default_factory=dict)  # digests
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    tests: dict[str, dict[int, list[str]]] = msgspec.field(default_factory=dict)

    def choose(self, mutant: Mutant, budget: float) -> list[str]:
        """Return the fastest tests that run the mutated line, within a time in all.

        Of what runs as the module is imported no test is seen to run it: those of its scope, or
        else of the module, are taken. First come the test files that run most of the module.
        """
        by_line = self.tests.get(mutant.path, {})
        for first, last in (mutant.lines, mutant.around, (1, max(by_line, default=0))):
            found = {test for line in range(first, last + 1) for test in by_line.get(line, ())}
            if found:
                break
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda one: (self.seconds[one], one)):
            spent += self.seconds[test]
            if chosen and spent > budget:
                break
            chosen.append(test)
        reach = Counter(
            file for tests in by_line.values() for file in {_file(test) for test in tests}
        )
        return sorted(chosen, key=lambda one: (-reach[_file(one)], _file(one), self.seconds[one]))

    def times(self, tests: Iterable[str]) -> list[float]:
        """Return how many seconds each test takes."""
        return [self.seconds[test] for test in tests]


def measured(tree: Path, modules: Iterable[str], jobs: int) -> Lines:
    """Return what runs each line of the modules, from the last run where nothing has changed."""
    modules = sorted(modules)
    lines = msgspec.json.decode(KEPT.read_bytes(), type=Lines) if KEPT.exists() else Lines()
    now = _digests(tree, modules)
    stale = _stale(lines, now, modules)
    _forget(lines, stale | ({_file(test) for test in lines.seconds} - now.keys()))
    if stale:
        print(f"measuring which tests run which lines: {len(stale)} test files", flush=True)
        _measure(lines, tree, modules, stale, jobs)
    lines.files = now
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_bytes(msgspec.json.encode(lines))
    return lines


def _digests(tree: Path, modules: Iterable[str]) -> dict[str, str]:
    files = [tree / module for module in modules]
    tests = tree / "tests"
    files += [path for path in tests.rglob("*.py") if tests / "mutants" not in path.parents]
    return {
        str(path.relative_to(tree)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def _file(test: str) -> str:
    return test.partition("::")[0]


def _is_test_file(file: str) -> bool:
    return file.startswith(SUITES) and Path(file).name.startswith("test_")


def _stale(lines: Lines, now: Mapping[str, str], modules: Iterable[str]) -> set[str]:
    every = {file for file in now if _is_test_file(file)}
    changed = {
        file for file in now.keys() | lines.files.keys() if now.get(file) != lines.files.get(file)
    }
    others = {file for file in changed if file.startswith(SUITES) and not _is_test_file(file)}
    if not lines.files or others or set(lines.tests) != set(modules):
        return every
    running = {
        _file(test)
        for module in changed & set(modules)
        for tests in lines.tests[module].values()
        for test in tests
    }
    return (changed | running) & every


def _forget(lines: Lines, stale: set[str]) -> None:
    def kept(test: str) -> bool:
        return _file(test) not in stale

    lines.seconds = {test: spent for test, spent in lines.seconds.items() if kept(test)}
    lines.tests = {
        module: {line: [test for test in tests if kept(test)] for line, tests in by_line.items()}
        for module, by_line in lines.tests.items()
    }


def _measure(lines: Lines, tree: Path, modules: list[str], files: set[str], jobs: int) -> None:
    folder = tree.parent
    settings, data, times = folder / "coveragerc", folder / "coverage", folder / "times.json"
    included = "\n    ".join(str(tree / module) for module in modules)
    settings.write_text(f"[run]\ndata_file = {data}\ninclude =\n    {included}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "--dist", "loadfile"]
    command += ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    command += ["-p", "tests.mutants.timing", *sorted(files)]
    outcome = subprocess.run(
        command,
        cwd=tree,
        env=environment(tree) | {"MUTANTS_TIMES": str(times)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if outcome.returncode not in (0, 1, 5):
        raise SystemExit(f"the tests could not be run:\n{outcome.stdout[-4000:]}")
    if outcome.returncode == 1:
        print(f"some tests fail without a mutant, and are left out:\n{outcome.stdout[-2000:]}")
    lines.seconds |= json.loads(times.read_text("utf-8"))
    found = coverage.CoverageData(str(data))
    found.read()
    for module in modules:
        by_line = lines.tests.setdefault(module, {})
        for line, contexts in found.contexts_by_lineno(str(tree / module)).items():
            tests = {context.rpartition("|")[0] for context in contexts} & lines.seconds.keys()
            by_line[line] = sorted({*by_line.get(line, ()), *tests})
    data.unlink()
