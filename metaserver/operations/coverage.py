"""How far teams cover a phase, and the causes of what was not answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import ANSWERED, Outcome
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.watching import PhaseWatch, WatchedServer

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
