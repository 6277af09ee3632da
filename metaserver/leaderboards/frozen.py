"""Frozen boards: a task's leaderboards as one JSON document.

The document holds all that its page shows, columns included, so that neither a later version of
the hub nor another gold changes it.
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
    """A `BoardRow`, without the parts of its score that only the hub may see."""

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
        """Return the frozen form of a row."""
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
        """Return the row."""
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

    `columns` and `order` are those of the task plug-in at that moment; `reason` is why it was
    frozen, in a few words.
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
        """Return the JSON document."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, document: bytes) -> FrozenBoard:
        """Read a document of `encode`; raises `msgspec.ValidationError` for anything else."""
        return msgspec.json.decode(document, type=cls)


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
                rows=tuple(FrozenRow.of(row) for row in board.rows),
            )
            for board in boards
        },
    )
