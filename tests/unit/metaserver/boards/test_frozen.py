"""Frozen boards are read back unchanged, and hold nothing that only the hub may know."""

import msgspec
import pytest

from metaserver.base.boards import Board, BoardRow, FrozenBoard, RunIntervals, Score
from metaserver.boards.frozen import freeze
from metaserver.tasks.int_ import INT

SCORE = Score(
    values={"tp": 3, "auc_ipr": 0.1 + 0.2, "f_score": None}, articles_scored=4, articles_in_gold=10,
    curve=((0.5, 1 / 3), (1.0, 0.1)), detail={"macro": "a secret"}, card={"100": "a secret"},
)  # fmt: skip
INTERVAL = RunIntervals(score=0.3, low=0.2, high=1 / 7, best_rank=1, worst_rank=3)
ROWS = [
    BoardRow.of("=a<b>", 1, SCORE, team="x", interval=INTERVAL),
    BoardRow.of("b", None, SCORE, offline=True),
]
BOARDS = [
    Board(task=INT.name, rows=ROWS, signature="sig", resampling="10,000"),
    Board(task=INT.name, rows=[], signature="sig-mapped", view="mapped"),
]


def frozen() -> FrozenBoard:
    return freeze(INT, BOARDS, phase="Test", reason="gold version 1", at=1_790_000_000.0)


def test_a_frozen_board_is_read_back_to_the_last_digit() -> None:
    again = FrozenBoard.decode(frozen().encode())
    assert again == frozen()
    assert (again.name, again.title, again.order) == (INT.name, INT.title, INT.order)
    assert again.columns == INT.columns
    assert list(again.views) == ["raw", "mapped"]
    board = again.board("raw")
    assert (board.signature, board.resampling, board.view) == ("sig", "10,000", "raw")
    for row, before in zip(board.rows, ROWS, strict=True):
        assert (row.run, row.place, row.team) == (before.run, before.place, before.team)
        assert (row.offline, row.interval) == (before.offline, before.interval)
        assert (row.values, row.curve) == (before.values, before.curve)


def test_the_evaluators_details_are_not_in_the_document() -> None:
    assert b"secret" not in frozen().encode()


def test_anything_else_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="name"):
        FrozenBoard.decode(b"{}")
