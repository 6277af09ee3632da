"""The step `state`: the state that the server reports, or else its methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from metaserver.base.conformance import ConformanceStep, StepState
from metaserver.base.errors import PeerError
from metaserver.base.records import Server, ServerReport
from metaserver.base.states import UNAVAILABLE_STATES, Outcome, ReportedState
from metaserver.exchange.conformance.request import Reply, ask, beginning
from metaserver.exchange.http.caller import UNREACHED, protocol_of
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.protocols.plugin import ServerChannel
from metaserver.exchange.protocols.xmlrpc import (
    GET_STATE,
    LIST_METHODS,
    XMLRPC,
    query,
    server_report,
)
from metaserver.exchange.wire.contract import described, read, read_member
from metaserver.exchange.wire.report import Report, Severity
from metaserver.exchange.wire.xmlrpc import Value

STATE = "state"


def question(server: Server) -> Callable[[ServerChannel], Awaitable[Any]]:
    """Return the request that a server is first asked with: for its state, if it may have one."""
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
    """Return the step of a protocol with states of its own, or none."""
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
            f"{GET_STATE}: {error.message}; a missing method should be answered by a fault",
        )
    if methods.error is not None:
        return False, f"neither {GET_STATE} ({error}) nor {LIST_METHODS} ({methods.error})"
    if not isinstance(methods.value, list) or server.method not in methods.value:
        return False, f"{LIST_METHODS} does not list {server.method}"
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
    """Return the state (None where it is invalid) and one line on it; report its problems."""
    struct = read(value, dict, STATE, report)
    if struct is None:
        return None, f"{GET_STATE} gave no struct"
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
        return state, f"the server says it is {state}"
    members = {"version": version, "max_concurrent": max_concurrent}
    parts = [f"{name} {value!s:.40}" for name, value in members.items() if value is not None]
    return state, ", ".join([f"{state:.40}", *parts] if state else parts)
