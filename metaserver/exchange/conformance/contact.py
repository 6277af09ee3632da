"""The first steps of a conformance run: resolve, connect, TLS, and the state that is reported.

They follow from the marks of the request for the server's state, made with the hub's own client:
the guard against addresses applies to this request as to articles.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import ip_address
from typing import Any

import msgspec
from yarl import URL

from metaserver.base.compression import unpack
from metaserver.base.conformance import ConformanceStep, StepState, passed, skipped
from metaserver.base.errors import PeerError
from metaserver.base.records import Server, ServerReport, Timings
from metaserver.base.states import UNAVAILABLE_STATES, Outcome, ReportedState
from metaserver.exchange.http.caller import MAX_QUERIES, PROBE_SECONDS, UNREACHED, protocol_of
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.plugin import ServerChannel
from metaserver.exchange.protocols.xmlrpc import (
    GET_STATE,
    LIST_METHODS,
    XMLRPC,
    query,
    server_report,
)
from metaserver.exchange.wire.contract import Report, Severity, described, read, read_member
from metaserver.exchange.wire.values import Value

# -- requests without an article, with all their measurements --------------------------------------

SHOWN = 4_000  # characters of an answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A request's result; `error` is None if there is a value."""

    value: Any
    error: PeerError | None
    timings: Timings
    reused: bool  # the connection was open before
    seconds: float  # the total
    raw: bytes
    again: str  # the reason for sending it again, empty if it was not

    @property
    def connected(self) -> bool:
        """True if there was a connection to write a request to."""
        return self.reused or self.timings.connect is not None

    def failed(self, name: str, seconds: float) -> ConformanceStep:
        """Return the failed step for this request's error."""
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

    The request is repeated if the hub stood still meanwhile, a few times at most.
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


def beginning(raw: bytes, shown: int = SHOWN) -> str:
    """Return the first characters of an answer that is compressed as zstd frames."""
    return unpack(raw, 4 * shown).decode("utf-8", "replace")[:shown]


# -- the step `state`: the state that the server reports, or else its methods ----------------------

STATE = "state"


def question(server: Server) -> Callable[[ServerChannel], Awaitable[Any]]:
    """Return the first request for a server: for its state, if it may have one."""
    protocol = protocol_of(server)
    if protocol is XMLRPC:
        return partial(query, method=GET_STATE)
    method = protocol.state if protocol.reports_state else protocol.touch
    return partial(method, server=server)


async def state_step(
    client: HttpClient, server: Server, reply: Reply, deadline: float
) -> ConformanceStep:
    """Return the step for the state that a server reports; reporting none is no failure."""
    seconds = reply.seconds - (reply.timings.dns or 0.0) - (reply.timings.connect or 0.0)
    if reply.error is None:
        client.versions.report(server.name, _version(reply.value))
    if protocol_of(server) is not XMLRPC:
        return _other_step(reply, seconds)
    if reply.error is None:
        return _reported_step(server, reply, seconds)
    if reply.error.outcome in UNREACHED:
        return reply.failed(STATE, seconds)
    methods = await ask(client, server, partial(query, method=LIST_METHODS), deadline)
    seconds += methods.seconds
    if methods.error is not None and methods.error.outcome in UNREACHED:
        return methods.failed(STATE, seconds)
    passed, message = _without_state(server, reply.error, methods)
    return ConformanceStep(
        name=STATE,
        state=StepState.PASSED if passed else StepState.WARNING,
        seconds=seconds,
        message=message,
        outcome=reply.error.outcome,
        raw=beginning(reply.raw),
    )


def _version(value: Any) -> str:
    """Return the version in the answer to a query for the state, in whichever protocol."""
    return (value if isinstance(value, ServerReport) else server_report(value)).version


def _other_step(reply: Reply, seconds: float) -> ConformanceStep:
    """Return the step for a protocol with its own states, if any."""
    if reply.error is not None:
        return reply.failed(STATE, seconds)
    report = reply.value
    unavailable = isinstance(report, ServerReport) and report.state in UNAVAILABLE_STATES
    said = report
    if isinstance(report, ServerReport):
        said = f"the server says it is {report.state}"
        said += f"; documents it takes: {report.documents}" if report.documents else ""
    return ConformanceStep(
        name=STATE,
        state=StepState.FAILED if unavailable else StepState.PASSED,
        seconds=seconds,
        message=said or "the server was asked for its state, and answered without one",
        raw=beginning(reply.raw),
    )


def _without_state(server: Server, error: PeerError, methods: Reply) -> tuple[bool, str]:
    """Return whether a server without a state is as it should be, and a message on it."""
    if error.outcome is Outcome.HTTP:
        return (
            False,
            f"{GET_STATE}: {error.message}; expected a fault if the server has no such method",
        )
    if methods.error is not None:
        return False, f"neither {GET_STATE} ({error}) nor {LIST_METHODS} ({methods.error})"
    if not isinstance(methods.value, list) or server.method not in methods.value:
        return False, f"{LIST_METHODS} does not list {server.method}, the method that is registered"
    return True, f"no {GET_STATE}, which is optional; {LIST_METHODS} lists {server.method}"


def _reported_step(server: Server, reply: Reply, seconds: float) -> ConformanceStep:
    report = Report()
    reported, message = _read_state(server, reply.value, report)
    if reported in UNAVAILABLE_STATES:
        state = StepState.FAILED
    elif reported == ReportedState.OVERLOADED or report.count(Severity.SHAPE):
        state = StepState.WARNING
    else:
        state = StepState.PASSED
    return ConformanceStep(
        name=STATE,
        state=state,
        seconds=seconds,
        message=message,
        problems=tuple(report.problems),
        problem_count=report.problem_count,
        raw=beginning(reply.raw),
    )


def _read_state(server: Server, value: Value, report: Report) -> tuple[str | None, str]:
    """Return the state (None if invalid) and a line on it; report its problems."""
    struct = read(value, dict, STATE, report)
    if struct is None:
        return None, f"{GET_STATE}: expected struct"
    state = read_member(struct, "state", str, STATE, report)
    version = read_member(struct, "version", str, STATE, report)
    max_concurrent = read_member(struct, "max_concurrent", int, STATE, report)
    if state is not None and state not in list(ReportedState):
        report.shape(
            f"{STATE}.state", f"expected one of {', '.join(ReportedState)}, got {described(state)}"
        )
    if max_concurrent is not None and max_concurrent < server.concurrency:
        expected = f"{server.concurrency} or more, as registered"
        report.shape(f"{STATE}.max_concurrent", f"expected {expected}, got {max_concurrent}")
    if state in UNAVAILABLE_STATES:
        return state, f"the server reports the state {state}"
    members = {"version": version, "max_concurrent": max_concurrent}
    parts = [f"{name} {value!s:.40}" for name, value in members.items() if value is not None]
    return state, ", ".join([f"{state:.40}", *parts] if state else parts)


# -- the first steps of a conformance run ----------------------------------------------------------

RESOLVE, CONNECT, TLS = "resolve", "connect", "TLS"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """The contact's steps, and the obstacle to sending articles (empty: no obstacle)."""

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
    """Yield resolve, connect and TLS; the steps after a failure are skipped."""
    stopped = _stopped_at(url, reply)
    timed = _timed(url, reply)
    absent = _absent(url)
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
            step = passed(name, _message(name, url, reply))
            yield msgspec.structs.replace(step, seconds=timed[name])


def _stopped_at(url: URL, reply: Reply) -> str | None:
    """Return the step that failed, None if there was a connection."""
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
    """Return each step's seconds; the client times the connection with its handshake."""
    connect, secure = reply.timings.connect, url.scheme == "https"
    return {
        RESOLVE: reply.timings.dns,
        CONNECT: None if secure else connect,
        TLS: connect if secure else None,
    }


def _absent(url: URL) -> Mapping[str, str]:
    """Return the steps that do not apply, each with the reason."""
    absent = {}
    if _is_literal(url):
        absent[RESOLVE] = "an address, not a name"
    if url.scheme == "http":
        absent[TLS] = "not asked for: http"
    return absent


def _message(name: str, url: URL, reply: Reply) -> str:
    if reply.reused:
        return "a connection was open already"
    if name == RESOLVE and reply.timings.dns is None:
        return "the name was looked up a moment ago"
    return "timed with TLS" if name == CONNECT and url.scheme == "https" else ""


def _is_literal(url: URL) -> bool:
    try:
        ip_address(url.host or "")
    except ValueError:
        return False
    return True
