"""What a lane knows of its server: a circuit breaker, and the state that the server reports.

Pure: times are arguments (monotonic seconds). While it is closed, articles are sent. After
`threshold` failures in a row that count towards it (`states.RULES`), it opens: articles wait and
the server is probed with growing pauses. Refused credentials open it at once, with the longest
pause: more requests could lock the account. A successful probe lets one article through as a trial;
its outcome closes the circuit, or opens it again with a longer pause.
"""

from __future__ import annotations

import math
import random
from enum import StrEnum

from metaserver.base.records import ServerReport
from metaserver.base.states import RULES, Backoff, Outcome, ReportedState

LONGEST = 62
"""The number of probes after which every pause is the longest (`Backoff.limit`)."""


class CircuitState(StrEnum):
    """A circuit breaker's state."""

    CLOSED = "closed"  # articles are sent
    OPEN = "open"  # articles wait, the server is probed
    TRIAL = "trial"  # a probe succeeded: one article is let through


class Circuit:
    """A lane's breaker.

    `down_since` is the time of the first failure that opened it, None while it is closed;
    `failed_at` is the last failure's time. Both are monotonic seconds.
    """

    def __init__(self, threshold: int, backoff: Backoff, rng: random.Random) -> None:
        self.state = CircuitState.CLOSED
        self.down_since: float | None = None
        self.failed_at = 0.0
        self.probe_at = 0.0
        self.reason = ""
        self._threshold = threshold
        self._backoff = backoff
        self._rng = rng
        self._failures = 0
        self._first_failure = 0.0
        self._probes = 0
        self._reported_down = False  # by the server itself: answers in flight do not close it

    def ended(self, outcome: Outcome, message: str, now: float) -> None:
        """Record an attempt's outcome."""
        if outcome is Outcome.CANCELLED or self._reported_down:
            return
        if not RULES[outcome].circuit:
            self.state, self.down_since = CircuitState.CLOSED, None
            self._failures = self._probes = 0
            return
        if not self._failures:
            self._first_failure = now
        self._failures += 1
        refused = outcome is Outcome.CREDENTIALS
        if refused:
            self._probes = max(self._probes, LONGEST)
        # A failure of a request that was in flight when the circuit opened changes nothing.
        if self.state is CircuitState.TRIAL or (
            self.state is CircuitState.CLOSED and (refused or self._failures >= self._threshold)
        ):
            self._open(f"{outcome}: {message}", now)

    def probed(self, failure: str | None, now: float) -> None:
        """Record a probe: `failure` is None if the server answered, else a line."""
        if self.state is not CircuitState.OPEN:  # an answer in flight arrived meanwhile
            return
        if failure is None:
            self.try_now()
        else:
            self._open(failure, now)

    def open_on_report(self, reason: str, now: float) -> None:
        """Open the circuit because the server itself reports that it takes no articles."""
        if self.state is CircuitState.CLOSED:
            self._first_failure = now
            self._reported_down = True
            self._open(reason, now)

    def try_now(self) -> None:
        """Let one article through as a trial without a probe, if the circuit is open."""
        if self.state is CircuitState.OPEN:
            self.state, self._reported_down = CircuitState.TRIAL, False

    def _open(self, reason: str, now: float) -> None:
        if self.down_since is None:
            self.down_since = self._first_failure
        self.state = CircuitState.OPEN
        self.failed_at = now
        self.reason = reason
        self._probes += 1
        # At least half of the longest pause: full jitter could probe at once repeatedly.
        pause = self._backoff.wait(self._probes, self._rng)
        self.probe_at = now + max(pause, self._backoff.limit(self._probes) / 2)


# -- the state that a server reports: its limit of concurrent requests, the next query. Pure -------


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
