"""Coverage of a phase by its teams, and the causes of what was not answered."""

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
    """A team's runs of one task: their number, and the articles that the fullest one answered.

    A server that is asked for a task is a run; an article counts if its answer has the task. A
    whole run answers `total` articles.
    """

    task: str
    runs: int
    articles: int
    total: int


class TeamCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """A team's coverage of each task of the phase."""

    team: str
    tasks: tuple[TaskCoverage, ...]


class CauseCount(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of attempts that were not answered: how many, of how many servers, whose mostly."""

    outcome: Outcome
    attempts: int
    servers: int
    most: str
    most_attempts: int


def coverage(running: RunningPhase, watched: PhaseWatch) -> Sequence[TeamCoverage]:
    """Return each team's coverage of each task; a server without a team is a team of its own."""
    runs: defaultdict[str, list[tuple[TaskName, int]]] = defaultdict(list)
    asked = [task.name for task in running.tasks]
    for server in watched.servers:
        answers = server.status.tasks or asked
        team = server.team or server.status.name
        count = partial(running.boards.server_monitor.answered, server.status.name)
        runs[team] += [(task, count(task)) for task in asked if task in answers]
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
    """Return the causes of attempts without an answer, the most frequent first."""
    by_cause: defaultdict[Outcome, Counter[ServerName]] = defaultdict(Counter)
    for server in servers:
        for outcome, count in server.status.outcomes.items():
            if count and outcome in CAUSES:
                by_cause[outcome][server.status.name] = count
    found = []
    for outcome, counts in by_cause.items():
        [(most, attempts)] = counts.most_common(1)
        found.append(
            CauseCount(
                outcome=outcome,
                attempts=counts.total(),
                servers=len(counts),
                most=most,
                most_attempts=attempts,
            )
        )
    return sorted(found, key=lambda one: -one.attempts)
