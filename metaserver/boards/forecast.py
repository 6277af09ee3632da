"""Forecast of the time that a server needs for the rest of its queue.

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
from enum import StrEnum

import msgspec

from metaserver.base.states import ServerState
from metaserver.boards.pace import MeasuredPace
from metaserver.boards.snapshots import ServerStatus

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

    `articles` is the number of articles (or attempts, by `basis`) that it is computed from.
    """

    seconds: float
    low: float
    high: float
    articles: int
    basis: ForecastBasis


def forecast(status: ServerStatus, pace: MeasuredPace) -> Forecast | None:
    """Return the forecast for a server; None where it is finished, or too little is known."""
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
