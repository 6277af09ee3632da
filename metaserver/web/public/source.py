"""What the pages need from the hub's services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from aiohttp import web

from metaserver.leaderboards.boards import ArticleBoard, Board
from metaserver.leaderboards.frozen import FrozenBoard
from metaserver.model.records import TaskName
from metaserver.model.viewer import ANYBODY, Viewer
from metaserver.monitoring.snapshots import Monitor
from metaserver.tasks.plugin import TaskPlugin

READER = web.RequestKey("READER", Viewer)
"""Who reads: put into the request by who signs readers in; absent for anybody."""


class BoardSource(Protocol):
    """Gives the newest boards, and tells when they have changed.

    All but `changed` and `frozen` answer at once from memory: they are called on the event loop,
    for each page that is asked for and at most once a second for each page that is watched.
    """

    def tasks(self) -> Sequence[TaskPlugin]:
        """The tasks of this challenge, in the order of the tabs."""

    def counts(self, reader: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        """How many runs each of `tasks()` has, as far as the reader may see them."""

    def monitor(self) -> Monitor:
        """The monitor as of now."""

    def views(self, task: TaskName) -> Sequence[str]:
        """The views one of `tasks()` is scored in, the raw one first."""

    def board(self, task: TaskName, view: str = "raw", reader: Viewer = ANYBODY) -> Board:
        """The leaderboard of one of `tasks()` as of now, as far as the reader may see it."""

    def articles(self, task: TaskName, view: str = "raw", reader: Viewer = ANYBODY) -> ArticleBoard:
        """How hard the articles of one of `tasks()` are, as far as the reader may know."""

    async def frozen(self, key: str, reader: Viewer = ANYBODY) -> FrozenBoard | None:
        """The frozen board of a permanent link; None where there is none for this reader."""

    async def changed(self, since: int) -> int:
        """Wait until the version of the boards is not `since`; return the version.

        The version is a counter that starts at 0 or above and rises with each change.
        """
