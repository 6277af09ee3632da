"""The boards of a running phase: fed by the lanes' events, shown by the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from metaserver.lanes.lane import AttemptEnded, LaneChanged
from metaserver.records import TaskName
from metaserver.services.monitor import Watch
from metaserver.services.scoreboard import Scoreboard
from metaserver.services.snapshots import Board, Monitor
from metaserver.tasks.plugin import TaskPlugin

TICK_SECONDS = 5.0


class LiveBoards:
    """Monitor and leaderboards with a version that rises at each change (`web.source.Source`).

    `blocked` tells why no answer can be stored at the moment, or None.
    """

    def __init__(
        self, watch: Watch, scoreboard: Scoreboard, blocked: Callable[[], str | None]
    ) -> None:
        self.watch = watch
        self.scoreboard = scoreboard
        self._blocked = blocked
        self._version = 0
        self._change = asyncio.Event()

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Take in what a lane says; called by the lane when it is committed."""
        if isinstance(event, LaneChanged):
            self.watch.lane(event)
        else:
            self.watch.attempt(event.attempt, final=event.decision.final)
            if event.answer is not None:
                self.scoreboard.put(event.server.name, event.attempt.article, event.answer.payloads)
        self._version += 1
        self._change.set()

    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks that have a leaderboard."""
        return self.scoreboard.tasks()

    def monitor(self) -> Monitor:
        """The monitor as of now."""
        return self.watch.snapshot(self._blocked() or "")

    def board(self, task: TaskName) -> Board:
        """The leaderboard of one task as of now."""
        return self.scoreboard.board(task)

    async def changed(self, since: int) -> int:
        """Wait until the version is not `since`; return it.

        It rises by itself now and then: the throughput falls when no answers come.
        """
        while self._version == since:
            self._change.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._change.wait()
                continue
            self._version += 1
        return self._version
