"""Visibility: no viewer is shown scores, answers or messages that are not theirs."""

import pytest

from metaserver.base.boards import ArticleBoard, ArticleLevel, Board, BoardRow, RunIntervals, Score
from metaserver.base.records import ArticleId, TaskName, TeamName
from metaserver.base.states import PhaseState, ServerState, Visibility
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.frozen import freeze
from metaserver.operations.visibility import (
    may_read_answers,
    seen,
    seen_articles,
    seen_frozen,
    seen_note,
)
from metaserver.tasks.act import ACT

BLUE, ORGANISER = Viewer(team="blue"), Viewer(organiser=True)
INTERVAL = RunIntervals(score=0.5, low=0.4, high=0.6, best_rank=1, worst_rank=3)


def row(run: str, team: str, place: int | None) -> BoardRow:
    score = Score(
        values={"auc_ipr": 0.5}, articles_scored=1, articles_in_gold=2, curve=(), detail={}
    )
    return BoardRow.of(run, place, score, team=team, interval=INTERVAL)


BOARD = Board(
    task=TaskName("ACT"),
    rows=[row("r1", "red", 1), row("b1", "blue", 2), row("b2", "blue", 2), row("b3", "blue", 4),
          row("b4", "blue", None)],
    signature="s",
    gold="c0ffee",
)  # fmt: skip
FROZEN = freeze(ACT, [BOARD], phase="test", reason="frozen", at=0.0)


@pytest.mark.parametrize(
    ("visibility", "viewer", "runs"),
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
def test_who_sees_how_many_runs(visibility: Visibility, viewer: Viewer, runs: int) -> None:
    board = seen(BOARD, visibility, viewer)
    assert len(board.rows) == runs
    frozen = seen_frozen(FROZEN, visibility, viewer)
    assert (len(frozen.board("raw").rows) if frozen else 0) == runs
    assert bool(board.hidden) == (frozen is None)


@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("viewer", [ANYBODY, BLUE, ORGANISER])
def test_organisers_alone_see_the_golds_digest(visibility: Visibility, viewer: Viewer) -> None:
    frozen = seen_frozen(FROZEN, visibility, viewer)
    boards = [seen(BOARD, visibility, viewer), *([frozen.board("raw")] if frozen else [])]
    for board in boards:
        assert board.signature == ("s|mark:c0ffee" if viewer.organiser else "s")
        assert viewer.organiser or "c0ffee" not in repr(board)
    assert frozen is None or viewer.organiser or b"c0ffee" not in frozen.encode()


def test_a_teams_own_runs_do_not_tell_how_others_did() -> None:
    frozen = seen_frozen(FROZEN, Visibility.OWN, BLUE)
    for board in (seen(BOARD, Visibility.OWN, BLUE), frozen.board("raw")):
        found = [(row.run, row.place) for row in board.rows]
        assert found == [("b1", 1), ("b2", 1), ("b3", 3), ("b4", None)]
        assert all(row.interval is None for row in board.rows)


@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("viewer", [ANYBODY, BLUE, ORGANISER])
def test_the_hardness_of_articles_is_for_who_sees_all_scores(visibility, viewer):
    level = ArticleLevel(article=ArticleId("1"), mean=1.5, deviation=0.5, runs=frozenset({"b1"}))
    board = ArticleBoard(task=TaskName("ACT"), measure="rank", levels=[level], withheld=2)
    found = seen_articles(board, visibility, viewer)
    if viewer.organiser or visibility is Visibility.PUBLIC:
        assert found == board
    else:
        assert (found.levels, found.withheld) == ((), 0)
        assert found.hidden


@pytest.mark.parametrize(
    ("state", "visibility", "viewer", "allowed"),
    [
        (PhaseState.CLOSED, Visibility.PUBLIC, ANYBODY, True),
        (PhaseState.FROZEN, Visibility.PUBLIC, ANYBODY, False),
        (PhaseState.CLOSED, Visibility.OWN, ANYBODY, False),
        (PhaseState.CLOSED, Visibility.OWN, Viewer(team="red"), False),
        (PhaseState.TEST, Visibility.HIDDEN, BLUE, True),
        (PhaseState.TEST, Visibility.HIDDEN, ORGANISER, True),
        (None, Visibility.PUBLIC, ANYBODY, False),
    ],
)
def test_answers_are_read_by_their_team_and_once_public_by_everybody(
    state, visibility, viewer, allowed
):
    assert may_read_answers(state, visibility, TeamName("blue"), viewer) is allowed


def test_a_server_without_a_team_is_owned_by_organisers_alone() -> None:
    assert not ANYBODY.owns("")
    assert not ANYBODY.owns(None)
    assert not BLUE.owns(None)
    assert ORGANISER.owns(None)


def test_notes_that_quote_errors_are_for_their_team() -> None:
    assert seen_note(ServerState.DOWN, "refused by 10.0.0.7", is_own=False) == ""
    assert seen_note(ServerState.DOWN, "refused by 10.0.0.7", is_own=True) == "refused by 10.0.0.7"
    assert seen_note(ServerState.SLOW, "takes 60 s", is_own=False) == "takes 60 s"
