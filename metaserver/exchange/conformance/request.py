"""Requests without an article, with all their measurements."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from metaserver.base.compression import unpack
from metaserver.base.conformance import ConformanceStep, StepState
from metaserver.base.errors import PeerError
from metaserver.base.records import Server, Timings
from metaserver.base.states import Outcome
from metaserver.exchange.http.caller import MAX_QUERIES
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.plugin import ServerChannel

SHOWN = 4_000  # characters of an answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """The result of one request; `error` is None where there is a value."""

    value: Any
    error: PeerError | None
    timings: Timings
    reused: bool  # the connection was open before
    seconds: float  # the total
    raw: bytes
    again: str  # the reason for sending it again, empty if it was not

    @property
    def connected(self) -> bool:
        """True where there was a connection that a request could be written to."""
        return self.reused or self.timings.connect is not None

    def failed(self, name: str, seconds: float) -> ConformanceStep:
        """Return the failed step of this request's error."""
        assert self.error is not None
        return ConformanceStep(
            name=name,
            state=StepState.FAILED,
            seconds=seconds,
            message=self.error.message + self.again,
            outcome=self.error.outcome,
            raw=beginning(self.raw),
        )


async def ask(
    client: HttpClient,
    server: Server,
    question: Callable[[ServerChannel], Awaitable[Any]],
    deadline: float,
) -> Reply:
    """Ask a server over a channel, within `deadline` seconds.

    It is asked again if the hub stood still meanwhile, a few times at most.
    """
    again = ""
    for _ in range(MAX_QUERIES):
        reply = await _ask(client, server, question, deadline, again)
        if reply.error is None or not reply.error.void:
            return reply
        again = asked_again(reply.error.excuse())
    assert reply.error is not None
    return replace(reply, error=PeerError(Outcome.CANCELLED, reply.error.excuse()))


def asked_again(reason: str) -> str:
    """Return the part of a step's message about an earlier try."""
    return f"; asked again: {reason}"


async def _ask(
    client: HttpClient,
    server: Server,
    question: Callable[[ServerChannel], Awaitable[Any]],
    deadline: float,
    again: str,
) -> Reply:
    exchange = Exchange(client.limits.answer.bytes)
    value, error, channel = None, None, None
    begin = time.perf_counter()
    try:
        channel = client.channel(server, exchange, deadline)
        value = await question(channel)
    except PeerError as caught:
        error = caught
        if channel is not None:
            error.message = channel.hide(error.message)
    return Reply(
        value=value,
        error=error,
        timings=exchange.timings(),
        reused=exchange.reused,
        seconds=time.perf_counter() - begin,
        raw=exchange.raw(),
        again=again,
    )


def beginning(raw: bytes) -> str:
    """Return the first characters of an answer that is compressed as zstd frames."""
    return unpack(raw, 4 * SHOWN).decode("utf-8", "replace")[:SHOWN]
