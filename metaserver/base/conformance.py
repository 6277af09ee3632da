"""Results of a conformance run, as they are stored and shown: JSON-ready, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from metaserver.base.phases import label_of
from metaserver.base.records import Problem
from metaserver.base.states import Outcome

NO_PHASE = ""
"""The phase name for a run made before any phase was planned."""


class StepState(StrEnum):
    """A step's result."""

    PASSED = "passed"
    WARNING = "warning"  # the queue is open; the team should know of it
    FAILED = "failed"  # the queue is closed
    SKIPPED = "skipped"  # not applicable, or useless after an earlier failure


class ConformanceStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step: its name, its result, its duration and its problems.

    `seconds` is None if nothing was timed. `problems` are the first 100 of `problem_count`.
    `outcome` is the attempt's, None for a step that is no attempt. `raw` is the received answer's
    beginning, as text.
    """

    name: str
    state: StepState
    seconds: float | None = None
    message: str = ""
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    outcome: Outcome | None = None
    raw: str = ""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The phase that a test is for, and the phase's settings that the test depends on.

    `phase` is empty if no phase is planned, `release` if accessions are checked by their form
    alone. `tasks` are the server's tasks, `timeout` is in seconds per article.
    """

    phase: str
    tasks: tuple[str, ...]
    release: str
    timeout: float
    answer_bytes: int

    def words(self, label: str = "") -> str:
        """Return the terms on a single line; `label` is how people know the phase."""
        checked = f"UniProt release {self.release}" if self.release else "accessions by their form"
        phase = f"For {label_of(self.phase, label)}" if self.phase else "Without a phase"
        parts = (
            f"{phase}: {', '.join(self.tasks) or 'no task'}",
            checked,
            f"{self.timeout:g} s per article",
            f"answers up to {self.answer_bytes:,} bytes",
        )
        return " · ".join(parts)

    def changes(self, tested: Terms) -> Sequence[str]:
        """Return the differences that an earlier test does not cover; empty if it covers all."""
        differences = []
        if more := [task for task in self.tasks if task not in tested.tasks]:
            differences.append(f"it is asked for {', '.join(more)} too")
        if self.release != tested.release:
            differences.append(f"accessions are checked by {self.release}, not by {tested.release}")
        if self.timeout < tested.timeout:
            differences.append(f"{self.timeout:g} s an article instead of {tested.timeout:g} s")
        if self.answer_bytes < tested.answer_bytes:
            differences.append(
                f"{self.answer_bytes:,} bytes an answer instead of {tested.answer_bytes:,}"
            )
        return differences


class ConformanceVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A test's result without its steps: `at` in Unix seconds, `reasons` of a failure."""

    terms: Terms
    at: float
    passed: bool
    reasons: tuple[str, ...]


class Conformance(msgspec.Struct, frozen=True, kw_only=True):
    """A complete run; `url` is the server's address without path and secrets, `at` Unix seconds.

    `terms` are None if it was made for no phase or settings.
    """

    url: str
    at: float
    passed: bool
    terms: Terms | None = None
    steps: tuple[ConformanceStep, ...]

    def reasons(self) -> Sequence[str]:
        """Return the reasons for refusing the server, a line for each failed step."""
        return [
            f"{step.name}: {' '.join(step.message.split())}"
            for step in self.steps
            if step.state is StepState.FAILED
        ]


def skipped(name: str, reason: str) -> ConformanceStep:
    """Return a skipped step with the reason."""
    return ConformanceStep(name=name, state=StepState.SKIPPED, message=reason)


def passed(name: str, message: str) -> ConformanceStep:
    """Return a passed step."""
    return ConformanceStep(name=name, state=StepState.PASSED, message=message)


def warned(name: str, message: str, outcome: Outcome | None = None) -> ConformanceStep:
    """Return a step with a warning; `outcome` is that of the attempt, if it was one."""
    return ConformanceStep(name=name, state=StepState.WARNING, message=message, outcome=outcome)
