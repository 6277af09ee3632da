"""High dynamic range histogram of durations: bounded, mergeable, serialised as bytes.

Merging is exact: the histogram of two parts is the histogram of the whole.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

UNIT = 1e-4  # seconds; shorter durations count as one unit
LONGEST = 86_400.0  # seconds; longer durations count as this
FINE = 256  # units below which each has its own bin; above, bins double in width
WAITING = 512  # durations that wait to be counted together
ACCURACY = 1 / FINE  # relative: half of a bin's greatest width; below 128 units, half a unit
BARS_A_DECADE = 40  # the finest bars of a chart


def _bounds() -> npt.NDArray[np.float64]:
    """Return the bins' lower bounds and the last upper bound, in seconds."""
    units, width = list(range(FINE)), 2
    while units[-1] * UNIT <= LONGEST:
        last = units[-1] // width * width + width
        units += range(last, last + FINE // 2 * width, width)
        width *= 2
    return np.array(units) * UNIT


_BOUNDS = _bounds()
_MIDDLES = (_BOUNDS[:-1] + _BOUNDS[1:]) / 2


class TimeHistogram:
    """A histogram for durations in seconds; a percentile is its bin's middle."""

    def __init__(self) -> None:
        self._filled: npt.NDArray[np.uint64] | None = None  # until something is counted
        self._counted = 0
        self._waiting: list[float] = []

    @property
    def total(self) -> int:
        """The number of durations counted."""
        return self._counted + len(self._waiting)

    def add(self, seconds: float) -> None:
        """Add a duration."""
        self._waiting.append(seconds)
        if len(self._waiting) >= WAITING:
            self._counts()

    def _counts(self) -> npt.NDArray[np.uint64]:
        """Return the counts by bin, with those of the durations that waited."""
        if self._filled is None:
            self._filled = np.zeros(len(_MIDDLES), np.uint64)
        if self._waiting:
            seconds = np.clip(self._waiting, UNIT, LONGEST)
            bins = np.searchsorted(_BOUNDS, seconds, side="right") - 1
            self._filled += np.bincount(bins, minlength=len(_MIDDLES)).astype(np.uint64)
            self._counted += len(self._waiting)
            self._waiting.clear()
        return self._filled

    def merge(self, other: TimeHistogram) -> None:
        """Add the durations of another histogram."""
        if other.total:
            counts = self._counts()
            counts += other._counts()
            self._counted += other._counted

    def subtract(self, other: TimeHistogram) -> None:
        """Remove the durations of another histogram, all of which were added before."""
        if not other.total:
            return
        counts = self._counts()
        counts -= other._counts()
        self._counted -= other._counted
        if not self._counted:
            self._filled = None

    def percentile(self, percent: float) -> float | None:
        """Return the duration that `percent` (0 to 100) of all do not exceed; None if empty."""
        return self.percentiles(percent)[0]

    def percentiles(self, *percents: float) -> Sequence[float | None]:
        """Return several percentiles, in hardly more time than one."""
        if not self.total:
            return [None] * len(percents)
        ranks = [max(1, math.ceil(self.total * percent / 100)) for percent in percents]
        seconds: list[float] = _MIDDLES[np.searchsorted(np.cumsum(self._counts()), ranks)].tolist()
        return seconds

    def shape(self, longest: float, bars: int = 28) -> tuple[Sequence[float], Sequence[int]]:
        """Return bar edges (seconds, evenly spaced logarithms) and counts for a chart.

        The bars begin at the shortest duration counted and end at `longest`; longer durations
        count in the last bar. Empty where nothing was counted.
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
        """Return the filled bins and their counts, compressed."""
        (filled,) = self._counts().nonzero()
        counts = self._counts()[filled]
        form = np.min_scalar_type(counts.max(initial=0)).newbyteorder("<")
        steps = np.diff(filled, prepend=0).astype("<u2")
        return form.char.encode() + zlib.compress(
            steps.tobytes() + counts.astype(form).tobytes(), 1
        )

    def add_bytes(self, packed: bytes) -> None:
        """Add the durations of a histogram serialised by `to_bytes`."""
        form, content = np.dtype(packed[:1].decode()).newbyteorder("<"), zlib.decompress(packed[1:])
        size = len(content) // (2 + form.itemsize)
        bins = np.frombuffer(content, "<u2", size).cumsum()
        added = np.frombuffer(content, form, size, offset=2 * size)
        self._counts()[bins] += added
        self._counted += int(added.sum())

    @classmethod
    def from_bytes(cls, packed: bytes) -> TimeHistogram:
        """Return the histogram that `to_bytes` serialised."""
        histogram = cls()
        histogram.add_bytes(packed)
        return histogram
