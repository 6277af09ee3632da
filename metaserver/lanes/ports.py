"""Ports for a lane: the interfaces that the rest of the hub implements."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from metaserver.base.lanes import AttemptRecord, CheckedAnswer
from metaserver.base.records import Attempt, Server, ServerReport


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
