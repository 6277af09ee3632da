"""The control room of a phase: how far it is, each server's forecast, what needs a look.

It counts how far teams cover the tasks, and the causes of attempts that were not answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.findings import FindingKind, PhaseFinding, Subject
from metaserver.base.plans import Change
from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import ANSWERED, Outcome, PhaseState, Role, ServerState
from metaserver.base.structs import convert
from metaserver.base.zones import shown_name, to_zone
from metaserver.boards.forecast import Forecast, Verdict
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import GREATEST, PhaseField
from metaserver.operations.methods import seen_methods
from metaserver.operations.table import Scope, operation
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.watching import PhaseWatch, WatchedServer, watch

CAUSES = frozenset(Outcome) - ANSWERED - {Outcome.CANCELLED}


class TaskCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """A team's runs for a task: their number, and the articles that the fullest run answered.

    A server with the task is a run; an article counts if its answer has the task. A whole run
    answers `total` articles.
    """

    task: str
    runs: int
    articles: int
    total: int


class TeamCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """A team's coverage of the phase's tasks."""

    team: str
    tasks: tuple[TaskCoverage, ...]


class CauseCount(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of unanswered attempts: how many, on how many servers, and mostly whose."""

    outcome: Outcome
    attempts: int
    servers: int
    most: str
    most_attempts: int


def coverage(running: RunningPhase, watched: PhaseWatch) -> Sequence[TeamCoverage]:
    """Return each team's coverage per task; a server without a team is its own team."""
    runs: defaultdict[str, list[tuple[TaskName, int]]] = defaultdict(list)
    task_names = [task.name for task in running.tasks]
    for server in watched.servers:
        answers = server.status.tasks or task_names
        team = server.team or server.status.name
        count = partial(running.boards.server_monitor.answered, server.status.name)
        runs[team] += [(task, count(task)) for task in task_names if task in answers]
    for run in running.offline.values():
        runs[run.team].append((run.task, run.articles))
    totals = {task.name: running.articles_of(task) for task in running.tasks}
    return [
        TeamCoverage(
            team=team, tasks=tuple(_cell(task, total, runs[team]) for task, total in totals.items())
        )
        for team in sorted(runs)
    ]


def _cell(task: TaskName, total: int, runs: Sequence[tuple[TaskName, int]]) -> TaskCoverage:
    of_task = [articles for name, articles in runs if name == task]
    answered = max(of_task, default=0)
    return TaskCoverage(task=task, runs=len(of_task), articles=answered, total=total)


def causes(servers: Iterable[WatchedServer]) -> Sequence[CauseCount]:
    """Return the causes of unanswered attempts, the most frequent first."""
    by_cause: defaultdict[Outcome, Counter[ServerName]] = defaultdict(Counter)
    for server in servers:
        for outcome, count in server.status.outcomes.items():
            if count and outcome in CAUSES:
                by_cause[outcome][server.status.name] = count
    counts_by_cause = []
    for outcome, counts in by_cause.items():
        [(commonest, attempts)] = counts.most_common(1)
        counts_by_cause.append(
            CauseCount(
                outcome=outcome,
                attempts=counts.total(),
                servers=len(counts),
                most=commonest,
                most_attempts=attempts,
            )
        )
    return sorted(counts_by_cause, key=lambda cause: -cause.attempts)


ROWS = 100
NAMED = 10  # subjects of a finding that are listed; the others are counted
UPLOADS = 10  # newest runs that are listed
LAST_MINUTE = 12  # values of `Monitor.throughput`, each over 5 s
ORDER = tuple(Verdict)
AT_WORK = frozenset({Verdict.LATE, Verdict.CLOSE, Verdict.IN_TIME, Verdict.NO_DEADLINE})
"""The verdicts on servers that are sent articles and have a forecast."""


class WatchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase, and which of its servers and teams to return."""

    phase: PhaseField
    verdict: Annotated[
        Verdict | None, Meta(description="Only the servers whose forecast says this")
    ] = None
    start: Annotated[int, Meta(ge=0, le=GREATEST, description="The first server, from 0")] = 0
    team_start: Annotated[int, Meta(ge=0, le=GREATEST, description="The first team, from 0")] = 0
    limit: Annotated[int, Meta(ge=1, le=200, description="The most servers, and teams")] = ROWS


class ServerForecast(msgspec.Struct, frozen=True, kw_only=True):
    """A server's queue, and the time that it needs for the rest: see `Forecast`."""

    server: str
    team: str
    state: ServerState
    note: str
    done: int
    given_up: int
    total: int
    in_flight: int
    verdict: Verdict
    forecast: Forecast | None


class UploadedRun(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded run; `at` is in Unix seconds."""

    run: str
    team: str
    task: str
    articles: int
    at: float


class FoundDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Something that needs a look: `count` servers or tasks, of which the first are listed."""

    kind: FindingKind
    count: int
    subjects: tuple[Subject, ...]


class ControlRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A phase as its organisers watch it; times are seconds, `now` Unix seconds.

    `next` is what the clock does next, `deadline` the change after which no article is sent, and
    `left` the time until then. `done`, `given_up` and `total` are articles over all servers;
    `per_minute` is the number of answers in the last minute, `throughput` the answers per minute in
    5 s steps, oldest first. `needs` is the forecast for the working server that will be last.

    `servers` are the requested part of the `matching`, most urgent first; `verdicts` and `states`
    count all. `coverage` is the requested part of all `teams`; a whole run of a task answers its
    `total`. `uploads` counts the uploaded runs, `newest_uploads` lists the last. `undescribed`
    counts the runs whose teams have not said how they were made.
    """

    phase: str
    title: str
    state: PhaseState
    timezone: str
    now: float
    next: Change | None
    deadline: Change | None
    left: float | None
    catching_up: str
    blocked: str
    articles: int
    done: int
    given_up: int
    total: int
    per_minute: float | None
    throughput: tuple[float, ...]
    needs: ServerForecast | None
    verdicts: dict[Verdict, int]
    states: dict[ServerState, int]
    matching: int
    servers: tuple[ServerForecast, ...]
    teams: int
    coverage: tuple[TeamCoverage, ...]
    errors: tuple[CauseCount, ...]
    uploads: int
    newest_uploads: tuple[UploadedRun, ...]
    undescribed: int
    findings: tuple[FoundDetail, ...]


@operation("Phases.watch", "GET /phases/{phase}/watch", Role.ORGANISER, scope=Scope.PHASE)
async def watch_phase(hub: HubContext, caller: Caller, request: WatchQuery) -> ControlRoom:
    """Return how far a phase is, each server's forecast against the deadline, what needs a look."""
    running, now = hub.phase(request.phase), hub.clock()
    watched, zone = watch(running, now), running.phase.timezone
    coming = [_in_zone(change, zone) for change in running.phase.coming(now)]
    monitor = running.boards.monitor()
    servers = sorted(watched.servers, key=_urgency)
    matching = [server for server in servers if request.verdict in (None, server.verdict)]
    teams = coverage(running, watched)
    uploads = sorted(running.offline.values(), key=lambda run: run.created_at, reverse=True)
    last = max(
        (server for server in servers if server.verdict in AT_WORK), key=_needed, default=None
    )
    return ControlRoom(
        phase=running.name,
        title=running.phase.plan.title,
        state=running.phase.state(now),
        timezone=shown_name(zone),
        now=now,
        next=next(iter(coming), None),
        deadline=None if watched.deadline is None else _in_zone(watched.deadline, zone),
        left=watched.left,
        catching_up=running.catching_up,
        blocked=monitor.blocked,
        articles=len(running.corpus),
        done=sum(server.status.done for server in servers),
        given_up=sum(server.status.given_up for server in servers),
        total=sum(server.status.total for server in servers),
        per_minute=fmean(monitor.throughput[-LAST_MINUTE:]) if monitor.throughput else None,
        throughput=tuple(monitor.throughput),
        needs=None if last is None else _row(last),
        verdicts=dict(Counter(server.verdict for server in servers)),
        states=dict(Counter(server.status.state for server in servers)),
        matching=len(matching),
        servers=tuple(map(_row, matching[request.start :][: request.limit])),
        teams=len(teams),
        coverage=tuple(teams[request.team_start :][: request.limit]),
        errors=tuple(causes(servers)),
        uploads=len(uploads),
        newest_uploads=tuple(
            UploadedRun(
                run=run.name, team=run.team, task=run.task, articles=run.articles, at=run.created_at
            )
            for run in uploads[:UPLOADS]
        ),
        undescribed=sum(
            method.method is None for method in await seen_methods(hub, running, caller.viewer)
        ),
        findings=tuple(map(_found, watched.findings)),
    )


def _urgency(server: WatchedServer) -> tuple[int, float, str]:
    """Return a server's sort key: by verdict, then longest need first."""
    return ORDER.index(server.verdict), -_needed(server), server.status.name


def _needed(server: WatchedServer) -> float:
    return server.forecast.seconds if server.forecast else 0.0


def _row(server: WatchedServer) -> ServerForecast:
    status = server.status
    return convert(
        status,
        ServerForecast,
        server=status.name,
        team=server.team,
        verdict=server.verdict,
        forecast=server.forecast,
    )


def _found(finding: PhaseFinding) -> FoundDetail:
    return FoundDetail(
        kind=finding.kind, count=len(finding.subjects), subjects=finding.subjects[:NAMED]
    )


def _in_zone(change: Change, zone: str) -> Change:
    return msgspec.structs.replace(change, at=to_zone(change.at, zone))
