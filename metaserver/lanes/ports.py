"""What a lane needs of the rest of the hub."""

from __future__ import annotations

from typing import Protocol

from metaserver.model.lanes import AttemptRecord, CheckedAnswer
from metaserver.model.records import Attempt, Server, ServerReport


class ServerCaller(Protocol):
    """Sends one article to a server and checks what comes back."""

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Return how the attempt ended; a peer's failure is an outcome, not an exception."""

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is there, else what is wrong in one line."""

    async def state(self, server: Server) -> ServerReport | None:
        """Return what the server says of itself, or None if it does not."""


class Recorder(Protocol):
    """Commits ended attempts."""

    @property
    def blocked(self) -> str | None:
        """Why nothing can be committed at the moment, or None."""

    async def record(self, entry: AttemptRecord) -> None:
        """Return when the entry is committed; raises `StaleLaneError`."""
