import csv
import io
from dataclasses import dataclass

import pytest

from metaserver.records import ServerName, TaskName
from metaserver.services.snapshots import Board, BoardRow
from metaserver.tasks.plugin import Column, Score
from metaserver.web.leaderboard import Leaderboard, Sort, columns
from tests.unit.metaserver.web.challenge import TASKS, Challenge


@dataclass(frozen=True, kw_only=True)
class ShownTask:
    """The part of a task plug-in that a board needs."""

    name: TaskName
    title: str
    key: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]


TASK = ShownTask(
    name=TaskName("NER"),
    title="Names",
    key="names",
    columns=(
        Column(key="tp", heading="TP", count=True),
        Column(key="f", heading="F", decimals=2),
        Column(key="auc", heading="AUC"),
    ),
    order=("auc", "f"),
)


def row(run, place, tp, f, auc, scored=10, curve=((0.5, 1.0),)):
    return BoardRow(
        run=ServerName(run),
        place=place,
        score=Score(
            values={"tp": tp, "f": f, "auc": auc},
            articles_scored=scored,
            articles_in_gold=10,
            curve=curve,
            detail={},
        ),
    )


ROWS = (
    row("b", 1, 7, 0.1, 0.91, scored=4),
    row("a", 2, 9, None, 0.5),
    row("c", 2, 8, 0.25, 0.5),
    row("=d", None, None, None, None, scored=0, curve=()),
)


def shown(sort="", rows=ROWS):
    board = Board(task=TASK.name, rows=rows, signature="sig")
    return Leaderboard(board=board, task=TASK, sort=Sort.parse(sort, columns(TASK)))


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", "b a c =d"),
        ("-place", "a c b =d"),
        ("run", "=d a b c"),
        ("-tp", "a c b =d"),
        ("tp", "b c a =d"),
        ("f", "b c a =d"),
        ("-f", "c b a =d"),
        ("-articles", "a c b =d"),
    ],
)
def test_rows_without_a_value_come_last_and_ties_keep_the_boards_order(sort, order):
    assert [row.run for row in shown(sort).rows()] == order.split()


def test_an_unknown_column_is_told_with_the_known_ones():
    with pytest.raises(ValueError, match="Cannot sort by x: use one of place, run, articles, tp"):
        Sort.parse("-x", columns(TASK))


def test_a_heading_sorts_best_first_then_turns_round():
    by = {column.key: column for column in columns(TASK)}
    assert str(Sort().on(by["auc"])) == "-auc"
    assert str(Sort(key="auc", descending=True).on(by["auc"])) == "auc"
    assert str(Sort().on(by["run"])) == "run"
    assert str(Sort().on(by["place"])) == "-place"


def test_csv_is_what_is_shown():
    table = list(csv.reader(io.StringIO(shown("-f").to_csv())))
    assert table == [
        ["place", "run", "articles", "tp", "f", "auc"],
        ["2", "c", "10/10", "8", "0.25", "0.500"],
        ["1", "b", "4/10", "7", "0.10", "0.910"],
        ["2", "a", "10/10", "9", "n/a", "0.500"],
        ["n/a", "'=d", "0/10", "n/a", "n/a", "n/a"],
    ]


def test_json_is_what_is_shown():
    told = shown("-f").to_dict()
    assert told["sort"] == "-f"
    assert [run["run"] for run in told["runs"]] == ["c", "b", "a", "=d"]
    assert told["runs"][1] == {
        "articles_scored": 4, "articles_in_gold": 10, "place": 1, "run": "b",
        "tp": 7, "f": 0.1, "auc": 0.91,
    }  # fmt: skip


def test_a_run_that_answered_less_than_half_is_tagged():
    board = shown()
    assert [board.few(row) for row in board.rows()] == [True, False, False, True]


def test_only_runs_with_both_measures_are_points_and_with_steps_are_curves():
    board = shown()
    assert [(p.name, p.x, p.y) for p in board.points()] == [("b", 0.1, 0.91), ("c", 0.25, 0.5)]
    assert [curve.name for curve in board.curves()] == ["b", "a", "c"]
    assert board.axes()[0].label == "F"


def test_a_change_of_place_keeps_a_runs_colour():
    swapped = shown(rows=(ROWS[1], ROWS[0], *ROWS[2:]))
    assert shown().series() == swapped.series() == {"a": 0, "b": 1, "c": 2}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_tasks_board_has_its_plugins_columns(task):
    board = Challenge().board(task.name)
    view = Leaderboard(board=board, task=task, sort=Sort())
    header = view.to_csv().splitlines()[0].split(",")
    assert header == ["place", "run", "articles", *(column.key for column in task.columns)]
