"""A server's measures over a time window, and its uptime by day."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaserver.base.states import Outcome
from metaserver.boards.measures import UptimeState, availability
from metaserver.boards.tally import TOTAL, Tally

DAY = 86_400
DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """The measures in one bucket: p50 and p95 in seconds, None without a response.

    `start` is in Unix seconds; `answered` includes the partial answers.
    """

    start: float
    answered: int = 0
    partial: int = 0
    errors: int = 0
    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DayUptime:
    """The uptime of a day (UTC) that begins at `start`: 0 to 1, None if it was neither."""

    start: float
    share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """A window's buckets, `bucket` seconds each, and the last 30 days; oldest first.

    The last of each is not over.
    """

    bucket: int
    moments: Sequence[Moment]
    days: Sequence[DayUptime]


class ReadBuckets:
    """The moments from serialised buckets; an unchanged bucket is not read again."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[bytes, Moment]] = {}

    def moments(
        self, buckets: Mapping[int, bytes], since: int, bucket: int, now: float
    ) -> Sequence[Moment]:
        """Return a moment for each bucket from `since` to `now`, those without an attempt too."""
        starts = range(since, int(now) + 1, bucket)
        self._read = {
            start: self._moment(start, buckets[start]) for start in starts if start in buckets
        }
        return [
            self._read[start][1] if start in self._read else Moment(start=start) for start in starts
        ]

    def _moment(self, start: int, packed: bytes) -> tuple[bytes, Moment]:
        cached = self._read.get(start)
        if cached is not None and cached[0] is packed:
            return cached
        tally = Tally()
        tally.add_bytes(packed)
        p50, p95 = tally.times[TOTAL].percentiles(50, 95) if TOTAL in tally.times else (None, None)
        cancelled = tally.outcomes[Outcome.CANCELLED]
        return packed, Moment(
            start=start,
            answered=tally.answered,
            partial=tally.outcomes[Outcome.PARTIAL],
            errors=tally.outcomes.total() - tally.answered - cancelled,
            p50=p50,
            p95=p95,
        )


def uptime_by_day(changes: Sequence[tuple[float, UptimeState]], now: float) -> Sequence[DayUptime]:
    """Return the uptime of the last 30 days, today last; `changes` are in chronological order."""
    today = int(now // DAY) * DAY
    return [
        DayUptime(start=start, share=_uptime(changes, start, min(start + DAY, now)))
        for start in range(today - (DAYS - 1) * DAY, today + 1, DAY)
    ]


def _uptime(
    changes: Sequence[tuple[float, UptimeState]], since: float, until: float
) -> float | None:
    """Return a day's uptime from its changes and the change before."""
    first = bisect.bisect_right(changes, since, key=lambda change: change[0])
    end = bisect.bisect_left(changes, until, key=lambda change: change[0])
    return availability(changes[max(first - 1, 0) : end], since, until).uptime
