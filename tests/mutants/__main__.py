"""Samples mutants of the core, tries each with the tests that run its line, and reports.

Exit status 1 when in a group fewer than 95 % are detected, those judged to be no fault left out.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tests.mutants import selection, trial
from tests.mutants.groups import GROUPS
from tests.mutants.judged import judged
from tests.mutants.report import table
from tests.mutants.sample import draw, of_group
from tests.mutants.trees import copy_tree
from tests.shared import ROOT

SEED = 12
JOBS = len(os.sched_getaffinity(0))
RESULTS = ROOT / ".cache" / "mutants" / "results.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _options().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    again = _survivors() if options.again else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
        trees = [copy_tree(folder, str(place)) for place in range(options.jobs)]
        sampled = [
            (name, mutant)
            for name, group in GROUPS.items()
            if not options.group or name in options.group
            for mutant in draw(of_group(group, trees[0]), options.size or group.size, options.seed)
            if (again is None or mutant.name in again) and options.only in mutant.name
        ]
        modules = {module for group in GROUPS.values() for module in group.modules}
        lines = selection.measured(trees[0], modules, options.jobs)
        libraries = trial.libraries(trees[0])
        workers = [stack.enter_context(trial.Worker(one, libraries)) for one in trees]
        status, _ = workers[0].run(sorted(lines.seconds), lines, "--collect-only")
        if status != 0:
            raise SystemExit("the tests cannot be collected without a mutant")
        results = trial.try_all(workers, sampled, lines, options.budget, _report)
        results = trial.checked(workers[0], results, lines)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    text, good = table(results, judged())
    print(text)
    return 0 if good else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample (default: {SEED})")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"mutants at a time ({JOBS})")
    parser.add_argument("--size", type=int, help="mutants a group (default: 55)")
    parser.add_argument("--group", action="append", choices=[*GROUPS], help="only this group")
    parser.add_argument("--only", default="", help="only mutants with this in their name")
    parser.add_argument("--again", action="store_true", help="only the last run's survivors")
    parser.add_argument(
        "--budget", type=float, default=30.0, help="seconds of tests a mutant, the fastest first"
    )
    return parser


def _survivors() -> set[str]:
    results = msgspec.json.decode(RESULTS.read_bytes(), type=list[trial.Result])
    return {result.name for result in results if result.end in ("survived", "not run")}


def _report(result: trial.Result) -> None:
    print(f"{result.end:9} {result.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
