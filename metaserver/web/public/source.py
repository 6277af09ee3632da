"""The boards that pages show, and who reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from aiohttp import web

from metaserver.base.boards import ArticleBoard, Board
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import TaskName
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.snapshots import Monitor
from metaserver.tasks.plugin import TaskPlugin

VIEWER = web.RequestKey("VIEWER", Viewer)
"""A page's viewer: set before its handler is called; absent for anybody."""


class BoardSource(Protocol):
    """The newest boards of a phase, and a way to wait until they change.

    All but `changed` answer at once from memory: they are called on the event loop,
    for each page that is asked for and at most once a second for each page that is watched.
    """

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that have a leaderboard, in the order of the tabs."""

    def counts(self, viewer: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        """Count each task's runs; empty if the viewer may see none."""

    def monitor(self, viewer: Viewer = ANYBODY) -> Monitor:
        """Return the monitor as of now, as far as the viewer may see it."""

    def views(self, task: TaskName, viewer: Viewer = ANYBODY) -> Sequence[str]:
        """Return a task's views that a viewer may see, the usual view first."""

    def policies(self, task: TaskName) -> Sequence[ArticlePolicy]:
        """Return which articles can count in a task's scores."""

    def board(
        self,
        task: TaskName,
        view: str = "raw",
        viewer: Viewer = ANYBODY,
        articles: ArticlePolicy | None = None,
    ) -> Board:
        """Return a task's present leaderboard, as far as the viewer may see it.

        `articles` are those that count; None: by the phase's ranking.
        """

    def articles(self, task: TaskName, view: str = "raw", viewer: Viewer = ANYBODY) -> ArticleBoard:
        """Return the difficulty of a task's articles, as far as the viewer may know it."""

    async def changed(self, since: int) -> int:
        """Wait until the version of the boards is not `since`; return the version.

        The version is a counter that starts at 0 or above and rises with each change.
        """
