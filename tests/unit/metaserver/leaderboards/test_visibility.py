"""Visibility of scores: no reader sees those of others."""

from __future__ import annotations

import pytest

from metaserver.leaderboards.boards import Board, BoardRow
from metaserver.leaderboards.frozen import freeze
from metaserver.leaderboards.visibility import seen, seen_frozen
from metaserver.model.records import ServerName, TaskName
from metaserver.model.states import Visibility
from metaserver.model.viewer import ANYBODY, Viewer
from metaserver.tasks.act import ACT
from metaserver.tasks.plugin import RunIntervals, Score

BLUE, ORGANISER = Viewer(team="blue"), Viewer(organiser=True)
INTERVAL = RunIntervals(score=0.5, low=0.4, high=0.6, best_rank=1, worst_rank=3)


def row(run: str, team: str, place: int | None) -> BoardRow:
    score = Score(
        values={"auc_ipr": 0.5}, articles_scored=1, articles_in_gold=2, curve=(), detail={}
    )
    return BoardRow(run=ServerName(run), place=place, score=score, team=team, interval=INTERVAL)


BOARD = Board(
    task=TaskName("ACT"),
    rows=[row("r1", "red", 1), row("b1", "blue", 2), row("b2", "blue", 2), row("b3", "blue", 4),
          row("b4", "blue", None)],
    signature="s",
    gold="c0ffee",
)  # fmt: skip
FROZEN = freeze(ACT, [BOARD], phase="test", reason="frozen", at=0.0)


@pytest.mark.parametrize(
    ("visibility", "reader", "runs"),
    [
        (Visibility.HIDDEN, ANYBODY, 0),
        (Visibility.HIDDEN, BLUE, 0),
        (Visibility.HIDDEN, ORGANISER, 5),
        (Visibility.OWN, ANYBODY, 0),
        (Visibility.OWN, BLUE, 4),
        (Visibility.OWN, Viewer(team="green"), 0),
        (Visibility.OWN, ORGANISER, 5),
        (Visibility.PUBLIC, ANYBODY, 5),
    ],
)
def test_who_sees_how_many_runs(visibility: Visibility, reader: Viewer, runs: int) -> None:
    board = seen(BOARD, visibility, reader)
    assert len(board.rows) == runs
    frozen = seen_frozen(FROZEN, visibility, reader)
    assert (len(frozen.board("raw").rows) if frozen else 0) == runs
    assert bool(board.hidden) == (frozen is None)


@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("reader", [ANYBODY, BLUE, ORGANISER])
def test_organisers_alone_see_the_golds_digest(visibility: Visibility, reader: Viewer) -> None:
    frozen = seen_frozen(FROZEN, visibility, reader)
    boards = [seen(BOARD, visibility, reader), *([frozen.board("raw")] if frozen else [])]
    for board in boards:
        assert board.signature == ("s|mark:c0ffee" if reader.organiser else "s")
        assert reader.organiser or "c0ffee" not in repr(board)
    assert frozen is None or reader.organiser or b"c0ffee" not in frozen.encode()


def test_a_teams_own_runs_do_not_tell_how_others_did() -> None:
    frozen = seen_frozen(FROZEN, Visibility.OWN, BLUE)
    assert frozen is not None
    for board in (seen(BOARD, Visibility.OWN, BLUE), frozen.board("raw")):
        assert [(row.run, row.place) for row in board.rows] == [
            ("b1", 1),
            ("b2", 1),
            ("b3", 3),
            ("b4", None),
        ]
        assert all(row.interval is None for row in board.rows)
