"""A lane as far as its log was followed, and when it is to have its next checkpoint."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from metaserver.base.lanes import LaneKey, StateChange
from metaserver.base.records import Server
from metaserver.lanes.events import AttemptEnded
from metaserver.store.logs import LogEnd

LEAST_NEW = 256
"""A lane with fewer attempts since its checkpoint is not due for the next one."""
NEW_SHARE = 0.25
"""Nor is one whose attempts since then are less than this share of its log."""
LATE_SECONDS, LATE_SHARE = 600.0, 0.01
"""Longest time that new attempts are without a checkpoint, if they are this share of their log."""
WORTH = 32
"""Fewer new attempts are read again as fast as a checkpoint of them is written, at a stop."""
PART = 10_000
"""Attempts of a log that are read before a checkpoint keeps them; more of a long one."""


@dataclass(kw_only=True, slots=True, eq=False)
class FollowedLane:
    """A lane as far as its log was followed.

    `end` is the end of the log as far as it is known; `read` and `scored` are the last serials that
    count in its measures and in its runs' scores. `early` are attempts that were published before
    their predecessors. `heard` is the serial up to which attempts that other processes stored were
    passed on, or were there before the lane was followed. `changes` of its server's state are to be
    counted when it has begun; `changed` is the id of the last one that was.
    """

    server: Server
    key: LaneKey
    end: LogEnd
    read: int = 0
    scored: int = 0
    heard: int = 0
    kept: LogEnd | None = None  # of its checkpoint
    round: int = 0  # raised when its log is to be read from its beginning
    revised: bool = False  # attempts in it have changed, and its end was not read since
    behind: bool = True
    begun: bool = False  # what the store has besides the log was read
    early: dict[int, AttemptEnded] = field(default_factory=dict)
    changes: list[StateChange] = field(default_factory=list)
    changed: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def new(self) -> int:
        """The number of attempts that its checkpoint does not cover."""
        if self.kept is None or self.kept.revision != self.end.revision:
            return self.read
        return self.read - self.kept.serial

    @property
    def is_due(self) -> bool:
        """True where so many attempts are new that they are to have a checkpoint."""
        return self.new >= max(LEAST_NEW, NEW_SHARE * self.read)

    @property
    def is_worth(self) -> bool:
        """True where a checkpoint at a hub's stop spares its next start time."""
        return self.new >= WORTH

    @property
    def late(self) -> float:
        """The longest time that its new attempts are without a checkpoint, in seconds."""
        return LATE_SECONDS * max(1.0, LATE_SHARE * self.read / max(1, self.new))

    @property
    def part(self) -> int:
        """The serial to which its log is read next, before a checkpoint keeps what was read."""
        return self.read + max(PART, int(NEW_SHARE * self.read))

    def begin_again(self) -> None:
        """Begin with the first attempt of its log; what was scored stays."""
        self.round += 1
        self.read, self.kept = 0, None
        self.early.clear()
