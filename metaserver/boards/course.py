"""The course of attempts over all of a phase's time, in a few intervals whose length grows with it.

Intervals are of 1 s, 2 s, 4 s and so on, aligned to the clock: the shortest of which 64
suffice. So the course of two parts is the whole's course, in whatever order it was counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from metaserver.base.states import ANSWERED, Outcome
from metaserver.boards.tally import NO_RESPONSE
from metaserver.boards.trends import Moment

MOST = 64
"""Intervals, at most."""
SHORTEST = 1
"""The minimum seconds per interval."""
ANSWERS, PARTIAL, ERRORS = range(3)
"""An interval's count columns; its time columns follow."""
TIMES = 3
FINEST = 1e-3  # seconds: shorter times count as this
AN_OCTAVE = 4  # bins of times: a percentile is within a tenth of its true value
BINS = 27 * AN_OCTAVE  # up to a day and a half

Counts = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, slots=True)
class CourseReading:
    """A course's moments, `seconds` long each, from the first attempt to the last."""

    seconds: int = SHORTEST
    moments: Sequence[Moment] = ()


class KeptCourse(msgspec.Struct, frozen=True, array_like=True):
    """A course for a checkpoint: intervals take `SHORTEST` seconds, doubled `level` times."""

    level: int = 0
    counts: dict[int, bytes] = {}


class AttemptCourse:
    """Attempt counts by interval, which merge and can be subtracted again."""

    def __init__(self) -> None:
        self._level = 0
        self._counts: dict[int, Counts] = {}  # by number of the interval, from the epoch on

    def add(self, at: float, outcome: Outcome, seconds: float) -> None:
        """Count an attempt that ended at `at` (Unix seconds) and took so many seconds."""
        if outcome is Outcome.CANCELLED:
            return
        counts = self._interval(int(at // SHORTEST) >> self._level)
        counts[ANSWERS if outcome in ANSWERED else ERRORS] += 1
        if outcome is Outcome.PARTIAL:
            counts[PARTIAL] += 1
        if outcome not in NO_RESPONSE:
            place = int(AN_OCTAVE * math.log2(max(seconds, FINEST) / FINEST))
            counts[TIMES + min(place, BINS - 1)] += 1

    def merge(self, other: AttemptCourse) -> None:
        """Add another course's counts."""
        while self._level < other._level:
            self._widen()
        for number, counts in other._counts.items():
            interval = self._interval(number >> self._level - other._level)
            interval += counts

    def subtract(self, other: AttemptCourse) -> None:
        """Remove another course's counts, all of which were added before."""
        for number, counts in other._counts.items():
            mine = number >> self._level - other._level
            self._counts[mine] -= counts
            if not self._counts[mine].any():
                del self._counts[mine]

    def _interval(self, number: int) -> Counts:
        """Return an interval's counts, numbered at the present level; it may be widened."""
        if number not in self._counts:
            self._counts[number] = np.zeros(TIMES + BINS, np.uint32)
            while max(self._counts) - min(self._counts) >= MOST:
                self._widen()
                number >>= 1
        return self._counts[number]

    def _widen(self) -> None:
        """Make the intervals twice as long."""
        finer, self._counts = self._counts, {}
        self._level += 1
        for number, counts in finer.items():
            total = self._counts.setdefault(number >> 1, counts)
            if total is not counts:
                total += counts

    def dump(self) -> KeptCourse:
        """Return the course for a checkpoint."""
        counts = {
            number: array.astype("<u4").tobytes() for number, array in sorted(self._counts.items())
        }
        return KeptCourse(self._level, counts)

    @classmethod
    def load(cls, stored: KeptCourse) -> AttemptCourse:
        """Return the course that `dump` returned."""
        course = cls()
        course._level = stored.level
        course._counts = {
            number: np.frombuffer(packed, "<u4").astype(np.uint32)
            for number, packed in stored.counts.items()
        }
        return course

    def read(self) -> CourseReading:
        """Return the present moments, those without an attempt too."""
        if not self._counts:
            return CourseReading()
        numbers = range(min(self._counts), max(self._counts) + 1)
        nothing = np.zeros(TIMES + BINS, np.uint32)
        counts = np.stack([self._counts.get(number, nothing) for number in numbers])
        seconds = SHORTEST << self._level
        p50, p95 = (_percentiles(counts[:, TIMES:], percent) for percent in (50, 95))
        moments = [
            Moment(
                start=float(number * seconds),
                answered=int(row[ANSWERS]),
                partial=int(row[PARTIAL]),
                errors=int(row[ERRORS]),
                p50=half,
                p95=p95_seconds,
            )
            for number, row, half, p95_seconds in zip(numbers, counts, p50, p95, strict=True)
        ]
        return CourseReading(seconds=seconds, moments=moments)


def _percentiles(times: Counts, percent: float) -> Sequence[float | None]:
    """Return each row's percentile, in seconds: its bin's middle."""
    below = np.cumsum(times, axis=1)
    totals = below[:, -1]
    ranks = np.maximum(np.ceil(totals * percent / 100), 1)
    places = (below < ranks[:, None]).sum(axis=1)
    return [
        FINEST * 2.0 ** ((place + 0.5) / AN_OCTAVE) if total else None
        for place, total in zip(places.tolist(), totals.tolist(), strict=True)
    ]
