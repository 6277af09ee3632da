"""What a lane publishes, and why its run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import Attempt, Server
from metaserver.model.states import RetryDecision


class LaneEnd(StrEnum):
    """Why a lane's run ended."""

    FINISHED = "finished"  # every article is answered or given up
    SLICE = "slice"  # its turn is over: to be enqueued again
    PAUSED = "paused"  # told to take no more articles, or its allowance is used up
    ABANDONED = "abandoned"  # the server was down for longer than the lane's patience
    LOST = "lost"  # another hub has taken the lane
    STOPPED = "stopped"  # the hub stops


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptEnded:
    """Published when an attempt is committed; `answer` where it was accepted.

    `prepared` is filled by whoever prepares the event before it is published (`lanes.lane.Lane`).
    """

    server: Server
    position: int
    attempt: Attempt
    answer: CheckedAnswer | None
    decision: RetryDecision
    prepared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneChanged:
    """Published when a lane's standing changes."""

    server: Server
    in_flight: int
    down: str  # why the circuit is open, or empty
    end: LaneEnd | None = None
