"""Leaderboards: current and frozen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.boards import RAW, BoardRow, Column
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.structs import convert
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase, PhaseField, TaskField, require_one_of
from metaserver.operations.phase_view import PhaseView, frozen_board
from metaserver.operations.table import Scope, operation

ArticlesField = Annotated[
    ArticlePolicy,
    Meta(description="Which articles count: by default those of the phase's ranking"),
]
ViewField = Annotated[
    str, Meta(description="raw, mapped, filtered, both or public; empty: raw, or the one there is")
]


class OneBoard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's board for a task, in one view."""

    phase: PhaseField
    task: TaskField
    view: ViewField = ""
    articles: ArticlesField | None = None


class OneFrozen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen board, in one view."""

    board: Annotated[
        str, Meta(max_length=32, description="The frozen board's id: the last part of its link")
    ]
    view: ViewField = ""
    articles: ArticlesField | None = None


class BoardDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a board that the caller may see; `hidden` is why there are no runs.

    `order` are the columns it is sorted by; the first gives the places by the phase's `ranking`
    (null on boards frozen by an earlier version). `articles` are those that count in its scores.
    `provisional`: the phase is open, so that a run is scored on the articles that are over for it.
    `signature` has all that its scores depend on: a phase's boards with equal signatures can be
    compared. It has the gold's version, and for organisers the gold's mark: equal marks are equal
    golds. `catching_up` is empty unless the hub was just started and still reads stored answers:
    then places are provisional. `newer` is the id of the board that supersedes a frozen board.
    """

    phase: str
    task: str
    title: str
    view: str
    views: tuple[str, ...]
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    signature: str
    ranking: Ranking | None
    articles: ArticlePolicy
    provisional: bool
    hidden: str
    catching_up: str
    rows: tuple[BoardRow, ...]
    newer: str = ""


class FrozenDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen board in a list; `at` is when it was frozen, Unix seconds."""

    board: str
    phase: str
    task: str
    gold_version: int
    reason: str
    at: float


@operation("Boards.get", "GET /phases/{phase}/boards/{task}", None, scope=Scope.PHASE)
async def get(hub: HubContext, caller: Caller, request: OneBoard) -> BoardDetail:
    """Return a current leaderboard, as far as the phase lets the caller see it."""
    phase = PhaseView(hub, hub.phase(request.phase))
    plugin = phase.task(request.task)
    views = phase.views(plugin.name, caller.viewer)
    view = request.view or views[0]
    require_one_of(view, views, "view")
    _require_policy(request.articles, phase.policies(plugin.name))
    await phase.refresh(plugin.name, view, caller.viewer, request.articles)
    board = phase.board(plugin.name, view, caller.viewer, request.articles)
    return convert(
        board,
        BoardDetail,
        phase=phase.name,
        task=plugin.name,
        title=plugin.title,
        views=tuple(views),
        columns=board.columns(plugin.columns),
        rows=tuple(board.rows),
    )


@operation("Boards.frozen", "GET /phases/{phase}/frozen", None, scope=Scope.PHASE)
async def list_frozen(hub: HubContext, caller: Caller, request: OnePhase) -> Sequence[FrozenDetail]:
    """Return a phase's frozen boards, newest first; empty if the caller may see no score."""
    phase = PhaseView(hub, hub.phase(request.phase))
    return [
        convert(board, FrozenDetail, board=board.id, at=board.created_at)
        for board in await phase.frozen_boards(caller.viewer)
    ]


@operation("Boards.getFrozen", "GET /boards/{board}", None, scope=Scope.BOARD)
async def get_frozen(hub: HubContext, caller: Caller, request: OneFrozen) -> BoardDetail:
    """Return a frozen board, as far as its phase lets the caller see it."""
    frozen = await frozen_board(hub, request.board, caller)
    if frozen is None:
        raise RefusedError(Refusal.UNKNOWN, "there is no such board", field="board")
    view = request.view or RAW
    require_one_of(view, frozen.views, "view")
    _require_policy(request.articles, frozen.policies)
    board = frozen.board(view, request.articles)
    return convert(
        frozen,
        BoardDetail,
        task=frozen.name,
        view=view,
        views=tuple(frozen.views),
        articles=board.articles,
        signature=board.signature,
        hidden="",
        catching_up="",
        rows=tuple(board.rows),
    )


def _require_policy(articles: ArticlePolicy | None, policies: Sequence[ArticlePolicy]) -> None:
    if articles is not None:
        require_one_of(articles, policies, "articles")
