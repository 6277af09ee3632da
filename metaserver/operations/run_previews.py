"""Previews of result files: what an upload would do, and what is wrong, before anything counts."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from metaserver.base.errors import RefusedError
from metaserver.base.findings import general
from metaserver.base.records import Problem
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.runs import (
    UploadRun,
    filed,
    read_run,
    require_capacity,
    require_open,
)
from metaserver.operations.table import Scope, operation
from metaserver.operations.text_files import unpacked
from metaserver.operations.uploads import (
    UploadAllowance,
    allowance,
    count_read,
    require_upload,
)
from metaserver.phases.runtime import RunningPhase
from metaserver.store.teams import Team
from metaserver.tasks.plugin import RunFile

SHOWN = 200
"""How many problems of each sort a preview names; the others are counted."""
KINDS = 20

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class ProblemKind(msgspec.Struct, frozen=True, kw_only=True):
    """Problems of a kind: what differs between them is left out of the text."""

    text: str
    times: int


class RunPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What uploading a file would do; nothing was stored, and nothing counts.

    `accepted`: it would be taken as it is. `faults` are format errors, which make it unusable;
    `problems` are what would be left out, both with their lines, the first 200 each. `refused` is
    why an upload would be refused whatever is in the file. `articles` have an answer in it,
    `missing` have none: an INT or IPT run answers these with nothing. `replaces`: the
    team's run of this name and task is replaced.
    """

    phase: str
    task: str
    run: str
    team: str
    accepted: bool
    refused: str
    replaces: bool
    articles: int
    missing: int
    faults: tuple[Problem, ...]
    fault_count: int
    problems: tuple[Problem, ...]
    problem_count: int
    kinds: tuple[ProblemKind, ...]
    uploads: UploadAllowance | None = None


@operation(
    "Runs.preview", "POST /phases/{phase}/runs/{task}/{run}/preview", Role.TEAM, scope=Scope.PHASE
)
async def preview(hub: HubContext, caller: Caller, request: UploadRun) -> RunPreview:
    """Read a result file as an upload would, with every error by its line; nothing is stored.

    It counts against no limit of uploads; a team may have 120 files read in an hour.
    """
    running = hub.phase(request.phase)
    require_open(hub, running, caller)  # what is wrong in a file tells of the phase's articles
    team = await hub.team_for(caller, request.team, "run")
    task = filed(running, request.task)
    count_read(hub, caller, team)
    content = await asyncio.to_thread(unpacked, request.content)
    result = await asyncio.to_thread(read_run, running, task, content)
    remaining = None
    if not caller.organiser:
        async with hub.store.reading() as connection:
            remaining = await allowance(connection, running, team, task.name, hub.clock())
    refused = await _refused(hub, caller, running, request, team)
    key = (team.name, task.name, request.run)
    offline = running.offline.values()
    problems = result.faults or result.problems
    return RunPreview(
        phase=running.name,
        task=task.name,
        run=request.run,
        team=team.name,
        accepted=not refused and is_usable(result),
        refused=refused,
        replaces=any((run.team, run.task, run.own_name) == key for run in offline),
        articles=result.stated,
        missing=running.articles_of(task) - result.stated,
        faults=tuple(result.faults[:SHOWN]),
        fault_count=len(result.faults),
        problems=tuple(result.problems[:SHOWN]),
        problem_count=len(result.problems),
        kinds=tuple(kinds_of(problems)),
        uploads=remaining,
    )


def is_usable(result: RunFile) -> bool:
    """Return whether a file has a valid answer, and no format error."""
    return bool(result.payloads) and not result.faults


def kinds_of(problems: Iterable[Problem]) -> Iterable[ProblemKind]:
    """Return the most frequent kinds of problems, in order."""
    counts = Counter(_QUOTED.sub("…", general(problem.message)) for problem in problems)
    return [ProblemKind(text=text, times=times) for text, times in counts.most_common(KINDS)]


async def _refused(
    hub: HubContext, caller: Caller, running: RunningPhase, request: UploadRun, team: Team
) -> str:
    """Return why an upload would be refused whatever is in the file; or empty."""
    try:
        require_capacity(running, request, team)
        if not caller.organiser:
            task = filed(running, request.task).name
            async with hub.store.reading() as connection:
                await require_upload(connection, running, team, task, hub.clock())
    except RefusedError as error:
        return error.message
    return ""
