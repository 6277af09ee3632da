"""What the pages need from the hub's services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from metaserver.records import TaskName
from metaserver.services.snapshots import Board, Monitor
from metaserver.tasks.plugin import TaskPlugin


class Source(Protocol):
    """Gives the newest boards, and tells when they have changed.

    All but `changed` answer at once from memory: they are called on the event loop, for each page
    that is asked for and at most once a second for each page that is watched.
    """

    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks of this challenge, in the order of the tabs."""

    def monitor(self) -> Monitor:
        """The monitor as of now."""

    def board(self, task: TaskName) -> Board:
        """The leaderboard of one of `tasks()` as of now."""

    async def changed(self, since: int) -> int:
        """Wait until the version of the boards is not `since`; return the version.

        The version is a counter that starts at 0 or above and rises with each change.
        """
