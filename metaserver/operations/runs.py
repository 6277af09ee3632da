"""Offline runs: result files that a team uploads, scored beside the runs of its servers."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError, counted, listed
from metaserver.base.records import Problem, TeamName
from metaserver.base.states import OPEN_STATES, PhaseState, Role
from metaserver.base.structs import convert
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import NewName, PhaseField, TaskField, TeamField
from metaserver.operations.regrading import PATIENCE_SECONDS, turn
from metaserver.operations.table import Scope, operation
from metaserver.operations.text_files import unpacked
from metaserver.operations.uploads import (
    UploadAllowance,
    allowance,
    compare_upload,
    count_read,
    filed_tasks,
    keep_score,
    require_upload,
)
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.store import runs, uploads
from metaserver.store.runs import OfflineRun
from metaserver.store.teams import Team
from metaserver.tasks.plugin import FiledTask, OfflineTask, RunFile

RunField = Annotated[
    str,
    Meta(
        max_length=200,
        description="The run's name on the boards, or the team's own name for it if that is unique",
    ),
]


class UploadRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A result file, plain or gzip, as the task has it. `team`: the run's team, for organisers."""

    phase: PhaseField
    task: TaskField
    run: NewName
    content: Annotated[bytes, Meta(description="The result file")]
    team: Annotated[str | None, Meta(description="The run's team (organisers)")] = None


class RunsOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase whose offline runs are listed; for a team, by default the caller's."""

    phase: PhaseField
    team: TeamField | None = None


class OneRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An offline run."""

    phase: PhaseField
    run: RunField


class RunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An offline run: its number of answers, and the problems left out.

    `run` is its name on the boards, unique in the phase, `own_name` that of its team. They differ
    if the name was taken, as R01 of two teams or tasks is: then `run` is TEAM.R01.
    `uploads` is what its team has left, after an upload; null otherwise.
    """

    phase: str
    task: str
    run: str
    own_name: str
    team: str
    articles: int
    problems: tuple[Problem, ...]
    created_at: float
    uploads: UploadAllowance | None = None

    @classmethod
    def of(cls, running: RunningPhase, run: OfflineRun) -> RunDetail:
        """Return a run's public fields."""
        return convert(run, cls, phase=running.name, run=run.name)


class RunContent(msgspec.Struct, frozen=True, kw_only=True):
    """An offline run and its uploaded file, unchanged."""

    run: RunDetail
    content: bytes


@operation("Runs.upload", "PUT /phases/{phase}/runs/{task}/{run}", Role.TEAM, scope=Scope.PHASE)
async def upload(hub: HubContext, caller: Caller, request: UploadRun) -> RunDetail:
    """Upload a result file: it is scored as an offline run, replacing any earlier run.

    Invalid hits are left out and reported with their line, as for a server's answer. Each file that
    can be read counts against the team's limit (`limits.uploads`), for good. While the phase is
    being scored with another gold the upload is refused (409): try again.
    """
    running = hub.phase(request.phase)
    team = await hub.team_for(caller, request.team, "run")
    require_open(hub, running, caller)
    filed(running, request.task)
    count_read(hub, caller, team)
    content = await asyncio.to_thread(unpacked, request.content)
    async with turn(hub, request.phase, PATIENCE_SECONDS) as running:
        require_open(hub, running, caller)  # the phase may have advanced meanwhile
        task = filed(running, request.task)
        require_capacity(running, request, team)
        subject, now = (running, team, task.name), hub.clock()
        if not caller.organiser:
            async with hub.store.reading() as connection:
                await require_upload(connection, *subject, now)
        result = await asyncio.to_thread(_read, running, task, content)
        remaining, upload_id = None, None
        async with hub.store.reading() as connection:
            compared_upload = await compare_upload(connection, *subject, result.payloads)
        async with hub.store.writing() as connection:
            name = await runs.board_name(connection, running.phase.id, team, task.name, request.run)
            if not caller.organiser:
                await require_upload(connection, *subject, now)
                upload_id = await uploads.add(
                    connection,
                    running.phase.id,
                    team.id,
                    task.name,
                    name,
                    at=now,
                    **compared_upload._asdict(),
                )
                remaining = await allowance(connection, *subject, now)
            await runs.put(
                connection,
                running.phase.id,
                team.id,
                task.name,
                name,
                request.run,
                content=content,
                payloads=result.payloads,
                asides=result.asides,
                problems=result.problems,
                at=now,
            )
            detail = {"phase": running.name, "task": task.name, "team": team.name}
            await audit_log(
                connection, caller, "runs.upload", name, articles=result.stated, **detail
            )
        await running.reload(Part.UPLOADS)
        await running.reload(Part.RUNS, name)
        await running.score_run(name)
        if upload_id is not None:
            await keep_score(hub, running, upload_id)
        return msgspec.structs.replace(
            RunDetail.of(running, running.offline[name]), uploads=remaining
        )


@operation("Runs.list", "GET /phases/{phase}/runs", Role.TEAM, scope=Scope.PHASE)
async def list_(hub: HubContext, caller: Caller, request: RunsOf) -> Sequence[RunDetail]:
    """Return a phase's offline runs in upload order: the team's own; to organisers, all."""
    running = hub.phase(request.phase)
    if request.team is not None:
        caller.require_team(TeamName(request.team))
        await hub.team(request.team)
    team = request.team if caller.organiser else caller.team
    return [
        RunDetail.of(running, run)
        for run in running.offline.values()
        if team is None or run.team == team
    ]


@operation("Runs.get", "GET /phases/{phase}/runs/{run}", Role.TEAM, scope=Scope.PHASE)
async def get(hub: HubContext, caller: Caller, request: OneRun) -> RunContent:
    """Return an offline run with its file."""
    running = hub.phase(request.phase)
    run = _own(running, caller, request.run)
    async with hub.store.reading() as connection:
        content = await runs.content(connection, running.phase.id, run.name)
    assert content is not None
    return RunContent(run=RunDetail.of(running, run), content=content)


@operation("Runs.delete", "DELETE /phases/{phase}/runs/{run}", Role.TEAM, scope=Scope.PHASE)
async def delete(hub: HubContext, caller: Caller, request: OneRun) -> None:
    """Delete an offline run, while the phase is open."""
    require_open(hub, hub.phase(request.phase), caller)
    async with turn(hub, request.phase, PATIENCE_SECONDS) as running:
        require_open(hub, running, caller)  # the phase may have advanced meanwhile
        run = _own(running, caller, request.run)
        async with hub.store.writing() as connection:
            await runs.delete(connection, running.phase.id, run.name)
            await runs.delete_method(connection, running.phase.id, run.name)
            detail = {"phase": running.name, "task": run.task, "team": run.team}
            await audit_log(connection, caller, "runs.delete", run.name, **detail)
        await running.reload(Part.RUNS, run.name)
        await running.score_run(run.name)


def require_open(hub: HubContext, running: RunningPhase, caller: Caller) -> None:
    """Raise `RefusedError` for teams unless the phase is open, for organisers if it is closed."""
    state = running.state or running.phase.state(hub.clock())  # just loaded
    if state is PhaseState.CLOSED or (not caller.organiser and state not in OPEN_STATES):
        message = f"{running.label} is {state}: its runs can no longer be changed"
        raise RefusedError(Refusal.STATE, message, field="phase")


def filed(running: RunningPhase, name: str) -> FiledTask | OfflineTask:
    """Return a task in the phase whose runs may be uploaded."""
    filed = filed_tasks(running)
    for filed_name, task in filed.items():
        if filed_name == name:
            return task
    message = f"{name!r} has no result files in {running.label}; expected one of {', '.join(filed)}"
    raise RefusedError(Refusal.INVALID, message, field="task")


def require_capacity(running: RunningPhase, request: UploadRun, team: Team) -> None:
    """Raise `RefusedError` for more runs than the phase allows."""
    names = [
        run.own_name
        for run in running.offline.values()
        if (run.team, run.task) == (team.name, request.task)
    ]
    limit = running.phase.plan.limits.runs
    if request.run not in names and len(names) >= limit:
        most = counted(limit, "offline run")
        message = f"a team may have {most} per task (limits.runs): delete a run first"
        raise RefusedError(Refusal.STATE, message, field="run")


def read_run(running: RunningPhase, task: FiledTask | OfflineTask, content: bytes) -> RunFile:
    """Read a result file, with its format's errors; slow for a large file."""
    scored = {scored.plugin.name: scored.gold for scored in running.boards.scoreboard.scored()}
    if isinstance(task, OfflineTask) and task.name not in scored:
        message = f"{running.label} has no gold for {task.name} yet, so that runs cannot be checked"
        raise RefusedError(Refusal.STATE, message, field="task")
    with tempfile.TemporaryDirectory(prefix="metaserver-run-") as folder:
        path = Path(folder) / "run.tsv"
        path.write_bytes(content)
        if isinstance(task, OfflineTask):
            return task.read_upload(path, scored[task.name])
        return task.read_run(path, running.corpus.ids, running.vocabulary)


def _read(running: RunningPhase, task: FiledTask | OfflineTask, content: bytes) -> RunFile:
    """Read a result file; `RefusedError` reports its format errors, each with its line."""
    result = read_run(running, task, content)
    if result.faults:
        raise RefusedError(Refusal.INVALID, listed(result.faults), field="content")
    if not result.payloads:
        message = f"the file has no valid line: {listed(result.problems) or 'empty'}"
        raise RefusedError(Refusal.INVALID, message, field="content")
    return result


def _own(running: RunningPhase, caller: Caller, name: str) -> OfflineRun:
    """Return a run that the caller may see: by its name on the boards, or else by its team's."""
    seen = [run for run in running.offline.values() if caller.viewer.owns(run.team)]
    named = [run for run in seen if run.name == name]
    named = named or [run for run in seen if run.own_name == name]
    if not named:
        raise RefusedError(Refusal.UNKNOWN, f"there is no uploaded run {name!r}", field="run")
    if len(named) > 1:
        message = (
            f"is the name of several runs; expected one of {', '.join(run.name for run in named)}"
        )
        raise RefusedError(Refusal.INVALID, message, field="run")
    return named[0]
