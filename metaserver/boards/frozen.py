"""Frozen boards: a task's leaderboards as one JSON document.

The document holds all that its page shows, columns included, so that neither a later version of
the hub nor another gold changes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from metaserver.base.boards import Board, FrozenBoard, FrozenView
from metaserver.base.plans import ArticlePolicy
from metaserver.tasks.plugin import TaskPlugin


def freeze(
    task: TaskPlugin, boards: Iterable[Board], *, phase: str, reason: str, at: float
) -> FrozenBoard:
    """Freeze a task's present boards: one a view, and one for each choice of articles."""
    frozen_boards = list(boards)
    ranking = next((board.ranking for board in frozen_boards), None)
    usual = ranking.articles if ranking else ArticlePolicy.ANSWERED
    return FrozenBoard(
        name=task.name,
        title=task.title,
        phase=phase,
        reason=reason,
        at=at,
        columns=task.columns,
        order=next((board.order for board in frozen_boards if board.order), task.order),
        views={board.view: _view(board) for board in frozen_boards if board.articles is usual},
        ranking=ranking,
        others={board.view: _view(board) for board in frozen_boards if board.articles is not usual},
        provisional=any(board.provisional for board in frozen_boards),
    )


def _view(board: Board) -> FrozenView:
    return FrozenView(
        signature=board.signature,
        gold=board.gold,
        resampling=board.resampling,
        unresampled=board.unresampled,
        rows=tuple(board.rows),
    )
