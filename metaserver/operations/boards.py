"""Leaderboards: current and frozen ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.leaderboards.boards import Board, BoardRow
from metaserver.leaderboards.frozen import FrozenBoard
from metaserver.leaderboards.scoreboard import RAW
from metaserver.leaderboards.visibility import seen, seen_frozen, why_hidden
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.records import TaskName
from metaserver.model.viewer import Viewer
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase, PhaseField, require_one_of
from metaserver.operations.table import operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards
from metaserver.tasks.plugin import Column, RunIntervals, TaskPlugin

TaskField = Annotated[str, Meta(description="The task: INT, IPT, ACT, ...")]
ViewField = Annotated[str, Meta(description="raw, mapped, filtered or both")]


class OneBoard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's board of one task, in one view."""

    phase: PhaseField
    task: TaskField
    view: ViewField = RAW


class OneFrozen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen board, in one view."""

    board: Annotated[str, Meta(max_length=32, description="Its id, the end of its link")]
    view: ViewField = RAW


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a board: `values` by column, null where a measure has none.

    `interval` is of its first measure and of its rank, 95 %.
    """

    run: str
    place: int | None
    team: str
    offline: bool
    articles_scored: int
    articles_in_gold: int
    values: dict[str, float | int | None]
    interval: RunIntervals | None

    @classmethod
    def of(cls, row: BoardRow) -> RunRow:
        """Return the public fields of a run."""
        return cls(
            run=row.run,
            place=row.place,
            team=row.team,
            offline=row.offline,
            articles_scored=row.score.articles_scored,
            articles_in_gold=row.score.articles_in_gold,
            values=dict(row.score.values),
            interval=row.interval,
        )


class BoardDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a board that the caller may see; `hidden` is the reason where there are no runs.

    `order` are the columns it is ordered by. `signature` has all that its scores depend on: boards
    of one phase with one signature can be compared. It has the version of the gold, and for
    organisers the gold's mark: equal marks are equal golds.
    """

    phase: str
    task: str
    title: str
    view: str
    views: tuple[str, ...]
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    signature: str
    hidden: str
    rows: tuple[RunRow, ...]


class FrozenDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen board in a list; `at` is when it was frozen, Unix seconds."""

    board: str
    phase: str
    task: str
    gold_version: int
    reason: str
    at: float


@operation("Boards.get", "GET /phases/{phase}/boards/{task}", None)
async def get(hub: HubContext, caller: Caller, request: OneBoard) -> BoardDetail:
    """Return a current leaderboard, as far as the phase lets the caller see it."""
    running = hub.phase(request.phase)
    plugin = _scored_task(running, request.task)
    views = running.boards.views(plugin.name)
    require_one_of(request.view, views, "view")
    visibility = running.phase.plan.visibility
    board = seen(running.boards.board(plugin.name, request.view), visibility, _reader(caller))
    return BoardDetail(
        phase=running.name,
        task=plugin.name,
        title=plugin.title,
        view=request.view,
        views=tuple(views),
        columns=plugin.columns,
        order=plugin.order,
        signature=board.signature,
        hidden=board.hidden,
        rows=_rows(board),
    )


@operation("Boards.frozen", "GET /phases/{phase}/frozen", None)
async def list_frozen(hub: HubContext, caller: Caller, request: OnePhase) -> Sequence[FrozenDetail]:
    """Return a phase's frozen boards, newest first; none where the caller may see no score."""
    running = hub.phase(request.phase)
    if why_hidden(running.phase.plan.visibility, _reader(caller)):
        return []
    async with hub.store.reading() as connection:
        frozen = await boards.list_all(connection, running.phase.id)
    return [
        FrozenDetail(
            board=board.id,
            phase=board.phase,
            task=board.task,
            gold_version=board.gold_version,
            reason=board.reason,
            at=board.created_at,
        )
        for board in frozen
    ]


@operation("Boards.getFrozen", "GET /boards/{board}", None)
async def get_frozen(hub: HubContext, caller: Caller, request: OneFrozen) -> BoardDetail:
    """Return a frozen board, as far as its phase lets the caller see it."""
    frozen = await _frozen_board(hub, request.board, _reader(caller))
    if frozen is None:
        raise RefusedError(Refusal.UNKNOWN, "there is no such board", field="board")
    require_one_of(request.view, frozen.views, "view")
    board = frozen.board(request.view)
    return BoardDetail(
        phase=frozen.phase,
        task=frozen.name,
        title=frozen.title,
        view=request.view,
        views=tuple(frozen.views),
        columns=frozen.columns,
        order=frozen.order,
        signature=board.signature,
        hidden="",
        rows=_rows(board),
    )


def _reader(caller: Caller) -> Viewer:
    return Viewer(team=caller.team or "", organiser=caller.organiser)


async def _frozen_board(hub: HubContext, key: str, reader: Viewer) -> FrozenBoard | None:
    """Return a frozen board as far as the reader may see it; None where there is none for them."""
    async with hub.store.reading() as connection:
        found = await boards.get(connection, key)
    if found is None:
        return None
    stored, document = found
    visibility = hub.phase(stored.phase).phase.plan.visibility
    return seen_frozen(FrozenBoard.decode(document), visibility, reader)


def _scored_task(running: RunningPhase, task: str) -> TaskPlugin:
    """Return a task that the phase has gold for; `RefusedError` where there is none."""
    scored = {plugin.name: plugin for plugin in running.boards.tasks()}
    if task not in scored:
        names = ", ".join(scored) or "none yet"
        message = f"phase {running.name} has no board of {task!r}: it has {names}"
        raise RefusedError(Refusal.UNKNOWN, message, field="task")
    return scored[TaskName(task)]


def _rows(board: Board) -> tuple[RunRow, ...]:
    return tuple(RunRow.of(row) for row in board.rows)
