"""States and outcome codes, and the rules that follow from them, as tables."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The result of an attempt: one word, shown the same everywhere."""

    OK = "ok"  # every hit kept
    PARTIAL = "partial"  # some hits dropped, the valid rest kept
    DNS = "dns"  # the host name did not resolve
    CONNECT = "connect"  # no connection, or it was lost before the answer was complete
    TLS = "tls"  # the TLS handshake failed
    TIMEOUT = "timeout"  # no complete answer within the article's time limit
    HTTP = "http"  # a status other than 200, or not HTTP
    TOO_LARGE = "too_large"  # the answer exceeded a size limit
    CREDENTIALS = "credentials"  # the server refuses the hub's credentials (401, 403)
    SYNTAX = "syntax"  # not well-formed: not XML, not XML-RPC, not JSON
    FAULT = "fault"  # the server answered with an error of its protocol
    SHAPE = "shape"  # a value is not of the agreed type
    NO_VALID_HIT = "no_valid_hit"  # hits were sent, and none could be kept
    CANCELLED = "cancelled"  # by the hub or the team: never counted against the team


class ServerState(StrEnum):
    """A server's state on the monitor."""

    WAITING = "waiting"  # no attempt yet, or not sent articles as its credentials cannot be opened
    UP = "up"  # its last attempts were answered
    SLOW = "slow"  # it answers, but the median answer takes more than half of the time limit
    DOWN = "down"  # its circuit is open: probed, not sent articles
    PAUSED = "paused"  # by the team
    SUSPENDED = "suspended"  # by the organiser
    FINISHED = "finished"  # its queue is empty


class ReportedState(StrEnum):
    """The state that an annotation server reports (`Annotator.getState`, docs/wire.md)."""

    RUNNING = "Running"
    OVERLOADED = "Overloaded"  # sent one article at a time
    SUSPENDED = "Suspended"  # sent no articles: its circuit is opened
    SHUTDOWN = "Shutdown"  # likewise


UNAVAILABLE_STATES = frozenset({ReportedState.SUSPENDED, ReportedState.SHUTDOWN})


class ProcessRole(StrEnum):
    """What part of a hub's work a process does."""

    ALL = "all"  # pages and lanes
    WEB = "web"  # pages alone
    WORKER = "worker"  # lanes alone


class Control(StrEnum):
    """The desired state of a lane, stored so that a restarted hub continues with it."""

    PAUSED = "paused"  # by the team; the first state under `metaserver serve`
    RUNNING = "running"
    SUSPENDED = "suspended"  # by an organiser: the team cannot start it


class PhaseState(StrEnum):
    """A phase's state; the clock or an organiser advances it to the next."""

    SETUP = "setup"  # before it opens: servers register and are tested
    TRAINING = "training"  # open: articles are sent
    TEST = "test"  # open: articles are sent
    FROZEN = "frozen"  # no article is sent, the boards do not change
    CLOSED = "closed"  # over: public answers can be read


OPEN_STATES = frozenset({PhaseState.TRAINING, PhaseState.TEST})
"""The states in which articles are sent."""
OVER = frozenset({PhaseState.FROZEN, PhaseState.CLOSED})
"""The states in which no answer can come any more."""


class Visibility(StrEnum):
    """Who sees a phase's scores; organisers always do."""

    HIDDEN = "hidden"  # nobody
    OWN = "own"  # each team sees its own runs
    PUBLIC = "public"  # everybody sees all runs


class JobState(StrEnum):
    """A background job's state."""

    RUNNING = "running"  # at work, or waiting for its turn
    DONE = "done"  # its result is available
    FAILED = "failed"  # nothing was changed; its error says why
    CANCELLED = "cancelled"  # by an organiser, or the hub stopped: nothing was changed


class Role(StrEnum):
    """A token's permissions; `ALLOWED` says which include which."""

    READER = "reader"  # what is public
    CURATOR = "curator"  # answers of servers to articles of its own
    TEAM = "team"  # its team's servers and runs
    ORGANISER = "organiser"  # everything


ALLOWED: Mapping[Role, frozenset[Role]] = {
    Role.READER: frozenset({Role.READER}),
    Role.CURATOR: frozenset({Role.READER, Role.CURATOR}),
    Role.TEAM: frozenset({Role.READER, Role.TEAM}),
    Role.ORGANISER: frozenset(Role),
}
"""The roles whose operations each role may call.

A team is no curator: it would see its rivals' answers to any article.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """The lane's reaction to an outcome.

    `retry`: the article is sent again, up to the phase's attempt limit. `charged`: the attempt
    counts towards that number. `circuit`: it counts towards opening the circuit.
    """

    retry: bool
    charged: bool
    circuit: bool
    reason: str


RULES: Mapping[Outcome, Rule] = {
    Outcome.OK: Rule(False, True, False, "answered"),
    Outcome.PARTIAL: Rule(
        False, True, False, "answered: the valid part is kept, the rest reported"
    ),
    Outcome.DNS: Rule(True, True, True, "often temporary; no other article would get through"),
    Outcome.CONNECT: Rule(True, True, True, "servers restart; no other article would get through"),
    Outcome.TLS: Rule(True, True, True, "certificates get renewed; no article would get through"),
    Outcome.TIMEOUT: Rule(True, True, True, "overload passes; more articles would add to it"),
    Outcome.HTTP: Rule(True, True, True, "a proxy answers for a server that is not running"),
    Outcome.TOO_LARGE: Rule(True, True, False, "the server is up, this answer is not usable"),
    Outcome.CREDENTIALS: Rule(True, False, True, "the team must enter them; nothing else helps"),
    Outcome.SYNTAX: Rule(True, True, False, "may have been cut or garbled in transit"),
    Outcome.FAULT: Rule(True, True, False, "the server is up and reports that this article failed"),
    Outcome.SHAPE: Rule(True, True, False, "the contract asks for a second chance (wire, 2.5)"),
    Outcome.NO_VALID_HIT: Rule(True, True, False, "the contract asks for a second chance"),
    Outcome.CANCELLED: Rule(True, False, False, "the hub's or the team's own doing"),
}

STALL_OUTCOMES = frozenset(outcome for outcome, rule in RULES.items() if rule.circuit) - {
    Outcome.CREDENTIALS
} | {Outcome.SYNTAX}
"""The outcomes that a hub may have caused itself by standing still.

A deadline passed, the server gave up, or its answer was cut; the others need a complete answer.
"""

ANSWERED = frozenset({Outcome.OK, Outcome.PARTIAL})
"""The outcomes after which an article is done for a lane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """Exponential back-off with full jitter; times in seconds.

    Before retry n (1, 2, ...) the wait is uniform in [0, min(cap, base * 2^(n-1))]: full jitter
    spreads the retries of many lanes best (M. Brooker, "Exponential backoff and jitter", 2015).
    """

    base: float = 1.0
    cap: float = 60.0

    def limit(self, retry: int) -> float:
        """Return the longest wait before the given retry (>= 1), in seconds."""
        return min(self.cap, self.base * 2.0 ** min(retry - 1, 62))

    def wait(self, retry: int, rng: random.Random) -> float:
        """Return the seconds to wait before the given retry (>= 1)."""
        return rng.uniform(0.0, self.limit(retry))


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryDecision:
    """The decision about an article after an attempt.

    `answered` and `given_up` finish it; otherwise it is sent again after `wait` seconds.
    """

    answered: bool = False
    given_up: bool = False
    wait: float = 0.0

    @property
    def final(self) -> bool:
        """True if the article is finished for the lane."""
        return self.answered or self.given_up


def decide(
    outcome: Outcome,
    charged: int,
    max_attempts: int,
    backoff: Backoff,
    rng: random.Random,
    retry_after: float = 0.0,
) -> RetryDecision:
    """Decide on an article after an attempt.

    `charged` is the number of attempts charged so far, including this one if it is charged.
    `retry_after` are the seconds that the server asked to wait, the minimum.
    """
    rule = RULES[outcome]
    if not rule.retry:
        return RetryDecision(answered=True)
    if charged >= max_attempts:
        return RetryDecision(given_up=True)
    return RetryDecision(wait=max(retry_after, backoff.wait(max(charged, 1), rng)))
