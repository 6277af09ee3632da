"""The state that a server reports: its limit of concurrent requests, the next query. Pure."""

from __future__ import annotations

import math
import random

from metaserver.base.records import ServerReport
from metaserver.base.states import ReportedState


class ServerHealth:
    """A server's last reported state; times are monotonic seconds.

    `places` is its allowed number of requests in flight: as registered, or fewer if it asks for
    that. Its state is queried at `ask_at`, about every `pause` seconds (None: never); a server that
    does not answer the first query is not queried again.
    """

    def __init__(self, concurrency: int, pause: float | None, rng: random.Random) -> None:
        self.places = concurrency
        self.ask_at = math.inf
        self._concurrency = concurrency
        self._pause = math.inf if pause is None else pause
        self._rng = rng
        self._reports_state = False  # it has answered a query once

    def begin(self, now: float) -> None:
        """Schedule the first query when its lane begins to work."""
        if math.isinf(self.ask_at):
            self.ask_at = self._next(now)

    def update(self, report: ServerReport | None, now: float) -> None:
        """Record the answer to a query; None if nothing came."""
        self._reports_state = self._reports_state or report is not None
        self.ask_at = self._next(now) if self._reports_state else math.inf
        if report is not None:
            limit = 1 if report.state is ReportedState.OVERLOADED else report.max_concurrent
            self.places = min(self._concurrency, limit or self._concurrency)

    def _next(self, now: float) -> float:
        return now + self._pause * self._rng.uniform(0.75, 1.25)  # spreads the lanes' queries
