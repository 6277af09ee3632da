"""The problems in an answer, each with its path."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from metaserver.base.records import Problem

MAX_PROBLEMS = 100


class Severity(IntEnum):
    """What a problem costs, worst first."""

    SHAPE = 0  # the answer breaks the contract: the attempt fails
    HIT = 1  # the hit is dropped, the rest kept
    NOTE = 2  # nothing is lost: a value read as the agreed type, a member that is not scored


class Report:
    """The problems in an answer: all counted, the first 100 of each severity kept."""

    def __init__(self) -> None:
        self.hits_sent = 0
        self._kept: tuple[list[Problem], ...] = ([], [], [])  # by severity
        self._counts = [0, 0, 0]

    def add(self, severity: Severity, path: str, message: str) -> None:
        """Add a problem at `path`, such as `normalizations[3].rank`."""
        self._counts[severity] += 1
        if self._counts[severity] <= MAX_PROBLEMS:
            self._kept[severity].append(Problem(path=path, message=message))

    def shape(self, path: str, message: str) -> None:
        """Report a wrongly typed value."""
        self.add(Severity.SHAPE, path, message)

    def hit(self, path: str, message: str) -> None:
        """Report a problem that drops a hit; a hit may have several."""
        self.add(Severity.HIT, path, message)

    def note(self, path: str, message: str) -> None:
        """Report a note for the team that costs nothing."""
        self.add(Severity.NOTE, path, message)

    def count(self, severity: Severity) -> int:
        """Return the number of problems with this severity."""
        return self._counts[severity]

    @property
    def problem_count(self) -> int:
        """The number of all problems, kept or not."""
        return sum(self._counts)

    @property
    def problems(self) -> Sequence[Problem]:
        """The first 100 problems, worst first."""
        return [problem for by_severity in self._kept for problem in by_severity][:MAX_PROBLEMS]
