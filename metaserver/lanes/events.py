"""What surrounds a lane: its limits, the ports that it uses, the events that it publishes."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from metaserver.base.lanes import AttemptRecord, CheckedAnswer
from metaserver.base.records import Attempt, Server, ServerReport
from metaserver.base.states import Backoff, RetryDecision


class LaneEnd(StrEnum):
    """Why a lane's run ended."""

    FINISHED = "finished"  # every article is answered or given up
    SLICE = "slice"  # its turn is over: it is enqueued again
    PAUSED = "paused"  # on request, or its allowance is used up
    ABANDONED = "abandoned"  # the server was down for longer than the lane's patience
    LOST = "lost"  # another hub has taken the lane
    STOPPED = "stopped"  # the hub stops


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A committed attempt; `answer` is set if it was accepted.

    `serial` is its place in the lane's log. Two attempts that a lane commits together may be
    published in either order. `prepared` is filled by the lane's `prepare` before the event is
    published (`lane.Lane`).
    """

    server: Server
    serial: int
    position: int
    attempt: Attempt
    answer: CheckedAnswer | None
    decision: RetryDecision
    prepared: dict[Any, Any] = msgspec.field(default_factory=dict)


class LaneChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A changed lane state."""

    server: Server
    in_flight: int
    down: str  # the reason why the circuit is open, or empty
    end: LaneEnd | None = None


# -- ports for a lane: the interfaces that the rest of the hub implements --------------------------


class ServerCaller(Protocol):
    """Calls annotation servers: sends articles and checks answers."""

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Return the attempt's result; a server's failure is an outcome, not an exception."""

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is up, else the failure on one line."""

    async def state(self, server: Server) -> ServerReport | None:
        """Return the state that the server reports, or None."""


class Recorder(Protocol):
    """The recorder that commits ended attempts."""

    @property
    def blocked(self) -> str | None:
        """The reason why nothing can be committed now, or None."""

    def record(self, entry: AttemptRecord) -> Awaitable[int]:
        """Commit an entry, whether or not the result is awaited.

        Awaiting it returns the entry's serial, its place in the lane's log from 1, and raises
        `StaleLaneError` if another hub has taken the lane.
        """


# -- limits for a phase's lanes, set by an organiser -----------------------------------------------

RETRY_BACKOFF = Backoff(base=1.0, cap=60.0)
PROBE_BACKOFF = Backoff(base=5.0, cap=60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneLimits:
    """The limits for a phase's lanes; times in seconds.

    An article gets at most `attempts` (>= 1). `circuit` failures in a row open the circuit. A
    server that has been down for `patience` is abandoned (None: never). While a server is sent
    articles, its state is queried every `health` seconds (None: never).
    """

    attempts: int = 5
    backoff: Backoff = RETRY_BACKOFF
    circuit: int = 5
    probe: Backoff = PROBE_BACKOFF
    patience: float | None = None
    health: float | None = None
