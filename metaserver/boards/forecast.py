"""Forecast of the time that a server needs for the rest of its queue, from its pace.

- *Pace*: n of its articles ended in t seconds of work, so that one takes t / n. t ends now, not
  with the last article: a server that hangs gets slower by itself.
- Where fewer than `LEAST` articles ended since the hub was started, *response times*: the mean of
  its last attempts, times the attempts an article took, over the requests that it takes at a time.
- With fewer attempts than that, there is no forecast.

The range holds the true time with about 95 %, if articles end at random (a Poisson process): the
logarithm of n articles' mean time has a deviation of 1 / sqrt(n), and that of the m articles that
are left adds 1 / sqrt(m). Real servers are more regular, so it is rather wide.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import msgspec

from metaserver.base.records import ServerName
from metaserver.base.states import ServerState
from metaserver.boards.snapshots import ServerStatus
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd

# -- pace of each server: how many of its articles ended in how much time of work ------------------
# The time of work is that in which a server is sent articles: waits for its answers, for back-
# offs, for a server that is down and for a turn are part of it, pauses are not. So the pace has in
# it all that slows a server down, without a model of any of it.

KEPT = 50
"""How many articles a pace is measured by: the last that ended."""


class MeasuredPace(NamedTuple):
    """A number of articles that ended within some seconds of work."""

    articles: int
    seconds: float


@dataclass(slots=True)
class Pace:
    """A server's last articles; moments are in its working seconds, `now` in Unix seconds."""

    ends: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    since: float = 0.0  # the end of the article before the first of them
    worked: float = 0.0  # up to `resumed`
    resumed: float | None = None  # while it is at work

    def work(self, now: float) -> float:
        """Return the working time so far."""
        if self.resumed is None:
            return self.worked
        return self.worked + max(0.0, now - self.resumed)  # a clock may be set back

    def turn(self, now: float, *, working: bool) -> None:
        """Record that the server is sent articles from now on, or that it is not."""
        if working and self.resumed is not None:
            return
        self.worked, self.resumed = self.work(now), now if working else None

    def ended(self, now: float) -> None:
        """Record an article's end: answered, or given up."""
        if len(self.ends) == KEPT:
            self.since = self.ends[0]
        self.ends.append(self.work(now))

    def measured(self, now: float) -> MeasuredPace:
        """Return the articles that ended last, and the time of work that they took until now."""
        return MeasuredPace(len(self.ends), self.work(now) - self.since)


class Paces:
    """A phase's server paces since the hub was started; `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._paces: defaultdict[ServerName, Pace] = defaultdict(Pace)

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Record a lane's event."""
        if isinstance(event, LaneChanged):
            self.turn(event.server.name, working=event.end in (None, LaneEnd.SLICE))
        elif event.decision.final:
            self.ended(event.server.name, self._clock())

    def turn(self, server: ServerName, *, working: bool) -> None:
        """Record that a server is sent articles from now on, or that it is not."""
        self._paces[server].turn(self._clock(), working=working)

    def ended(self, server: ServerName, at: float) -> None:
        """Record an article's end, at `at` by the sending machine's clock."""
        self._paces[server].ended(min(at, self._clock()))

    def measured(self, server: ServerName) -> MeasuredPace:
        """Return a server's pace as of now."""
        pace = self._paces.get(server)
        return MeasuredPace(0, 0.0) if pace is None else pace.measured(self._clock())


# -- forecast of the time that a server needs for the rest of its queue ----------------------------

LEAST = 8
"""Articles, or attempts, without which nothing is forecast."""
Z95 = 1.96
STOPPED = frozenset({ServerState.PAUSED, ServerState.SUSPENDED})


class ForecastBasis(StrEnum):
    """The measurements that a forecast is computed from."""

    PACE = "pace"  # articles that ended in a time of work
    TIMES = "times"  # response times of the last attempts


class Verdict(StrEnum):
    """A server's forecast held against the deadline."""

    LATE = "late"  # even the shortest time of the range is longer than what is left
    CLOSE = "close"  # the deadline is within the range
    UNKNOWN = "unknown"  # too few articles ended, or none was sent yet
    STOPPED = "stopped"  # it is sent no articles: its team or an organiser has paused it
    IN_TIME = "in_time"  # even the longest time of the range is short enough
    NO_DEADLINE = "no_deadline"  # the phase has no date to freeze
    FINISHED = "finished"  # its queue is empty


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds that a server needs for the rest of its queue, and their range (95 %).

    `articles` is the number of articles (or attempts, by `basis`) behind it.
    """

    seconds: float
    low: float
    high: float
    articles: int
    basis: ForecastBasis


def forecast(status: ServerStatus, pace: MeasuredPace) -> Forecast | None:
    """Return the forecast for a server; None if it is finished, or if there is too little data."""
    remaining = status.total - status.done - status.given_up
    if remaining <= 0:
        return None
    if pace.articles >= LEAST and pace.seconds > 0:
        seconds = remaining * pace.seconds / pace.articles
        return _ranged(seconds, pace.articles, remaining, ForecastBasis.PACE)
    if status.eta is not None and len(status.recent) >= LEAST:
        return _ranged(status.eta, len(status.recent), remaining, ForecastBasis.TIMES)
    return None


def _ranged(seconds: float, ended: int, remaining: int, basis: ForecastBasis) -> Forecast:
    factor = math.exp(Z95 * math.sqrt(1 / ended + 1 / remaining))
    return Forecast(
        seconds=seconds, low=seconds / factor, high=seconds * factor, articles=ended, basis=basis
    )


def verdict(status: ServerStatus, forecast: Forecast | None, time_left: float | None) -> Verdict:
    """Hold a forecast against the seconds that are left until the deadline (None: there is none).

    A server that is down is late or close by its pace, which falls as long as it is down.
    """
    if status.done + status.given_up >= status.total:
        return Verdict.FINISHED
    if status.state in STOPPED:
        return Verdict.STOPPED
    if forecast is None:
        return Verdict.UNKNOWN
    if time_left is None:
        return Verdict.NO_DEADLINE
    if forecast.low > time_left:
        return Verdict.LATE
    return Verdict.CLOSE if forecast.high > time_left else Verdict.IN_TIME
