"""Frozen boards: a task's leaderboards as one JSON document.

The document holds all that its page shows, columns included, so that neither a later version of
the hub nor another gold changes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from metaserver.model.boards import Board, FrozenBoard, FrozenView
from metaserver.tasks.plugin import TaskPlugin


def freeze(
    task: TaskPlugin, boards: Iterable[Board], *, phase: str, reason: str, at: float
) -> FrozenBoard:
    """Freeze a task's present boards, one a view."""
    return FrozenBoard(
        name=task.name,
        title=task.title,
        phase=phase,
        reason=reason,
        at=at,
        columns=task.columns,
        order=task.order,
        views={
            board.view: FrozenView(
                signature=board.signature,
                gold=board.gold,
                resampling=board.resampling,
                rows=tuple(board.rows),
            )
            for board in boards
        },
    )
