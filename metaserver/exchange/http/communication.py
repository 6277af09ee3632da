"""A communication over a channel: the wait for a server's callback within the one deadline."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from metaserver.base.communications import Callback
from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.http.callbacks import MOST_REFUSED, REPAIR, Awaited, CallbackDesk

if TYPE_CHECKING:
    from metaserver.exchange.http.channel import HttpChannel


class HttpCommunication:
    """A communication over a channel; implements `protocols.plugin.OpenCommunication`."""

    def __init__(self, channel: HttpChannel, desk: CallbackDesk, awaited: Awaited) -> None:
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
