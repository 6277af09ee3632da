"""Boards of open test phases: two digits, for runs that cover the phase, and no more."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from metaserver.base.boards import Board, BoardRow, Column, RunIntervals
from metaserver.base.plans import PhasePlan, Ranking
from metaserver.base.records import TaskName
from metaserver.base.states import PhaseState, Visibility
from metaserver.operations.rounded import (
    AnsweredShare,
    RoundedRow,
    note,
    reveals_gold,
    rounded,
    warning,
)

INTERVAL = RunIntervals(score=0.5, low=0.4, high=0.6, best_rank=1, worst_rank=3)
ORDER = ("auc_ipr", "mcc")
COLUMNS = (
    Column(key="auc_ipr", heading="AUC"),
    Column(key="mcc", heading="MCC"),
    Column(key="tp", heading="TP", count=True),
)


def row(
    run: str, auc: float | None, *, mcc: float = -0.001, scored: int = 90, offline: bool = True
) -> BoardRow:
    return BoardRow(
        run=run, place=1, offline=offline, articles_scored=scored, articles_in_gold=100,
        values={"auc_ipr": auc, "mcc": mcc, "tp": 17}, curve=((0.0, 1.0), (0.5, 0.75)),
        interval=INTERVAL, articles_counted=97, confidence=0.123456,
    )  # fmt: skip


def shown(*rows: BoardRow, answered: Mapping[str, int] | None = None, least: float = 0.9) -> Board:
    board = Board(
        task=TaskName("ACT"), rows=rows, signature="s", resampling="10,000 resamples", order=ORDER
    )
    known = {one.run: 150 for one in rows} | dict(answered or {})
    return rounded(board, COLUMNS, AnsweredShare(answered=known, articles=160, least=least), {})


def test_equal_rounded_scores_share_a_place_in_the_order_of_names() -> None:
    board = shown(row("c", 0.6449), row("b", 0.6351), row("a", 0.6549), row("d", None))
    found = [(one.run, one.place) for one in board.rows]
    assert found == [("a", 1), ("b", 2), ("c", 2), ("d", None)]
    board = shown(row("b", 0.64, mcc=0.9), row("a", 0.64, mcc=0.1))  # no rule places by MCC
    assert [(one.run, one.place) for one in board.rows] == [("a", 1), ("b", 1)]


def test_the_lowest_error_rate_is_the_best() -> None:
    rows = [row("worse", 0.9), row("better", 0.2)]
    board = Board(task=TaskName("ACT"), rows=rows, signature="s", order=ORDER)
    covered = AnsweredShare(answered={"worse": 160, "better": 160}, articles=160, least=0.9)
    found = rounded(board, (replace(COLUMNS[0], rising=True), *COLUMNS[1:]), covered, {}).rows
    assert [(one.run, one.place) for one in found] == [("better", 1), ("worse", 2)]


def test_only_changed_rows_are_made_again() -> None:
    """What is kept gives the same board as nothing kept, whatever changes meanwhile."""
    kept: dict[str, RoundedRow] = {}
    first, second = row("a", 0.5), row("b", 0.7)
    covered = AnsweredShare(answered={"a": 150, "b": 150}, articles=160, least=0.9)
    board = Board(task=TaskName("ACT"), rows=(first, second), signature="s", order=ORDER)
    before = rounded(board, COLUMNS, covered, kept).rows
    for changed, answered in (
        (board, replace(covered, answered={"a": 151, "b": 150})),
        (replace(board, rows=(first, row("b", 0.8))), covered),
        (board, replace(covered, withheld=frozenset("b"))),
        (board, replace(covered, least=1.0)),
        (board, replace(covered, articles=200)),
        (replace(board, order=ORDER[::-1]), covered),
        (replace(board, rows=(first,)), covered),
        (board, covered),
    ):
        again = rounded(changed, COLUMNS, answered, kept).rows
        assert again == rounded(changed, COLUMNS, answered, {}).rows
    assert again == before
    swapped = replace(
        board,
        rows=[msgspec.structs.replace(second, place=2), msgspec.structs.replace(first, place=3)],
    )
    assert [id(one) for one in rounded(swapped, COLUMNS, covered, kept).rows] == [*map(id, again)]


def test_nothing_has_more_than_two_digits() -> None:
    board = shown(row("a", 2 / 3))
    [found] = board.rows
    assert found.values == {"auc_ipr": 0.67, "mcc": 0.0, "tp": None}
    assert (found.curve, found.interval, board.resampling) == ((), None, "")
    assert (found.articles_counted, found.confidence) == (None, None)  # of the gold's articles
    assert (found.articles_scored, found.articles_in_gold) == (150, 160)  # of the corpus


@pytest.mark.parametrize(
    ("run", "answered", "scored"),
    [
        (row("one", 1.0, scored=1), 1, False),
        (row("most", 1.0, scored=89), 160, False),
        (row("enough", 1.0, scored=90), 100, True),
        (row("begun", 1.0, scored=100, offline=False), 100, False),
        (row("far", 1.0, scored=100, offline=False), 144, True),
    ],
)
def test_runs_of_few_articles_have_no_score(run: BoardRow, answered: int, scored: bool) -> None:
    [found] = shown(run, answered={run.run: answered}).rows
    assert (found.place is not None) is scored
    assert all((value is not None) is (scored and name != "tp")
               for name, value in found.values.items())  # fmt: skip


def test_the_least_coverage_is_that_of_the_ranking() -> None:
    [found] = shown(row("half", 1.0, scored=50), answered={"half": 80}, least=0.5).rows
    assert found.place == 1
    plan = PhasePlan(ranking=Ranking(min_coverage=0.5), visibility=Visibility.OWN)
    assert "answered 50% of" in note(plan)
    assert "50% of the articles have scores" in warning(plan)
    assert "public part" not in note(plan) + warning(plan)
    plan = PhasePlan(ranking=Ranking(min_coverage=0.975), public_share=0.125)
    assert "answered 97.5% of" in note(plan)
    assert "12.5% of the gold" in note(plan)
    none = PhasePlan(ranking=Ranking(min_coverage=0), visibility=Visibility.OWN, public_share=0.3)
    assert "only runs" not in note(none)
    assert "secret 30% of the gold" in note(none)
    assert "public part of the gold (30%)" in warning(none)


@pytest.mark.parametrize("state", [None, *PhaseState])
def test_gold_is_secret_until_a_test_phase_is_frozen(state: PhaseState | None) -> None:
    assert not reveals_gold(PhasePlan(kind=PhaseState.TRAINING), state)
    over = state in (PhaseState.FROZEN, PhaseState.CLOSED)
    assert reveals_gold(PhasePlan(), state) is not over


def test_a_file_of_few_hits_has_a_place_but_shows_no_score_yet() -> None:
    [found] = shown(row("few", 0.1, scored=100), answered={"few": 12}).rows
    assert (found.place, set(found.values.values()), found.below) == (None, {None}, False)
