"""Frozen boards: a task's leaderboards as one JSON document, and back again.

The document holds all that its page shows, columns included: what a later version of the hub or
another gold would make of the runs does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from metaserver.leaderboards.boards import Board, BoardRow
from metaserver.model.records import ServerName, TaskName
from metaserver.tasks.plugin import Column, RunIntervals, Score, TaskPlugin

FORMAT = 1
"""Raised when a document of an earlier format can no longer be read as it is."""


class FrozenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A `BoardRow`, without what only the hub may see of its score."""

    run: str
    place: int | None
    team: str
    offline: bool
    articles_scored: int
    articles_in_gold: int
    values: Mapping[str, float | int | None]
    curve: tuple[tuple[float, float], ...]
    interval: RunIntervals | None

    @classmethod
    def of(cls, row: BoardRow) -> FrozenRow:
        """Return a row as it stands."""
        return cls(
            run=row.run,
            place=row.place,
            team=row.team,
            offline=row.offline,
            articles_scored=row.score.articles_scored,
            articles_in_gold=row.score.articles_in_gold,
            values=row.score.values,
            curve=tuple(row.score.curve),
            interval=row.interval,
        )

    def row(self) -> BoardRow:
        """Return the row that was frozen."""
        score = Score(
            values=self.values,
            articles_scored=self.articles_scored,
            articles_in_gold=self.articles_in_gold,
            curve=self.curve,
            detail={},
        )
        return BoardRow(
            run=ServerName(self.run),
            place=self.place,
            score=score,
            team=self.team,
            offline=self.offline,
            interval=self.interval,
        )


class FrozenView(msgspec.Struct, frozen=True, kw_only=True):
    """A `Board` in one view; `gold` is the keyed digest of its gold, for organisers."""

    signature: str
    gold: str = ""
    resampling: str
    rows: tuple[FrozenRow, ...]


class FrozenBoard(msgspec.Struct, frozen=True, kw_only=True):
    """A task's leaderboards at the moment `at` (seconds since the Unix epoch), by view.

    `columns` and `order` are the task plug-in's of that day; `reason` is why it was frozen, in a
    few words.
    """

    name: TaskName
    title: str
    phase: str
    reason: str
    at: float
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    views: Mapping[str, FrozenView]
    format: int = FORMAT

    def board(self, view: str) -> Board:
        """Return the board in one of `views`."""
        frozen = self.views[view]
        return Board(
            task=self.name,
            rows=[row.row() for row in frozen.rows],
            signature=frozen.signature,
            view=view,
            resampling=frozen.resampling,
        )

    def encode(self) -> bytes:
        """Return the document, JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, document: bytes) -> FrozenBoard:
        """Return what `encode` wrote; raises `msgspec.ValidationError` for anything else."""
        return msgspec.json.decode(document, type=cls)


def freeze(
    task: TaskPlugin, boards: Iterable[Board], *, phase: str, reason: str, at: float
) -> FrozenBoard:
    """Freeze a task's boards, one a view, as they stand."""
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
                rows=tuple(FrozenRow.of(row) for row in board.rows),
            )
            for board in boards
        },
    )
