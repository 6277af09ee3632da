"""Progress of an archive while it is written or read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from metaserver.phases.jobs import Progress

REPORT_ROWS = 100
"""The number of rows between two reports of the progress."""

OnProgress: TypeAlias = Callable[[Progress], None]
"""A function called from time to time with the progress."""


def ignore_progress(_: Progress) -> None:
    """Ignore the progress."""


class RowCounter:
    """A counter of the rows written or read, which reports the progress from time to time."""

    def __init__(self, progress: Progress, on_progress: OnProgress) -> None:
        self._progress = progress
        self._on_progress = on_progress

    def begin(self, step: str, total: int = 0) -> None:
        """Begin the next step; `total` is 0 where it is unknown."""
        self._progress.begin(step, total)
        self._on_progress(self._progress)

    def count(self, rows: int = 1) -> None:
        """Count rows of the step."""
        before = self._progress.done // REPORT_ROWS
        self._progress.advance(rows)
        if self._progress.done // REPORT_ROWS > before:
            self._on_progress(self._progress)
