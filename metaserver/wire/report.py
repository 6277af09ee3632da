"""What is wrong with one answer: problems collected, each with its path."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from metaserver.model.records import Problem

MAX_PROBLEMS = 100


class Severity(IntEnum):
    """What follows from a problem, worst first."""

    SHAPE = 0  # the answer breaks the contract: the attempt fails
    HIT = 1  # the hit is dropped, the rest kept
    NOTE = 2  # nothing is lost: a value read as the agreed type, a member nobody scores


class Report:
    """Collects the problems of one answer: all counted, the first 100 of each severity kept."""

    def __init__(self) -> None:
        self.hits_sent = 0
        self._kept: tuple[list[Problem], ...] = tuple([] for _ in Severity)
        self._counts = [0 for _ in Severity]

    def add(self, severity: Severity, path: str, message: str) -> None:
        """Take one problem at `path`, as in `normalizations[3].rank`."""
        self._counts[severity] += 1
        if self._counts[severity] <= MAX_PROBLEMS:
            self._kept[severity].append(Problem(path=path, message=message))

    def shape(self, path: str, message: str) -> None:
        """Report a value that is not of the agreed type."""
        self.add(Severity.SHAPE, path, message)

    def hit(self, path: str, message: str) -> None:
        """Report why a hit is dropped; a hit may have several problems."""
        self.add(Severity.HIT, path, message)

    def note(self, path: str, message: str) -> None:
        """Report what the team should know and what costs nothing."""
        self.add(Severity.NOTE, path, message)

    def count(self, severity: Severity) -> int:
        """How many problems of this severity there are."""
        return self._counts[severity]

    @property
    def problem_count(self) -> int:
        """How many problems there are in all, kept or not."""
        return sum(self._counts)

    @property
    def problems(self) -> Sequence[Problem]:
        """The first 100 problems, worst first."""
        return [problem for kept in self._kept for problem in kept][:MAX_PROBLEMS]
