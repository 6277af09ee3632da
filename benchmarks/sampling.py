"""Shares of a process's time, by samples of the main thread's stack.

A timer of the process's processor time interrupts the main thread. A sample belongs to the first
group with a file on the stack. What other threads work is sampled too, where the main thread is.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

INTERVAL = 0.001  # seconds of processor time
OTHER = "other"


class Sampler:
    """A sampler of the main thread; `groups` are parts of the files' paths, by name."""

    def __init__(self, groups: Mapping[str, Sequence[str]]) -> None:
        self._names = [*groups, OTHER]
        self._groups = list(groups.values())
        self._of_file: dict[str, int] = {}
        self._counts: Counter[str] = Counter()

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
        return {name: count / self._counts.total() for name, count in self._counts.most_common()}

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        found = len(self._groups)
        while frame is not None:
            found = min(found, self._place(frame.f_code.co_filename))
            frame = frame.f_back
        self._counts[self._names[found]] += 1

    def _place(self, path: str) -> int:
        """Return the place of a file's group, the number of groups where it has none."""
        place = self._of_file.get(path)
        if place is None:
            fits = (any(part in path for part in parts) for parts in self._groups)
            place = next((at for at, fit in enumerate(fits) if fit), len(self._groups))
            self._of_file[path] = place
        return place
