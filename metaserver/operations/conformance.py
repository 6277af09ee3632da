"""Testing servers for a phase: results, and whether these are still valid."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.conformance import NO_PHASE, Conformance, ConformanceStep, Terms
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import PhaseName, RegisteredServer
from metaserver.base.states import OPEN_STATES, OVER, PhaseState, Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import ServerField
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import operation
from metaserver.phases.conformance import Conditions, verdict
from metaserver.phases.runtime import RunningPhase
from metaserver.store.jobs import StoredJob

KIND = "servers.test"


class TestState(StrEnum):
    """A server's test state for a phase."""

    NEVER = "never"  # not tested for it since it was registered or changed
    PASSED = "passed"  # it may be started
    FAILED = "failed"
    OUTDATED = "outdated"  # it passed, but the phase's conditions have changed since


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """A server's test state for a phase; `at` is the test's time, Unix seconds.

    `reasons` are the problems found, or the phase's changes since the test was passed.
    """

    phase: str
    state: TestState
    at: float | None = None
    reasons: tuple[str, ...] = ()


class ServerTest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server to test, and the phase that it is tested for."""

    server: ServerField
    phase: Annotated[
        str | None,
        Meta(description="The phase; none: the one that is open, else the next that opens"),
    ] = None


class TestStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A server's test state for a phase; `last` is the last whole run's report.

    `phase` is empty if there is no phase to test for. `under_way` is the phase that the server is
    being tested for now, or null; `steps` are those so far if that is this phase, else the last
    run's. `terms` are what a run would test now.
    """

    server: str
    phase: str
    steps: tuple[ConformanceStep, ...]
    under_way: str | None
    last: Conformance | None
    tested: Tested
    terms: Terms


def tested_for(
    hub: HubContext, registered: RegisteredServer, running: RunningPhase | None
) -> Tested:
    """Return a server's test state for a phase (None: for no phase)."""
    phase = running.name if running else NO_PHASE
    last = verdict(registered, phase)
    if last is None:
        return Tested(phase=phase, state=TestState.NEVER)
    if not last.passed:
        return Tested(phase=phase, state=TestState.FAILED, at=last.at, reasons=last.reasons)
    now = Conditions.of(registered.server, running, hub.settings).terms
    changes = tuple(now.changes(last.terms))
    state = TestState.OUTDATED if changes else TestState.PASSED
    return Tested(phase=phase, state=state, at=last.at, reasons=changes)


def tests(hub: HubContext, registered: RegisteredServer) -> Sequence[Tested]:
    """Return a server's test states for all phases that are not over."""
    return [tested_for(hub, registered, running) for running in likely_phases(hub)]


def newest_test(hub: HubContext, registered: RegisteredServer, phases: Container[str]) -> Tested:
    """Return a server's newest test state, for any of some phases, or for none."""
    results = [
        tested_for(hub, registered, hub.phases.scheduler.phases.get(PhaseName(phase)))
        for phase in registered.verdicts
        if phase in phases or phase == NO_PHASE
    ]
    return max(
        results,
        key=lambda result: result.at or 0.0,
        default=Tested(phase="", state=TestState.NEVER),
    )


def require_passed(hub: HubContext, registered: RegisteredServer, running: RunningPhase) -> None:
    """Raise `RefusedError` unless a server has passed its test for a phase."""
    tested = tested_for(hub, registered, running)
    reasons, phase = "; ".join(tested.reasons), running.label
    message = {
        TestState.NEVER: f"it has not been tested for {phase}: test it first",
        TestState.FAILED: f"its test for {phase} failed: {reasons}",
        TestState.OUTDATED: f"{phase} has changed since its test ({reasons}): test it again",
        TestState.PASSED: "",
    }[tested.state]
    if message:
        raise RefusedError(Refusal.STATE, message, field="server")


@operation("Servers.test", "POST /servers/{server}/test", Role.TEAM, report=Conformance)
async def test(hub: HubContext, caller: Caller, request: ServerTest) -> JobDetail:
    """Begin to test a server for a phase: it must pass before it can be started there.

    The test uses the phase's tasks, UniProt release and limits. It takes as long as the server
    takes for some ten articles: it is a background job, and who asks for the same test again gets
    the same job. `servers test-status` has its steps so far.
    """
    registered = await hub.server_in_use(caller, request.server)
    running = phase_to_test(hub, request.phase)
    detail = {} if running is None else {"phase": running.name}
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, KIND, request.server, **detail)
    conditions = Conditions.of(registered.server, running, hub.settings)
    name, team = registered.server.name, registered.team or ""
    subject = f"{name} {conditions.terms.phase}".strip()

    def is_of_server(job: StoredJob) -> bool:
        return job.kind == KIND and job.subject.split()[0] == name

    if (other_job := await hub.jobs.board.elsewhere(team, is_of_server)) is not None:
        return _joined(other_job, subject)
    running_test = hub.servers.conformance.begin(registered, conditions)
    if (job_known := hub.jobs.own.get(running_test.job)) is not None:
        return JobDetail.of(job_known)
    try:
        job = hub.jobs.own.begin(KIND, subject, caller.name, running_test.ended, team=team)
    except RefusedError:
        running_test.task.cancel()
        raise
    running_test.job = job.id
    assert job.task is not None  # if it is cancelled, that ends its test
    job.task.add_done_callback(lambda _: running_test.task.cancel())
    if (
        other_job := await hub.jobs.board.post(job, is_of_server)
    ) is not None:  # of the same moment
        return _joined(other_job, subject)
    return JobDetail.of(job)


def _joined(other_job: StoredJob, subject: str) -> JobDetail:
    """Return another process' test of a server for an equal request; else `RefusedError`."""
    if other_job.subject != subject:
        message = "it is being tested for another phase: wait until that has ended"
        raise RefusedError(Refusal.STATE, message, field="server")
    return JobDetail.of_stored(other_job)


@operation("Servers.testStatus", "GET /servers/{server}/test", Role.TEAM)
async def get_status(hub: HubContext, caller: Caller, request: ServerTest) -> TestStatus:
    """Return a server's test state for a phase, with the current run's steps.

    Without a phase it is the first in which the server may be started.
    """
    registered = await hub.server(caller, request.server)
    phase_name = request.phase
    phases_likely = (
        likely_phases(hub) if phase_name is None else [require_servers(hub.phase(phase_name))]
    )
    running = next(iter(phases_likely), None)
    phase = running.name if running else NO_PHASE
    running_test = hub.servers.conformance.under_way(registered.server.name)
    last = await hub.servers.conformance.report(registered, running.phase.id if running else None)
    steps = last.steps if last else ()
    return TestStatus(
        server=registered.server.name,
        phase=phase,
        steps=tuple(running_test.steps)
        if running_test and running_test.terms.phase == phase
        else steps,
        under_way=None if running_test is None else running_test.terms.phase,
        last=last,
        tested=tested_for(hub, registered, running),
        terms=Conditions.of(registered.server, running, hub.settings).terms,
    )


def phase_to_test(hub: HubContext, name: str | None) -> RunningPhase | None:
    """Return the phase that a server is tested for; None if no phase is open or planned.

    Without a name it is the open phase, or else the phase that opens next. `RefusedError` if
    several are open, or if one of several planned phases has no date.
    """
    if name is not None:
        return require_servers(hub.phase(name))
    likely = likely_phases(hub)
    now = hub.clock()
    opened = [running for running in likely if running.phase.state(now) in OPEN_STATES]
    undated = not opened and any(running.phase.plan.opens is None for running in likely)
    if len(opened) > 1 or (undated and len(likely) > 1):
        names = ", ".join(running.name for running in opened or likely)
        state = "open at the same time" if opened else "planned"
        raise RefusedError(Refusal.INVALID, f"is needed: {names} are {state}", field="phase")
    return next(iter(likely), None)


def require_servers(running: RunningPhase) -> RunningPhase:
    """Return the phase; `RefusedError` if it takes uploads only."""
    if running.uploads_only:
        tasks = ", ".join(task.name for task in running.tasks)
        message = f"{running.label} takes uploads only ({tasks}): no server takes part in it"
        raise RefusedError(Refusal.STATE, message, field="phase")
    return running


def likely_phases(hub: HubContext) -> Sequence[RunningPhase]:
    """Return the phases in which a server may be started: open phases, then by opening date."""
    now, phases = hub.clock(), hub.phases.scheduler.phases.values()
    candidates = [
        running
        for running in phases
        if running.phase.state(now) not in OVER
        and not running.uploads_only
        and not hub.is_embargoed(running)
    ]
    return sorted(candidates, key=lambda running: _order(running, now))


def _order(running: RunningPhase, now: float) -> tuple[bool, float, int]:
    opens = running.phase.plan.opens
    planned = running.phase.state(now) is PhaseState.SETUP
    return planned, opens.timestamp() if planned and opens else math.inf, running.phase.id
