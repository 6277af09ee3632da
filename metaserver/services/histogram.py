"""Response times counted in logarithmic bins: bounded memory, mergeable, percentiles to 3 %."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

BINS_A_DECADE = 40
SHORTEST = 1e-4  # seconds; all that is shorter is in the first bin


class TimeHistogram:
    """Counts of durations in seconds; a percentile is the geometric middle of its bin."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.total = 0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[_bin(seconds)] += 1
        self.total += 1

    def merge(self, other: TimeHistogram) -> None:
        """Count all that the other has counted."""
        self._counts += other._counts
        self.total += other.total

    def percentile(self, percent: float) -> float | None:
        """Return the duration that `percent` (0 to 100) of all do not pass; None if empty."""
        rank = max(1, math.ceil(self.total * percent / 100))
        for index in sorted(self._counts):
            rank -= self._counts[index]
            if rank <= 0:
                return SHORTEST * 10 ** ((index + 0.5) / BINS_A_DECADE)
        return None

    def shape(self, longest: float, bars: int = 28) -> tuple[Sequence[float], Sequence[int]]:
        """Return bar edges (seconds, evenly spaced logarithms) and counts for a picture.

        The bars end at `longest`, whatever is above it counts in the last; they begin at the
        shortest duration there is. Empty where nothing was counted.
        """
        if not self._counts:
            return (), ()
        last = _bin(longest)
        first = min(min(self._counts), last - bars)
        step = -(-(last - first) // bars)
        counts = [0] * bars
        for index, count in self._counts.items():
            counts[max(0, min(bars - 1, bars - 1 - (last - 1 - index) // step))] += count
        edges = [
            SHORTEST * 10 ** ((last - (bars - bar) * step) / BINS_A_DECADE)
            for bar in range(bars + 1)
        ]
        return edges, counts


def _bin(seconds: float) -> int:
    return max(0, math.floor(math.log10(max(seconds, SHORTEST) / SHORTEST) * BINS_A_DECADE))
