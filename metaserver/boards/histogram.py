"""High dynamic range histogram for durations: bounded, mergeable, serialised as bytes.

Merging is exact: two parts' histograms merge to the whole's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

UNIT = 1e-4  # seconds; shorter durations count as one unit
LONGEST = 86_400.0  # seconds; longer durations count as this
DIGITS = 2  # significant decimal digits that are distinguished
WAITING = 512  # durations that wait to be counted together: the library is slow one by one
ACCURACY = 1 / 256  # relative: half of a bin's greatest width; below 128 units, half a unit
BARS_A_DECADE = 40  # the finest bars of a chart


def _empty() -> HdrHistogram:
    return HdrHistogram(1, round(LONGEST / UNIT), DIGITS, b64_wrap=False)


def _bounds() -> npt.NDArray[np.float64]:
    """Return the bins' lower bounds and the last upper bound, in seconds."""
    bins = _empty()
    return np.array([bins.get_value_from_index(i) for i in range(bins.counts_len + 1)]) * UNIT


_BOUNDS = _bounds()
_MIDDLES = (_BOUNDS[:-1] + _BOUNDS[1:]) / 2


class TimeHistogram:
    """A histogram for durations in seconds; a percentile is its bin's middle."""

    def __init__(self) -> None:
        self._filled: HdrHistogram | None = None  # until something is counted
        self._waiting: list[float] = []

    @property
    def total(self) -> int:
        """The number of durations counted."""
        return (int(self._filled.total_count) if self._filled else 0) + len(self._waiting)

    @property
    def _counted(self) -> HdrHistogram:
        if self._filled is None:
            self._filled = _empty()
        return self._filled

    def add(self, seconds: float) -> None:
        """Add a duration."""
        self._waiting.append(seconds)
        if len(self._waiting) >= WAITING:
            self._count()

    def _count(self) -> None:
        """Count the durations that wait."""
        counts, total = np.frombuffer(self._counted.counts, np.uint64), self.total
        seconds = np.clip(self._waiting, UNIT, LONGEST)
        counts += np.bincount(
            np.searchsorted(_BOUNDS, seconds, side="right") - 1, minlength=len(counts)
        ).astype(np.uint64)
        (filled,) = counts.nonzero()
        self._counted.set_internal_tacking_values(int(filled[0]), int(filled[-1]), total)
        self._waiting.clear()

    @property
    def _bins(self) -> HdrHistogram:
        """The library's histogram with all durations."""
        if self._waiting:
            self._count()
        return self._counted

    def merge(self, other: TimeHistogram) -> None:
        """Add another histogram's durations."""
        if not other.total:
            return
        self._bins.add(other._bins)

    def subtract(self, other: TimeHistogram) -> None:
        """Remove another histogram's durations, all of which were added before."""
        if not other.total:
            return
        difference = self.total - other.total
        if not difference:
            self._filled = None
            self._waiting.clear()
            return
        counts = self._counts()
        counts -= other._counts()
        (filled,) = counts.nonzero()
        self._counted.set_internal_tacking_values(int(filled[0]), int(filled[-1]), difference)

    def percentile(self, percent: float) -> float | None:
        """Return the duration that `percent` (0 to 100) of all do not exceed; None if empty."""
        return self.percentiles(percent)[0]

    def percentiles(self, *percents: float) -> Sequence[float | None]:
        """Return several percentiles, in hardly more time than a single percentile."""
        if not self.total:
            return [None] * len(percents)
        ranks = [max(1, math.ceil(self.total * percent / 100)) for percent in percents]
        seconds: list[float] = _MIDDLES[np.searchsorted(np.cumsum(self._counts()), ranks)].tolist()
        return seconds

    def shape(self, longest: float, bars: int = 28) -> tuple[Sequence[float], Sequence[int]]:
        """Return bar edges (seconds, evenly spaced logarithms) and counts for a chart.

        The bars begin at the shortest duration counted and end at `longest`; longer durations count
        in the last bar. Empty if nothing was counted.
        """
        if not self.total:
            return (), ()
        counts = self._counts()
        (filled,) = counts.nonzero()
        decades = max(math.log10(longest / _MIDDLES[filled[0]]), 0.0)
        step = max(1, math.ceil(decades * BARS_A_DECADE / bars)) / BARS_A_DECADE
        edges = longest * 10.0 ** (step * np.arange(-bars, 1))
        bar = np.clip(np.searchsorted(edges, _MIDDLES[filled], side="right") - 1, 0, bars - 1)
        return edges.tolist(), np.bincount(bar, counts[filled], bars).astype(int).tolist()

    def to_bytes(self) -> bytes:
        """Return the histogram in the HdrHistogram V2 compressed format."""
        return bytes(self._bins.encode())

    def add_bytes(self, packed: bytes) -> None:
        """Add the durations in a histogram serialised by `to_bytes`."""
        self._bins.decode_and_add(packed)

    @classmethod
    def from_bytes(cls, packed: bytes) -> TimeHistogram:
        """Return the histogram that `to_bytes` serialised."""
        histogram = cls()
        histogram.add_bytes(packed)
        return histogram

    def _counts(self) -> npt.NDArray[np.uint64]:
        """Return the counts by bin; the array shares the library's memory."""
        return np.frombuffer(self._bins.counts, np.uint64)
