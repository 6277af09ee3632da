"""Pace of each server: how many of its articles ended in how much time of work.

The time of work is that in which a server is sent articles: waits for its answers, for back-offs,
for a server that is down and for a turn are part of it, pauses are not. So the pace has in it all
that slows a server down, without a model of any of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from metaserver.base.records import ServerName
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd

KEPT = 50
"""Articles that a pace is measured by: the last ones that ended."""


class MeasuredPace(NamedTuple):
    """A number of articles that ended within some seconds of work."""

    articles: int
    seconds: float


@dataclass(slots=True)
class Pace:
    """The last articles of one server; moments are seconds of its work, `now` Unix seconds."""

    ends: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    since: float = 0.0  # the end of the article before the first of them
    worked: float = 0.0  # up to `resumed`
    resumed: float | None = None  # while it is at work

    def work(self, now: float) -> float:
        """Return the time of work so far."""
        if self.resumed is None:
            return self.worked
        return self.worked + max(0.0, now - self.resumed)  # a clock may be set back

    def turn(self, now: float, *, working: bool) -> None:
        """Record that the server is sent articles from now on, or that it is not."""
        if working and self.resumed is not None:
            return
        self.worked, self.resumed = self.work(now), now if working else None

    def ended(self, now: float) -> None:
        """Record the end of an article: answered, or given up."""
        if len(self.ends) == KEPT:
            self.since = self.ends[0]
        self.ends.append(self.work(now))

    def measured(self, now: float) -> MeasuredPace:
        """Return the articles that ended last, and the time of work that they took until now."""
        return MeasuredPace(len(self.ends), self.work(now) - self.since)


class Paces:
    """The paces of one phase's servers since the hub was started; `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._paces: defaultdict[ServerName, Pace] = defaultdict(Pace)

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Record an event of a lane."""
        if isinstance(event, LaneChanged):
            self.turn(event.server.name, working=event.end in (None, LaneEnd.SLICE))
        elif event.decision.final:
            self.ended(event.server.name, self._clock())

    def turn(self, server: ServerName, *, working: bool) -> None:
        """Record that a server is sent articles from now on, or that it is not."""
        self._paces[server].turn(self._clock(), working=working)

    def ended(self, server: ServerName, at: float) -> None:
        """Record the end of an article, at `at` by the clock of the machine that had sent it."""
        self._paces[server].ended(min(at, self._clock()))

    def measured(self, server: ServerName) -> MeasuredPace:
        """Return a server's pace as of now."""
        pace = self._paces.get(server)
        return MeasuredPace(0, 0.0) if pace is None else pace.measured(self._clock())
