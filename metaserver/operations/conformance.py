"""Tests of servers for a phase: their results, and whether these are still valid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.conformance import NO_PHASE, Conformance, ConformanceStep, Terms
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import PhaseName, RegisteredServer
from metaserver.base.states import OPEN_STATES, PhaseState, Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import ServerField
from metaserver.operations.jobs import JobDetail, when_ended
from metaserver.operations.table import operation
from metaserver.phases.archiver import OVER
from metaserver.phases.conformance import Conditions, verdict
from metaserver.phases.runtime import RunningPhase
from metaserver.store.jobs import StoredJob

KIND = "servers.test"


class TestState(StrEnum):
    """The state of a server's test for a phase."""

    NEVER = "never"  # not tested for it since it was registered or changed
    PASSED = "passed"  # it may be started
    FAILED = "failed"
    OUTDATED = "outdated"  # it passed, but the phase's conditions have changed since


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a server's test for a phase; `at` is the time of the test, Unix seconds.

    `reasons` are the problems found, or the changes of the phase since the test was passed.
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
    """State of a server's test for a phase; `last` is the report of the last whole run for it.

    `phase` is empty where there is none to test for. `under_way` is the phase that the server is
    being tested for now, null where it is not; `steps` are those so far if that is this phase, else
    the last run's. `terms` are what a run would test now.
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
    """Return the state of a server's test for a phase (None: of its test for no phase)."""
    phase = running.name if running else NO_PHASE
    found = verdict(registered, phase)
    if found is None:
        return Tested(phase=phase, state=TestState.NEVER)
    if not found.passed:
        return Tested(phase=phase, state=TestState.FAILED, at=found.at, reasons=found.reasons)
    now = Conditions.of(registered.server, running, hub.settings).terms
    changes = tuple(now.changes(found.terms))
    state = TestState.OUTDATED if changes else TestState.PASSED
    return Tested(phase=phase, state=state, at=found.at, reasons=changes)


def tests(hub: HubContext, registered: RegisteredServer) -> Sequence[Tested]:
    """Return the states of a server's tests for all phases that are not over."""
    return [tested_for(hub, registered, running) for running in likely_phases(hub)]


def newest_test(hub: HubContext, registered: RegisteredServer) -> Tested:
    """Return the state of a server's newest test, for any phase."""
    made = [
        tested_for(hub, registered, hub.phases.scheduler.phases.get(PhaseName(phase)))
        for phase in registered.verdicts
    ]
    return max(made, key=lambda one: one.at or 0.0, default=Tested(phase="", state=TestState.NEVER))


def require_passed(hub: HubContext, registered: RegisteredServer, running: RunningPhase) -> None:
    """Raise `RefusedError` unless a server has passed its test for a phase."""
    tested = tested_for(hub, registered, running)
    reasons, phase = "; ".join(tested.reasons), running.name
    message = {
        TestState.NEVER: f"it has not been tested for phase {phase}: test it first",
        TestState.FAILED: f"its test for phase {phase} failed: {reasons}",
        TestState.OUTDATED: f"phase {phase} has changed since its test ({reasons}): test it again",
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

    if (other := await hub.jobs.board.elsewhere(team, is_of_server)) is not None:
        return _joined(other, subject)
    found = hub.servers.conformance.begin(registered, conditions)
    if (known := hub.jobs.own.get(found.job)) is not None:
        return JobDetail.of(known)
    try:
        job = hub.jobs.own.begin(KIND, subject, caller.name, found.ended, team=team)
    except RefusedError:
        found.task.cancel()
        raise
    found.job = job.id
    when_ended(hub, job.id, found.task.cancel)  # a job that was cancelled ends its test
    if (other := await hub.jobs.board.post(job, is_of_server)) is not None:  # of the same moment
        return _joined(other, subject)
    return JobDetail.of(job)


def _joined(other: StoredJob, subject: str) -> JobDetail:
    """Return another process's test of a server for a request of the same; `RefusedError` else."""
    if other.subject != subject:
        message = "it is being tested for another phase: wait until that has ended"
        raise RefusedError(Refusal.STATE, message, field="server")
    return JobDetail.of_stored(other)


@operation("Servers.testStatus", "GET /servers/{server}/test", Role.TEAM)
async def get_status(hub: HubContext, caller: Caller, request: ServerTest) -> TestStatus:
    """Return the state of a server's test for a phase, with the steps of the run under way.

    Without a phase it is the first of those that the server may be started in.
    """
    registered = await hub.server(caller, request.server)
    asked = request.phase
    found = likely_phases(hub) if asked is None else [require_servers(hub.phase(asked))]
    running = next(iter(found), None)
    phase = running.name if running else NO_PHASE
    running_test = hub.servers.conformance.under_way(registered.server.name)
    last = await hub.servers.conformance.report(registered, running.phase.id if running else None)
    known = last.steps if last else ()
    return TestStatus(
        server=registered.server.name,
        phase=phase,
        steps=tuple(running_test.steps)
        if running_test and running_test.terms.phase == phase
        else known,
        under_way=None if running_test is None else running_test.terms.phase,
        last=last,
        tested=tested_for(hub, registered, running),
        terms=Conditions.of(registered.server, running, hub.settings).terms,
    )


def phase_to_test(hub: HubContext, name: str | None) -> RunningPhase | None:
    """Return the phase that a server is tested for; None where none is open or planned.

    Without a name it is the one that is open, and while none is open the one that opens next.
    `RefusedError` where several are open, or where one of several that are planned has no date.
    """
    if name is not None:
        return require_servers(hub.phase(name))
    found = likely_phases(hub)
    now = hub.clock()
    opened = [one for one in found if one.phase.state(now) in OPEN_STATES]
    undated = not opened and any(one.phase.plan.opens is None for one in found)
    if len(opened) > 1 or (undated and len(found) > 1):
        names = ", ".join(running.name for running in opened or found)
        state = "open at the same time" if opened else "planned"
        raise RefusedError(Refusal.INVALID, f"is needed: {names} are {state}", field="phase")
    return next(iter(found), None)


def require_servers(running: RunningPhase) -> RunningPhase:
    """Return the phase; `RefusedError` where it takes uploads only."""
    if running.uploads_only:
        tasks = ", ".join(task.name for task in running.tasks)
        message = f"phase {running.name} takes uploads only ({tasks}): no server takes part in it"
        raise RefusedError(Refusal.STATE, message, field="phase")
    return running


def likely_phases(hub: HubContext) -> Sequence[RunningPhase]:
    """Return the phases that a server may be started in: the open ones, then by their opening."""
    now, phases = hub.clock(), hub.phases.scheduler.phases.values()
    found = [
        running
        for running in phases
        if running.phase.state(now) not in OVER
        and not running.uploads_only
        and not hub.is_embargoed(running)
    ]
    return sorted(found, key=lambda running: _order(running, now))


def _order(running: RunningPhase, now: float) -> tuple[bool, float, int]:
    opens = running.phase.plan.opens
    planned = running.phase.state(now) is PhaseState.SETUP
    return planned, opens.timestamp() if planned and opens else math.inf, running.phase.id
