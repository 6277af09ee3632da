"""Counts what an origin did lately, with bounded memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

ORIGINS = 10_000
"""The most origins that are remembered: those unseen for longest are forgotten first."""


class RecentCounts:
    """How often each origin did something: at most `limit` times within `seconds`."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most = limit
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def take(self, origin: Hashable) -> float:
        """Count once and return 0.0; or count nothing and return the seconds to wait."""
        now, times = self._clock(), self._known.setdefault(origin, deque())
        self._known.move_to_end(origin)
        if len(self._known) > ORIGINS:
            self._known.popitem(last=False)
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if len(times) >= self._most:
            return max(1.0, times[0] + self._seconds - now)
        times.append(now)
        return 0.0
