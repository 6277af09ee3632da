"""Leaderboards: current and frozen ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.model.boards import RAW, BoardRow
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.scores import Column
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase, PhaseField, require_one_of
from metaserver.operations.phase_view import PhaseView, frozen_board
from metaserver.operations.table import operation

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


class BoardDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a board that the caller may see; `hidden` is the reason where there are no runs.

    `order` are the columns it is ordered by. `signature` has all that its scores depend on: boards
    of one phase with one signature can be compared. It has the version of the gold, and for
    organisers the gold's mark: equal marks are equal golds. `catching_up` is empty unless the hub
    was just started and still reads stored answers: then places are provisional.
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
    catching_up: str
    rows: tuple[BoardRow, ...]


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
    phase = PhaseView(hub, hub.phase(request.phase))
    plugin = phase.task(request.task)
    views = phase.views(plugin.name)
    require_one_of(request.view, views, "view")
    await phase.refresh(plugin.name, request.view)
    board = phase.board(plugin.name, request.view, caller.viewer)
    return BoardDetail(
        phase=phase.name,
        task=plugin.name,
        title=plugin.title,
        view=request.view,
        views=tuple(views),
        columns=plugin.columns,
        order=plugin.order,
        signature=board.signature,
        hidden=board.hidden,
        catching_up=board.catching_up,
        rows=tuple(board.rows),
    )


@operation("Boards.frozen", "GET /phases/{phase}/frozen", None)
async def list_frozen(hub: HubContext, caller: Caller, request: OnePhase) -> Sequence[FrozenDetail]:
    """Return a phase's frozen boards, newest first; none where the caller may see no score."""
    phase = PhaseView(hub, hub.phase(request.phase))
    return [
        FrozenDetail(
            board=board.id,
            phase=board.phase,
            task=board.task,
            gold_version=board.gold_version,
            reason=board.reason,
            at=board.created_at,
        )
        for board in await phase.frozen_boards(caller.viewer)
    ]


@operation("Boards.getFrozen", "GET /boards/{board}", None)
async def get_frozen(hub: HubContext, caller: Caller, request: OneFrozen) -> BoardDetail:
    """Return a frozen board, as far as its phase lets the caller see it."""
    frozen = await frozen_board(hub, request.board, caller.viewer)
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
        catching_up="",
        rows=tuple(board.rows),
    )
