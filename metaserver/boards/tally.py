"""Tallies of ended attempts: sums that merge exactly, from shorter intervals into longer ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from metaserver.base.records import Attempt, Timings
from metaserver.base.states import ANSWERED, Outcome
from metaserver.boards.histogram import TimeHistogram

TOTAL = "total"
PHASES = ("queue", "dns", "connect", "send", "wait", "transfer", "parse")
CUT_PHASES = ("transfer", "wait", "send", "connect")  # where a call may time out, last first

NO_RESPONSE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.CANCELLED})
"""The outcomes whose time says nothing about the server's speed."""


class EndedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of an ended attempt.

    `at` is the time it ended (Unix seconds), `hits` the number kept from its answer,
    `article_bytes` the sent article's size; `first` is True for the article's first attempt,
    `final` if the article is finished for the lane.
    """

    at: float
    outcome: Outcome
    timings: Timings
    hits: int = 0
    article_bytes: int = 0
    first: bool = True
    final: bool = True

    @classmethod
    def of(cls, attempt: Attempt, *, hits: int, article_bytes: int, final: bool) -> EndedAttempt:
        """Return an attempt's measurements."""
        return cls(
            at=attempt.ended_at,
            outcome=attempt.outcome,
            timings=attempt.timings,
            hits=hits,
            article_bytes=article_bytes,
            first=attempt.number == 1,
            final=final,
        )


class _Packed(msgspec.Struct, array_like=True):
    """The serialised form of a tally."""

    outcomes: dict[Outcome, int]
    times: dict[str, bytes]
    censored: dict[str, int]
    sums: tuple[int, int, int, int, int]


@dataclass(kw_only=True, slots=True)
class Tally:
    """A server's attempt sums over an interval.

    `times` has a histogram for "total" (attempts that brought a response or timed out) and for each
    phase that was reached. `censored` counts the durations cut by the time limit, whose true values
    are longer. `at_first` counts the articles answered at their first attempt. `microseconds` and
    `article_bytes` are sums over the answered and the timed-out attempts, the latter with the time
    limit.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    times: defaultdict[str, TimeHistogram] = field(
        default_factory=lambda: defaultdict(TimeHistogram)
    )
    censored: Counter[str] = field(default_factory=Counter)
    given_up: int = 0
    at_first: int = 0
    hits: int = 0
    article_bytes: int = 0
    microseconds: int = 0

    @property
    def answered(self) -> int:
        """The number of articles answered."""
        return sum(self.outcomes[outcome] for outcome in ANSWERED)

    @property
    def timed_out(self) -> int:
        """The number of attempts that timed out."""
        return self.outcomes[Outcome.TIMEOUT]

    def add(self, ended: EndedAttempt, time_limit: float) -> None:
        """Count an attempt; a timed-out attempt took `time_limit` seconds, censored."""
        outcome, timings = ended.outcome, ended.timings
        self.outcomes[outcome] += 1
        self.given_up += ended.final and outcome not in ANSWERED
        self.at_first += ended.first and outcome in ANSWERED
        if outcome is Outcome.CANCELLED:
            return
        timed_out = outcome is Outcome.TIMEOUT
        seconds = time_limit if timed_out else timings.total
        if outcome not in NO_RESPONSE:
            self.times[TOTAL].add(seconds)
        for name in PHASES:
            if (taken_seconds := getattr(timings, name)) is not None:
                self.times[name].add(taken_seconds)
        if timed_out:
            self._censor(timings, time_limit)
        if timed_out or outcome in ANSWERED:
            self.hits += ended.hits
            self.article_bytes += ended.article_bytes
            self.microseconds += round(seconds * 1e6)

    def _censor(self, timings: Timings, time_limit: float) -> None:
        """Count the time limit, and the phase that it cut (with the rest of the limit)."""
        self.censored[TOTAL] += 1
        cut = _cut(timings)
        if getattr(timings, cut) is None:
            spent = sum(getattr(timings, name) or 0.0 for name in ("dns", *CUT_PHASES))
            self.times[cut].add(max(0.0, time_limit - spent))
        self.censored[cut] += 1

    def merge(self, other: Tally) -> None:
        """Add another tally's sums."""
        self.outcomes.update(other.outcomes)
        self.censored.update(other.censored)
        for name, times in other.times.items():
            self.times[name].merge(times)
        self._add_sums(other._sums())

    def _sums(self) -> tuple[int, int, int, int, int]:
        return self.given_up, self.at_first, self.hits, self.article_bytes, self.microseconds

    def _add_sums(self, sums: Iterable[int]) -> None:
        given_up, at_first, hits, article_bytes, microseconds = sums
        self.given_up += given_up
        self.at_first += at_first
        self.hits += hits
        self.article_bytes += article_bytes
        self.microseconds += microseconds

    def to_bytes(self) -> bytes:
        """Return the tally serialised."""
        return msgspec.msgpack.encode(
            _Packed(
                outcomes=self.outcomes,
                times={name: times.to_bytes() for name, times in self.times.items()},
                censored=self.censored,
                sums=self._sums(),
            )
        )

    def add_bytes(self, packed: bytes) -> None:
        """Add the sums in a tally serialised by `to_bytes`."""
        stored = msgspec.msgpack.decode(packed, type=_Packed)
        self.outcomes.update(stored.outcomes)
        self.censored.update(stored.censored)
        for name, times in stored.times.items():
            self.times[name].add_bytes(times)
        self._add_sums(stored.sums)


def _cut(timings: Timings) -> str:
    """Return the phase that was under way when the call timed out.

    It is the phase after the last that was reached; the transfer's time is known even if it was
    cut.
    """
    after = ("transfer", "transfer", "wait", "send")
    for name, following in zip(CUT_PHASES, after, strict=True):
        if getattr(timings, name) is not None:
            return following
    return "connect"
