"""What a conformance run found, as it is kept and shown: JSON-ready, a step after another."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from metaserver.lifecycle import Outcome
from metaserver.records import Problem


class StepState(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    WARNING = "warning"  # the queue is open all the same; the team should know
    FAILED = "failed"  # the queue is closed
    SKIPPED = "skipped"  # not asked for, or of no use after what failed before


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what was tried, the seconds it took, and what was wrong.

    `seconds` is None where nothing was timed. `problems` are the first 100 of `problem_count`.
    `outcome` is that of the attempt, None for a step that is not an attempt of its own. `raw` is
    the beginning of the answer as it came, as text.
    """

    name: str
    state: StepState
    seconds: float | None = None
    message: str = ""
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    outcome: Outcome | None = None
    raw: str = ""


class Conformance(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. `url` is the server's address without path and secrets, `at` Unix seconds."""

    url: str
    at: float
    passed: bool
    steps: tuple[Step, ...]

    def reasons(self) -> Sequence[str]:
        """Return why the server is refused, a line a failed step; empty where it passed."""
        return [
            f"{step.name}: {' '.join(step.message.split())}"
            for step in self.steps
            if step.state is StepState.FAILED
        ]


def skipped(name: str, why: str) -> Step:
    """Return a step that was not taken."""
    return Step(name=name, state=StepState.SKIPPED, message=why)
