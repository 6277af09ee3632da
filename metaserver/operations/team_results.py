"""A team's results: its runs in each phase and task, with score, place, coverage and curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.boards import Board, BoardRow, column_named
from metaserver.base.records import ServerName, TaskName, TeamName
from metaserver.base.states import OPEN_STATES, PhaseState, Role
from metaserver.base.usage import RunUsage
from metaserver.base.viewer import Viewer
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import PhaseField, TeamField
from metaserver.operations.phase_view import PhaseView
from metaserver.operations.table import operation
from metaserver.operations.visibility import sees_curves
from metaserver.phases.curves import ScoreCurves
from metaserver.phases.runtime import RunningPhase
from metaserver.tasks.plugin import TaskPlugin


class ResultsOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team's runs, in one phase or all (organisers name the team)."""

    phase: Annotated[PhaseField | None, Meta(description="The phase; none: all")] = None
    team: Annotated[TeamField | None, Meta(description="The team (organisers)")] = None


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """A team's run in a phase and task, as far as its scores may be seen.

    `score` is by `measure`, with its 95 % interval if that belongs to this score. `place` is among
    the `runs` that are placed and may be seen. `answered` of `articles` have an answer; `scored` of
    `in_gold` are in the score, both 0 while scores are rounded. `change` is the score's difference
    from `before`, the team's previous run. `curve` has numbers of answers with their score, in
    corpus order, if single articles' scores may be known. `hidden` says why there is no score, and
    `freezes_at` (Unix seconds) when the phase is frozen by its date. `usage` is what its answers
    took, as the team declares; null if it declares nothing.
    """

    phase: str
    task: str
    run: str
    offline: bool
    entered_at: float
    measure: str
    score: float | int | None
    low: float | None
    high: float | None
    place: int | None
    runs: int
    answered: int
    articles: int
    scored: int
    in_gold: int
    change: float | None
    before: str
    curve: tuple[tuple[int, float], ...]
    hidden: str
    usage: RunUsage | None
    freezes_at: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entered:
    """A run of a team in a task: when it was entered, and how many articles it has answered."""

    run: ServerName
    offline: bool
    at: float
    answered: int


@operation("Runs.mine", "GET /results", Role.TEAM)
async def mine(hub: HubContext, caller: Caller, request: ResultsOf) -> Sequence[RunResult]:
    """Return a team's runs with their scores, online and offline, the newest phase and run first.

    Scores that the phase hides are left out, with the reason.
    """
    team = await hub.team_for(caller, request.team, "run")
    chosen = hub.phase(request.phase) if request.phase else None
    in_order = sorted(hub.seen_phases(caller), key=lambda running: running.phase.id, reverse=True)
    results: list[RunResult] = []
    for running in in_order:
        if chosen in (None, running):
            for task in _tasks(running):
                results += await _results(hub, running, task, team.name, caller.viewer)
    return results


def _tasks(running: RunningPhase) -> Sequence[TaskPlugin]:
    tasks = {task.name: task for task in (*running.boards.tasks(), *running.tasks)}
    return list(tasks.values())


async def _results(
    hub: HubContext, running: RunningPhase, task: TaskPlugin, team: TeamName, viewer: Viewer
) -> Sequence[RunResult]:
    """Return a team's results in a task, newest run first."""
    entered = sorted(_entered(running, task.name, team), key=lambda entry: entry.at)
    if not entered:
        return []
    view, board = PhaseView(hub, running), None
    if task.name in {scored.name for scored in running.boards.tasks()}:
        await view.refresh(task.name, viewer=viewer)
        board = view.board(task.name, viewer=viewer)
    rows = {row.run: row for row in board.rows} if board else {}
    exact = not view.is_rounded(viewer)
    first = board.order[0] if board is not None and board.order else task.order[0]
    column = column_named(task.columns, first)
    may_see = sees_curves(running.phase.plan, running.state, viewer)
    freezes = running.phase.plan.freezes
    usages = running.boards.server_monitor.usages(running.phase.plan.usage.currency)
    results: list[RunResult] = []
    before: tuple[str, float] | None = None
    for entry in entered:
        row = rows.get(entry.run)
        score = row.values.get(column.key) if row else None
        low, high = _interval(row, score)
        result = RunResult(
            phase=running.name,
            task=task.name,
            run=entry.run,
            offline=entry.offline,
            entered_at=entry.at,
            measure=column.heading,
            score=score,
            low=low,
            high=high,
            place=row.place if row else None,
            runs=sum(row_ranked.place is not None for row_ranked in rows.values()),
            answered=entry.answered,
            articles=running.articles_of(task),
            scored=row.articles_scored if row and exact else 0,
            in_gold=row.articles_in_gold if row and exact else 0,
            change=score - before[1] if before is not None and score is not None else None,
            before=before[0] if before is not None and score is not None else "",
            curve=await hub.part(ScoreCurves).curve(running, task.name, entry.run)
            if may_see and score is not None
            else (),
            usage=usages.get(entry.run),
            hidden="" if score is not None else _why(running, board, entry.answered),
            freezes_at=freezes.timestamp() if freezes else None,
        )
        if score is not None:
            before = (entry.run, float(score))
        results.append(result)
    return results[::-1]


def _entered(running: RunningPhase, task: TaskName, team: TeamName) -> Iterator[_Entered]:
    """Yield a team's runs in a task: its servers', and uploaded runs."""
    names = {task.name for task in running.tasks}
    for name, registered in running.servers.items():
        answers = registered.server.tasks or names
        if registered.team == team and task in names and task in answers:
            answered = running.boards.server_monitor.answered(name, task)
            yield _Entered(run=name, offline=False, at=registered.created_at, answered=answered)
    for run in running.offline.values():
        if (run.team, run.task) == (team, task):
            yield _Entered(run=run.name, offline=True, at=run.created_at, answered=run.articles)


def _interval(row: BoardRow | None, score: float | None) -> tuple[float, float] | tuple[None, None]:
    """Return a score's interval, if the newest belongs to this score."""
    if row is None or score is None or row.interval is None:
        return None, None
    same = math.isclose(row.interval.score, score, rel_tol=1e-9, abs_tol=1e-12)
    return (row.interval.low, row.interval.high) if same else (None, None)


def _why(running: RunningPhase, board: Board | None, answered: int) -> str:
    """Return why a run has no score to show."""
    if board is None:
        return "No gold yet"
    if not board.hidden:
        return "No score yet" if answered else "No answer yet"
    over = running.state not in OPEN_STATES and running.state is not PhaseState.SETUP
    return "Hidden until the organisers publish the scores" + ("" if over else ", after the freeze")
