"""The events that a lane publishes, and the ways its runs end."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt, Server
from metaserver.base.states import RetryDecision


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
