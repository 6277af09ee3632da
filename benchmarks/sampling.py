"""Shares of a process's time, by samples of the main thread's stack.

A timer of the processor time interrupts the main thread, so that waiting is not sampled. A sample
counts for the first of the groups that a frame belongs to, from the innermost frame outwards.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

INTERVAL = 0.001  # seconds of processor time


class Sampler:
    """A sampler of the main thread; `groups` are parts of files' paths by the group's name."""

    def __init__(self, groups: Mapping[str, tuple[str, ...]]) -> None:
        self._groups = groups
        self._of_file: dict[str, str | None] = {}
        self.counts: Counter[str] = Counter()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take samples while the context lasts; only in the main thread."""
        earlier = signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, earlier)

    def shares(self) -> Mapping[str, float]:
        """Return each group's share of the samples, the largest first."""
        total = sum(self.counts.values()) or 1
        return {name: count / total for name, count in self.counts.most_common()}

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            name = self._group(frame.f_code.co_filename)
            if name is not None:
                self.counts[name] += 1
                return
            frame = frame.f_back
        self.counts["other"] += 1

    def _group(self, path: str) -> str | None:
        if path not in self._of_file:
            found = (name for name, parts in self._groups.items() if any(p in path for p in parts))
            self._of_file[path] = next(found, None)
        return self._of_file[path]
