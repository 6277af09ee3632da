"""A pytest plug-in that writes down how long each test took, and whether it passed.

The report goes to the file that `MUTANTS_TIMES` names.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_times: defaultdict[str, float] = defaultdict(float)
_unfit: set[str] = set()  # failed or skipped: they detect nothing


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the time of a test's set-up, call or tear-down."""
    _times[report.nodeid] += report.duration
    if not report.passed:
        _unfit.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report; of several processes only the one that has all tests does."""
    if not hasattr(session.config, "workerinput"):
        kept = {test: spent for test, spent in _times.items() if test not in _unfit}
        Path(os.environ["MUTANTS_TIMES"]).write_text(json.dumps(kept), "utf-8")
