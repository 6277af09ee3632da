"""A run in full, and two runs compared, as far as the caller may see their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, structs

from metaserver.base.boards import (
    RAW,
    Board,
    BoardRow,
    Column,
    MethodDescription,
    PairedRuns,
    column_named,
)
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ServerName, TaskName, TeamName
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import PhaseField, TaskField
from metaserver.operations.phase_view import PhaseView
from metaserver.operations.runs import OneRun, RunField
from metaserver.operations.table import Scope, operation
from metaserver.operations.visibility import sees_curves
from metaserver.phases.curves import ScoreCurves
from metaserver.phases.runtime import RunningPhase
from metaserver.tasks.plugin import TaskPlugin

WEAKEST = 20
"""Articles with the lowest values that a run's card has."""
ROUNDED = "While the phase is open its scores are rounded: runs are compared when it is frozen."
NO_TEST = "There is no paired test of the measure by which this board gives places."
UNANSWERED = "One of them has no score yet."
NO_ARTICLES = (
    "Article by article, runs are compared when the phase is frozen and their scores may be seen:"
    " it would show answers, and the gold."
)


class TwoRuns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two runs of a task by the names that its board shows."""

    phase: PhaseField
    task: TaskField
    first: RunField
    second: Annotated[str, Meta(max_length=200, description="The other run's name")]


class WeakArticle(msgspec.Struct, frozen=True, kw_only=True):
    """An article on which a run has a low value; null if it is not scored on it."""

    article: str
    value: float | None


class RunOnTask(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a task's board, of `runs` with a place; `columns` are the board's.

    `hidden` says why there is no score. `weakest` are the articles with the worst values of the
    measure by which places are given, if single articles may be seen. `curve` has numbers of
    answers with their score, in corpus order, for its team and organisers.
    """

    task: str
    title: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    row: BoardRow | None
    runs: int
    others: tuple[str, ...]
    hidden: str
    weakest: tuple[WeakArticle, ...] = ()
    curve: tuple[tuple[int, float], ...] = ()


class RunUpload(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was uploaded for a run: when (Unix seconds), and its articles with an answer."""

    at: float
    articles: int


class RunCard(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a phase: its team, how it came, its method, its place and scores by task.

    `server` if it is a server's. `own`: the caller may change it. `uploads` are the files uploaded
    for it that counted, newest first, for its team and organisers.
    """

    phase: str
    run: str
    team: str
    title: str
    server: bool
    own: bool
    baseline: bool
    method: MethodDescription | None
    tasks: tuple[RunOnTask, ...]
    uploads: tuple[RunUpload, ...] = ()


class RunPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of a task beside each other, with the paired test of the ranking's measure.

    `untested` says why there is no test, `articles_hidden` why it has no articles.
    """

    phase: str
    task: str
    title: str
    columns: tuple[Column, ...]
    measure: Column
    first: BoardRow
    second: BoardRow
    test: PairedRuns | None
    untested: str = ""
    articles_hidden: str = ""


@operation("Runs.show", "GET /phases/{phase}/runs/{run}/card", None, scope=Scope.PHASE)
async def show(hub: HubContext, caller: Caller, request: OneRun) -> RunCard:
    """Return a run with its place and scores in each task, as far as the caller may see them.

    A run of which the caller may see nothing is unknown.
    """
    running = hub.phase(request.phase)
    view, viewer = PhaseView(hub, running), caller.viewer
    name, team = view.run_named(request.run, viewer)
    own = viewer.owns(team)
    asked = (request.run, name, team)
    tasks = [await _on_task(view, caller, plugin, *asked) for plugin in view.tasks()]
    shown = [one for one in tasks if one.row or (own and _takes_part(running, name, one))]
    if not shown and not own and name not in running.servers:
        raise RefusedError(Refusal.UNKNOWN, f"there is no run {request.run!r}", field="run")
    if own and sees_curves(running.phase.plan, running.state, viewer):
        curves = hub.part(ScoreCurves)
        shown = [
            structs.replace(one, curve=await curves.curve(running, TaskName(one.task), name))
            if one.row and one.row.values.get(one.order[0]) is not None
            else one
            for one in shown
        ]
    row = next((one.row for one in shown if one.row), None)
    methods = {one.run: one.method for one in await view.methods(viewer)}
    uploads = [one for one in running.uploads if own and one.run == name]
    return RunCard(
        phase=running.name,
        run=request.run,
        team=view.names.team(team, viewer),
        title=row.title if row else "",
        server=name in running.servers,
        own=own,
        baseline=row.baseline if row else False,
        method=methods.get(request.run),
        tasks=tuple(shown),
        uploads=tuple(RunUpload(at=one.at, articles=one.articles) for one in reversed(uploads)),
    )


def _takes_part(running: RunningPhase, name: ServerName, one: RunOnTask) -> bool:
    """Return whether a run answers a task, though its score is hidden."""
    offline = running.offline.get(name)
    if offline is not None:
        return offline.task == one.task
    tasks = running.servers[name].server.tasks
    return not tasks or one.task in tasks


async def _on_task(
    view: PhaseView,
    caller: Caller,
    plugin: TaskPlugin,
    shown: str,
    name: ServerName,
    team: TeamName | None,
) -> RunOnTask:
    viewer = caller.viewer
    board = await _board(view, caller, plugin)
    row = next((row for row in board.rows if row.run == shown), None)
    weakest: Sequence[WeakArticle] = ()
    if row is not None and view.sees_articles([team], viewer) and not view.is_rounded(viewer):
        work = await view.by_article(plugin.name, RAW, name)
        values = await caller.aside(work) if work else {}
        sign = -1 if column_named(plugin.columns, board.order[0]).rising else 1
        lowest = sorted(values.items(), key=lambda item: (sign * (item[1] or 0.0), item[0]))
        lowest = lowest[:WEAKEST]
        weakest = [WeakArticle(article=article, value=value) for article, value in lowest]
    return RunOnTask(
        task=plugin.name,
        title=plugin.title,
        columns=board.columns(plugin.columns),
        order=board.order,
        row=row,
        runs=sum(one.place is not None for one in board.rows),
        others=tuple(one.run for one in board.rows if one.run != shown),
        hidden=board.hidden,
        weakest=tuple(weakest),
    )


async def _board(view: PhaseView, caller: Caller, plugin: TaskPlugin) -> Board:
    await view.refresh(plugin.name, viewer=caller.viewer)
    return view.board(plugin.name, viewer=caller.viewer)


@operation("Runs.compare", "GET /phases/{phase}/boards/{task}/compare", None, scope=Scope.PHASE)
async def compare(hub: HubContext, caller: Caller, request: TwoRuns) -> RunPair:
    """Compare two runs of a task by a paired test, and article by article.

    The test is that of `scoring compare`: sign flips, or the bootstrap for measures of whole lists;
    of NER and uploaded tasks, the bootstrap of `scoring ner`, `bb` or `ppi3d` with `--tests`.
    While a test phase is open there is none, since its scores are rounded. Articles are shown after
    the freeze, and before it in a training phase for the caller's own runs.
    """
    view, viewer = PhaseView(hub, hub.phase(request.phase)), caller.viewer
    plugin = view.task(request.task)
    board = await _board(view, caller, plugin)
    rows = {row.run: row for row in board.rows}
    for field, run in (("first", request.first), ("second", request.second)):
        if run not in rows:
            message = board.hidden or f"the board of {plugin.name} has no run {run!r}"
            raise RefusedError(Refusal.UNKNOWN, message, field=field)
    if request.first == request.second:
        raise RefusedError(Refusal.INVALID, "is the first run too", field="second")
    (first, first_team), (second, second_team) = (
        view.run_named(run, viewer) for run in (request.first, request.second)
    )
    test, untested, hidden = None, "", ""
    if view.is_rounded(viewer):
        untested = ROUNDED
    elif (work := await view.paired(plugin.name, RAW, (first, second))) is None:
        untested = UNANSWERED if view.is_paired(plugin.name) else NO_TEST
    else:
        test = await caller.aside(work)
        if not view.sees_articles([first_team, second_team], viewer):
            test, hidden = msgspec.structs.replace(test, pairs=()), NO_ARTICLES
    columns = board.columns(plugin.columns)
    return RunPair(
        phase=view.name,
        task=plugin.name,
        title=plugin.title,
        columns=columns,
        measure=column_named(columns, board.order[0]),
        first=rows[request.first],
        second=rows[request.second],
        test=test,
        untested=untested,
        articles_hidden=hidden,
    )
