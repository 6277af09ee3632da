"""A server's measures in a time window: pure functions.

The TIPS measures come from BeCalm's track "Technical interoperability and performance of annotation
servers": M. Pérez-Pérez et al., "Next generation community assessment of biomedical entity
recognition web servers", J. Cheminform. 11:42 (2019), tables 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from metaserver.base.states import ServerState
from metaserver.boards.histogram import TimeHistogram
from metaserver.boards.tally import TOTAL, Tally


class UptimeState(Enum):
    """What a server's state means for its uptime."""

    UP = "up"
    DOWN = "down"
    NEITHER = "neither"  # no requests were due: paused, suspended, not begun, finished


UPTIME_STATES: Mapping[ServerState, UptimeState] = {
    ServerState.WAITING: UptimeState.NEITHER,
    ServerState.UP: UptimeState.UP,
    ServerState.SLOW: UptimeState.UP,
    ServerState.DOWN: UptimeState.DOWN,
    ServerState.PAUSED: UptimeState.NEITHER,
    ServerState.SUSPENDED: UptimeState.NEITHER,
    ServerState.FINISHED: UptimeState.NEITHER,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A percentile of a duration, in seconds; `at_least`: the time limit cut the true value."""

    seconds: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'≥ ' if self.at_least else ''}{self.seconds:.3g} s"


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Percentiles over `count` durations, of which `censored` were cut by the time limit."""

    count: int
    censored: int
    p50: Reading
    p95: Reading
    p99: Reading


@dataclass(frozen=True, kw_only=True, slots=True)
class Availability:
    """A server's availability; times in seconds.

    `up`, `down`, `neither` and `unknown` (before its first state) add up to the window. A failure
    is a change to down, a repair the change to up that follows; only changes within the window
    count.
    """

    up: float = 0.0
    down: float = 0.0
    neither: float = 0.0
    unknown: float = 0.0
    failures: int = 0
    repairs: int = 0
    up_before_failures: float = 0.0
    down_before_repairs: float = 0.0

    @property
    def uptime(self) -> float | None:
        """Share of the time up in the time up or down, 0 to 1; None if it was neither."""
        return _ratio(self.up, self.up + self.down)

    @property
    def mtbf(self) -> float | None:
        """Mean time between failures (s): mean time up before a failure. None without failures."""
        return _ratio(self.up_before_failures, self.failures)

    @property
    def mttr(self) -> float | None:
        """Mean time to repair (s): mean time down before a repair. None without repairs."""
        return _ratio(self.down_before_repairs, self.repairs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tips:
    """The TIPS means; None if the divisor is zero.

    A response is an answer with valid hits, or an answer that correctly had none. `censored` calls
    timed out: they are no responses, but their time limit and their article count in the times,
    which are lower bounds then.
    """

    responses: int
    censored: int
    mad: float | None
    mtdv_seconds_per_byte: float | None
    mtdv_bytes_per_second: float | None
    mtsa: float | None
    art: float | None


def timings(tally: Tally, time_limit: float) -> Mapping[str, Timing]:
    """Return the percentiles, in seconds, for the total and for each phase that was reached."""
    return {
        name: _timing(times, tally.censored[name], time_limit if name == TOTAL else None)
        for name, times in tally.times.items()
    }


def _timing(times: TimeHistogram, censored: int, limit: float | None) -> Timing:
    def reading(percent: float) -> Reading:
        seconds = times.percentile(percent)
        assert seconds is not None
        # The longest are the censored ones.
        at_least = math.ceil(times.total * percent / 100) > times.total - censored
        return Reading(seconds=limit if at_least and limit else seconds, at_least=at_least)

    return Timing(
        count=times.total, censored=censored, p50=reading(50), p95=reading(95), p99=reading(99)
    )


def tips(tally: Tally) -> Tips:
    """Return the TIPS means (Pérez-Pérez et al. 2019, table 2), times in seconds.

    MAD, mean annotations per document: annotations / responses. MTDV, mean time per document
    volume: time / article bytes (s/B, the equation) and its inverse (B/s, the unit they print).
    MTSA, mean time seeking an annotation: time / annotations. ART, average response time: time /
    responses, where timed-out calls count as responses that took the time limit.
    """
    seconds = tally.microseconds / 1e6
    return Tips(
        responses=tally.answered,
        censored=tally.timed_out,
        mad=_ratio(tally.hits, tally.answered),
        mtdv_seconds_per_byte=_ratio(seconds, tally.article_bytes),
        mtdv_bytes_per_second=_ratio(tally.article_bytes, seconds),
        mtsa=_ratio(seconds, tally.hits),
        art=_ratio(seconds, tally.answered + tally.timed_out),
    )


def availability(
    changes: Sequence[tuple[float, UptimeState]], since: float, until: float
) -> Availability:
    """Return a server's availability from `since` to `until` (Unix seconds).

    `changes` are (Unix seconds, state) in chronological order, including those before the window: a
    period that ended in the window counts in MTBF or MTTR with its full length. Planned pauses stop
    both clocks: up, paused, up is a single time up; down, paused, up is a repair.
    """
    periods = [
        (begin, min(end, until), state)
        for (begin, state), (end, _) in pairwise([*changes, (until, UptimeState.NEITHER)])
        if begin < until
    ]
    seconds = dict.fromkeys(UptimeState, 0.0)
    for begin, end, state in periods:
        seconds[state] += max(0.0, end - max(begin, since))
    ups, downs = _ended(periods, since)
    return Availability(
        up=seconds[UptimeState.UP],
        down=seconds[UptimeState.DOWN],
        neither=seconds[UptimeState.NEITHER],
        unknown=max(0.0, until - since - sum(seconds.values())),
        failures=len(ups),
        repairs=len(downs),
        up_before_failures=sum(ups),
        down_before_repairs=sum(downs),
    )


def _ended(
    periods: Iterable[tuple[float, float, UptimeState]], since: float
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the seconds of each time up ended by a failure, and down ended by a repair."""
    ups: list[float] = []
    downs: list[float] = []
    up = down = 0.0
    was_down = False
    for begin, end, state in periods:
        if state is UptimeState.DOWN:
            if not was_down and begin >= since:
                ups.append(up)
            was_down, up = True, 0.0
            down += end - begin
        elif state is UptimeState.UP:
            if was_down and begin >= since:
                downs.append(down)
            was_down, down = False, 0.0
            up += end - begin
    return ups, downs


def _ratio(above: float, below: float) -> float | None:
    return above / below if below else None
