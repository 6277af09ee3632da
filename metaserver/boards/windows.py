"""Each server's measures over the last hour, day, week and month, kept in time buckets.

Attempts wait in a list and are counted into buckets together. A bucket is serialised: a month for
300 busy servers stays below 100 MB, an idle server takes almost nothing.
"""

from __future__ import annotations

import bisect
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

import msgspec

from metaserver.base.records import ServerName
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.measures import (
    UPTIME_STATES,
    Availability,
    Timing,
    Tips,
    UptimeState,
    availability,
    timings,
    tips,
)
from metaserver.boards.tally import EndedAttempt, Tally
from metaserver.boards.trends import ReadBuckets, Trend, uptime_by_day

WAITING = 1_000  # attempts of a server that are counted before the minute is over
RESTORED = 4_096  # attempts read from the store that are counted together
CHANGES = 20_000  # the most changes of a server between up, down and neither that are kept


class Window(StrEnum):
    """The time window before now."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"


@dataclass(frozen=True, slots=True)
class WindowSpan:
    """A window's length and its buckets' length, in seconds."""

    seconds: int
    bucket: int

    def start(self, at: float) -> int:
        """Return the start of a moment's bucket (Unix seconds)."""
        return int(at // self.bucket) * self.bucket

    def since(self, now: float) -> int:
        """Return the window's start: as many buckets as fit, the current one included."""
        return self.start(now) + self.bucket - self.seconds


SPANS: Mapping[Window, WindowSpan] = {  # a bucket consists of complete buckets of the one before
    Window.HOUR: WindowSpan(3_600, 60),
    Window.DAY: WindowSpan(86_400, 3_600),
    Window.WEEK: WindowSpan(7 * 86_400, 6 * 3_600),
    Window.MONTH: WindowSpan(30 * 86_400, 86_400),
}
FINEST, LONGEST = SPANS[Window.HOUR], SPANS[Window.MONTH]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerWindow:
    """A server's measures in a window.

    `since` and `until` (Unix seconds) bound the time counted: the window less at most one bucket.
    Of the `answered` articles `at_first` were answered at their first attempt.
    `throughput` is articles answered per minute in that time, from the server's first event on;
    None before. `times` has "total" and the phases that were reached, in seconds.
    """

    window: Window
    since: float
    until: float
    state: ServerState | None
    note: str
    outcomes: Mapping[Outcome, int]
    answered: int
    at_first: int
    given_up: int
    throughput: float | None
    times: Mapping[str, Timing]
    availability: Availability
    tips: Tips


class KeptWindows(msgspec.Struct, frozen=True, array_like=True):
    """A server's attempt measures, for a checkpoint.

    `first` is the time of the first attempt (Unix seconds), `buckets` has serialised tallies by
    window and start.
    """

    first: float
    buckets: dict[Window, dict[int, bytes]]


class Windows:
    """The servers' measures; `time_limit` is an article's, in seconds, `clock` gives Unix time."""

    def __init__(self, time_limit: float, *, clock: Callable[[], float] = time.time) -> None:
        self._time_limit = time_limit
        self._clock = clock
        self._servers: defaultdict[ServerName, _History] = defaultdict(_History)

    def attempt(self, server: ServerName, ended: EndedAttempt) -> None:
        """Record an ended attempt."""
        history = self._servers[server]
        if history.waiting and FINEST.start(ended.at) != FINEST.start(history.waiting[-1].at):
            self._count(history)
        history.waiting.append(ended)
        if len(history.waiting) >= WAITING:
            self._count(history)

    def restore(self, server: ServerName, attempts: Iterable[EndedAttempt]) -> None:
        """Record attempts read from the store, in any order."""
        history = self._servers[server]
        history.waiting.extend(attempts)
        if len(history.waiting) >= RESTORED:
            self._count(history)

    def state(self, server: ServerName, at: float, state: ServerState, note: str = "") -> None:
        """Record a state change at `at` (Unix seconds), in chronological order."""
        self._servers[server].change(at, state, note)

    def window(self, server: ServerName, window: Window) -> ServerWindow:
        """Return a server's present measures; empty for an unknown server."""
        history, span, now = self._servers.get(server, _History()), SPANS[window], self._clock()
        self._count(history)
        since = span.since(now)
        tally = Tally()
        for start, packed in history.buckets[window].items():
            if start >= since:
                tally.add_bytes(packed)
        minutes = (now - max(since, history.first)) / 60
        return ServerWindow(
            window=window,
            since=since,
            until=now,
            state=history.state,
            note=history.note,
            outcomes=dict(tally.outcomes),
            answered=tally.answered,
            at_first=tally.at_first,
            given_up=tally.given_up,
            throughput=tally.answered / minutes if minutes > 0 else None,
            times=timings(tally, self._time_limit),
            availability=availability(history.changes, since, now),
            tips=tips(tally),
        )

    def trend(self, server: ServerName, window: Window) -> Trend:
        """Return the course of a server's measures; empty for an unknown server."""
        history, span, now = self._servers.get(server, _History()), SPANS[window], self._clock()
        self._count(history)
        buckets = history.read[window]
        return Trend(
            bucket=span.bucket,
            moments=buckets.moments(history.buckets[window], span.since(now), span.bucket, now),
            days=uptime_by_day(history.changes, now),
        )

    def limit(self, seconds: float) -> None:
        """Change the time limit for an article; counted attempts keep the earlier limit."""
        for history in self._servers.values():
            self._count(history)
        self._time_limit = seconds

    def adopt(self, other: Windows, server: ServerName) -> None:
        """Take over a server's attempts from other windows, which are given up."""
        theirs = other._servers[server]
        other._count(theirs)
        history = self._servers[server]
        history.waiting.clear()
        history.buckets, history.first_attempt = theirs.buckets, theirs.first_attempt

    def dump(self, server: ServerName) -> KeptWindows:
        """Return a server's attempt measures, for `load`."""
        history = self._servers[server]
        self._count(history)
        buckets = {window: dict(buckets) for window, buckets in history.buckets.items()}
        return KeptWindows(history.first_attempt, buckets)

    def load(self, server: ServerName, stored: KeptWindows) -> None:
        """Set a server's attempt measures."""
        history = self._servers[server]
        history.forget_attempts()
        history.first_attempt = stored.first
        for window, buckets in stored.buckets.items():
            history.buckets[window].update(buckets)

    def _count(self, history: _History) -> None:
        if history.waiting:
            history.count(self._clock(), self._time_limit)


@dataclass(slots=True)
class _History:
    """A server's history; times are Unix seconds."""

    waiting: list[EndedAttempt] = field(default_factory=list)
    buckets: Mapping[Window, dict[int, bytes]] = field(
        default_factory=lambda: {window: {} for window in Window}
    )
    read: Mapping[Window, ReadBuckets] = field(
        default_factory=lambda: {window: ReadBuckets() for window in Window}
    )
    changes: list[tuple[float, UptimeState]] = field(default_factory=list)
    state: ServerState | None = None
    note: str = ""
    first_attempt: float = math.inf
    first_change: float = math.inf

    @property
    def first(self) -> float:
        """The time of its first event."""
        return min(self.first_attempt, self.first_change)

    def forget_attempts(self) -> None:
        self.waiting.clear()
        for buckets in self.buckets.values():
            buckets.clear()
        self.first_attempt = math.inf

    def change(self, at: float, state: ServerState, note: str) -> None:
        self.state, self.note = state, note
        self.first_change = min(self.first_change, at)
        uptime_state = UPTIME_STATES[state]
        if not self.changes or self.changes[-1][1] is not uptime_state:
            self.changes.append((at, uptime_state))
            index = bisect.bisect_right(
                self.changes, at - LONGEST.seconds, key=lambda change: change[0]
            )
            del self.changes[: max(index - 1, len(self.changes) - CHANGES, 0)]

    def count(self, now: float, time_limit: float) -> None:
        """Count the waiting attempts into the buckets of every window that contains them.

        Each is counted once, in its finest bucket; coarser buckets are merged from finer buckets.
        """
        fresh = self._fresh(now, time_limit)
        for finer, coarser in pairwise(SPANS):
            for start, tally in fresh[finer].items():
                fresh[coarser][SPANS[coarser].start(start)].merge(tally)
        for window, span in SPANS.items():
            _keep(self.buckets[window], fresh[window], span.since(now))

    def _fresh(self, now: float, time_limit: float) -> Mapping[Window, defaultdict[int, Tally]]:
        """Return the waiting attempts by the finest window that contains them, and by bucket."""
        fresh = {window: defaultdict[int, Tally](Tally) for window in Window}
        begins = [(span.since(now), window, span) for window, span in SPANS.items()]
        for ended in self.waiting:
            self.first_attempt = min(self.first_attempt, ended.at - ended.timings.total)
            for since, window, span in begins:
                if ended.at >= since:
                    fresh[window][span.start(ended.at)].add(ended, time_limit)
                    break
        self.waiting.clear()
        return fresh


def _keep(buckets: dict[int, bytes], fresh: Mapping[int, Tally], since: int) -> None:
    """Add new counts to the buckets, and drop buckets that are too old."""
    for start, tally in fresh.items():
        if start in buckets:
            tally.add_bytes(buckets[start])
        buckets[start] = tally.to_bytes()
    for start in [start for start in buckets if start < since]:
        del buckets[start]
