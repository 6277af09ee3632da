"""The first steps of a conformance run, resolve, connect, TLS, state, derived from one request.

They follow from the marks of the request for the server's state, made with the hub's own client:
the guard against addresses applies to this request as to articles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

import msgspec
from yarl import URL

from metaserver.base.conformance import ConformanceStep, StepState, skipped
from metaserver.base.records import Server
from metaserver.base.states import Outcome
from metaserver.exchange.conformance.request import Reply, ask
from metaserver.exchange.conformance.state import STATE, question, state_step
from metaserver.exchange.http.caller import PROBE_SECONDS
from metaserver.exchange.http.client import HttpClient

RESOLVE, CONNECT, TLS = "resolve", "connect", "TLS"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """The steps of the contact, and the obstacle to sending articles (empty: there is none)."""

    steps: tuple[ConformanceStep, ...]
    obstacle: str


async def contact(client: HttpClient, server: Server, time_limit: float) -> Contact:
    """Ask the server for its state, and return the steps that this took."""
    # The connection has a limit of its own, which must be the first to be exceeded.
    deadline = client.limits.connect + min(time_limit, PROBE_SECONDS)
    reply = await ask(client, server, question(server), deadline)
    network = tuple(_network_steps(URL(server.url), reply))
    if not reply.connected:
        failed = next(step.name for step in network if step.state is StepState.FAILED)
        obstacle = f"{failed} failed"
        return Contact(steps=(*network, skipped(STATE, obstacle)), obstacle=obstacle)
    state = await state_step(client, server, reply, deadline)
    if reply.error is None:
        state = msgspec.structs.replace(state, message=state.message + reply.again)
    unavailable = state.state is StepState.FAILED and reply.error is None
    return Contact(steps=(*network, state), obstacle=state.message if unavailable else "")


def _network_steps(url: URL, reply: Reply) -> Iterator[ConformanceStep]:
    """Yield resolve, connect and TLS; where one failed, those after it are skipped."""
    stopped = _stopped_at(url, reply)
    timed = _timed(url, reply)
    absent = _absent(url, reply)
    failed = False
    for name in (RESOLVE, CONNECT, TLS):
        if name in absent:
            yield skipped(name, absent[name])
        elif failed:
            yield skipped(name, f"{stopped} failed")
        elif name == stopped:
            failed = True
            yield reply.failed(name, reply.seconds - sum(filter(None, timed.values())))
        else:
            message = _message(name, url, reply)
            yield ConformanceStep(
                name=name, state=StepState.PASSED, seconds=timed[name], message=message
            )


def _stopped_at(url: URL, reply: Reply) -> str | None:
    """Return the step that failed, None where there was a connection."""
    if reply.connected or reply.error is None:
        return None
    match reply.error.outcome:
        case Outcome.DNS:
            return RESOLVE
        case Outcome.TLS:
            return TLS
        case Outcome.TIMEOUT if reply.timings.dns is None and not _is_literal(url):
            return RESOLVE
        case _:
            return CONNECT


def _timed(url: URL, reply: Reply) -> Mapping[str, float | None]:
    """Return the seconds of each step; the client times the connection with its handshake."""
    connect, secure = reply.timings.connect, url.scheme == "https"
    return {
        RESOLVE: reply.timings.dns,
        CONNECT: None if secure else connect,
        TLS: connect if secure else None,
    }


def _absent(url: URL, reply: Reply) -> Mapping[str, str]:
    """Return the steps that do not apply, each with the reason."""
    absent = {}
    if _is_literal(url):
        absent[RESOLVE] = "an address, not a name"
    if url.scheme == "http":
        absent[TLS] = "not asked for: http"
    return absent


def _message(name: str, url: URL, reply: Reply) -> str:
    if reply.reused:
        return "by a connection that was open already"
    if name == RESOLVE and reply.timings.dns is None:
        return "known from a moment ago"
    return "timed with TLS" if name == CONNECT and url.scheme == "https" else ""


def _is_literal(url: URL) -> bool:
    try:
        ip_address(url.host or "")
    except ValueError:
        return False
    return True
