"""A communication over a channel: the wait for a server's callback within the one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from metaserver.base.communications import Callback, Communication, Exchanged
from metaserver.base.errors import PeerError
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import Limits

if TYPE_CHECKING:
    from metaserver.exchange.http.channel import HttpChannel

REPAIR = 60.0
"""Seconds in which a server may correct a callback that was refused for its content."""
MOST_REFUSED = 5
"""Callbacks of one communication that may be refused for their content."""


@dataclass(eq=False, slots=True)
class Awaited:
    """A communication that the hub waits for; `refusal` is the error of the last bad callback.

    `limits` are those of its answer.
    """

    communication: Communication
    limits: Limits
    resumed: bool
    callback: Callback | None = None
    refusal: PeerError | None = None
    refusals: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def change(self) -> None:
        """Wait until a callback was accepted or refused since the last time."""
        await self._changed.wait()
        self._changed.clear()

    def accepted(self, callback: Callback) -> None:
        """Hand over the callback."""
        self.callback = callback
        self._changed.set()

    def refused(self, error: PeerError) -> None:
        """Note that a callback was refused for its content."""
        self.refusal = error
        self.refusals += 1
        self._changed.set()


class CallbackPort(Protocol):
    """The port to the store of communications, which `phases.callbacks.CallbackDesk` implements.

    `clock` returns Unix seconds.
    """

    clock: Callable[[], float]

    async def open(
        self,
        name: ServerName,
        about: Exchanged,
        seconds: float,
        limits: Limits,
        document: bytes | None = None,
    ) -> Awaited:
        """Begin to wait for a server's callback; raises `PeerError` if it has no key."""

    async def acknowledge(self, awaited: Awaited) -> None:
        """Note that the server has the request."""

    async def expire(self, awaited: Awaited) -> bool:
        """Take no callback from now on; return whether none was stored before."""

    async def close(self, awaited: Awaited) -> None:
        """Wait no longer."""

    def leave(self, awaited: Awaited) -> None:
        """Wait no longer, but let the communication be answered."""


class HttpCommunication:
    """A communication over a channel; implements `protocols.plugin.OpenCommunication`."""

    def __init__(self, channel: HttpChannel, desk: CallbackPort, awaited: Awaited) -> None:
        self._channel = channel
        self._desk = desk
        self._awaited = awaited
        self.id = awaited.communication.id
        self.expires_at = awaited.communication.expires_at
        self.resumed = awaited.resumed

    @property
    def answered(self) -> bool:
        """True where the callback is there."""
        return self._awaited.callback is not None

    async def acknowledged(self) -> float:
        """Note that the server has the request; return the seconds since it was begun."""
        seconds = self._channel.elapsed()
        await self._desk.acknowledge(self._awaited)
        return seconds

    async def answer(self, state: str) -> Callback:
        """Wait for the callback; raises `PeerError` where none comes in time."""
        awaited, last = self._awaited, self._channel.end
        end = last
        while awaited.callback is None and awaited.refusals < MOST_REFUSED:
            try:
                async with asyncio.timeout_at(end):
                    await awaited.change()
            except TimeoutError:
                break
            end = min(last, asyncio.get_running_loop().time() + REPAIR)
        if awaited.callback is None and await self._desk.expire(awaited):
            raise self._unanswered(state)
        while (callback := awaited.callback) is None:  # it was stored in the last moment
            await awaited.change()
        await self._channel.called_back(callback.body)
        return callback

    def _unanswered(self, state: str) -> PeerError:
        refused = self._awaited.refusal
        if refused is not None:
            return PeerError(refused.outcome, f"its callback was refused: {refused.message}")
        if self._awaited.resumed:
            message = "the hub was started again meanwhile, and may have missed the callback"
            return PeerError(Outcome.CANCELLED, message)
        return self._channel.late(state)
