"""A lane's circuit breaker: a server that fails time after time is probed, not hammered.

Pure: times are arguments (monotonic seconds). Closed, articles flow. After `threshold` failures in
a row that say nobody is there (see `lifecycle.RULES`), it opens: articles wait and the server is
probed with growing pauses. A probe that succeeds lets one article through on trial; its outcome
closes the circuit, or opens it again with a longer pause.
"""

from __future__ import annotations

import random
from enum import StrEnum

from metaserver.model.states import RULES, Backoff, Outcome


class CircuitState(StrEnum):
    """Where the breaker stands."""

    CLOSED = "closed"  # articles flow
    OPEN = "open"  # articles wait, the server is probed
    TRIAL = "trial"  # a probe succeeded: one article is let through


class Circuit:
    """The breaker of one lane.

    `down_since` is when the run of failures began that opened it, None while it is closed;
    `failed_at` is when it was last found to be down.
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
        self._away = False  # the server itself said so: answers in flight do not say otherwise

    def ended(self, outcome: Outcome, message: str, now: float) -> None:
        """Take note of how an attempt ended."""
        if outcome is Outcome.CANCELLED or self._away:
            return
        if not RULES[outcome].circuit:
            self.state, self.down_since = CircuitState.CLOSED, None
            self._failures = self._probes = 0
            return
        if not self._failures:
            self._first_failure = now
        self._failures += 1
        # One that was in flight when the circuit opened says nothing new.
        if self.state is CircuitState.TRIAL or (
            self.state is CircuitState.CLOSED and self._failures >= self._threshold
        ):
            self._open(f"{outcome}: {message}", now)

    def probed(self, failure: str | None, now: float) -> None:
        """Take note of a probe: None if the server is there, else what was wrong."""
        if self.state is not CircuitState.OPEN:  # an answer in flight came back meanwhile
            return
        if failure is None:
            self.try_now()
        else:
            self._open(failure, now)

    def away(self, reason: str, now: float) -> None:
        """Open it: the server itself says that it takes no articles."""
        if self.state is CircuitState.CLOSED:
            self._first_failure = now
            self._away = True
            self._open(reason, now)

    def try_now(self) -> None:
        """Let one article through on trial without a probe, if it is open."""
        if self.state is CircuitState.OPEN:
            self.state, self._away = CircuitState.TRIAL, False

    def _open(self, reason: str, now: float) -> None:
        if self.down_since is None:
            self.down_since = self._first_failure
        self.state = CircuitState.OPEN
        self.failed_at = now
        self.reason = reason
        self._probes += 1
        # At least half of the pause: full jitter could probe at once, time after time.
        pause = self._backoff.wait(self._probes, self._rng)
        self.probe_at = now + max(pause, self._backoff.limit(self._probes) / 2)
