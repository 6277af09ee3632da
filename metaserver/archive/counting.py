"""How far an archive is, while it is written or read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from metaserver.phases.jobs import Progress

COUNTED = 100
"""Rows between two looks at how far the archive is."""

Told: TypeAlias = Callable[[Progress], None]
"""Called now and then with how far the archive is."""


def untold(_: Progress) -> None:
    """Do nothing."""


class Counted:
    """Counts what is written or read, and tells of it now and then."""

    def __init__(self, progress: Progress, told: Told) -> None:
        self._progress = progress
        self._told = told

    def begin(self, step: str, total: int = 0) -> None:
        """Begin the next step; `total` is 0 where nobody knows it."""
        self._progress.begin(step, total)
        self._told(self._progress)

    def count(self, rows: int = 1) -> None:
        """Count rows of the step."""
        before = self._progress.done // COUNTED
        self._progress.advance(rows)
        if self._progress.done // COUNTED > before:
            self._told(self._progress)
