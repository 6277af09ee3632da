import csv
import io
from dataclasses import dataclass, replace

import pytest
from msgspec.structs import replace as changed

from metaserver.base.boards import Board, BoardRow, Column, RunIntervals, board_columns
from metaserver.base.records import TaskName
from metaserver.web.public.choices import Choice, Show, Sort
from metaserver.web.public.leaderboard import IntervalStatus, Leaderboard
from metaserver.web.ui.tables import field_names, to_csv, to_dict
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
        run=run, place=place, values={"tp": tp, "f": f, "auc": auc}, articles_scored=scored,
        articles_in_gold=10, curve=curve,
    )  # fmt: skip


ROWS = (
    row("b", 1, 7, 0.1, 0.91, scored=4), row("a", 2, 9, None, 0.5), row("c", 2, 8, 0.25, 0.5),
    row("=d", None, None, None, None, scored=0, curve=()),
)  # fmt: skip


def shown(sort="", rows=ROWS, show=Show.ALL, resampling=""):
    board = Board(task=TASK.name, rows=rows, signature="sig", resampling=resampling)
    choice = Choice(show=show, sort=Sort.parse(sort, board_columns(TASK.columns)))
    return Leaderboard(board=board, task=TASK, choice=choice, phase="test", base="/c/bc/test")


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


def test_a_heading_sorts_best_first_then_turns_round():
    by = {column.key: column for column in board_columns(TASK.columns)}
    assert str(Sort().on(by["auc"])) == "-auc"
    assert str(Sort(key="auc", descending=True).on(by["auc"])) == "auc"
    assert str(Sort().on(by["run"])) == "run"
    assert str(Sort().on(by["place"])) == "-place"


def test_csv_is_what_is_shown():
    table = list(csv.reader(io.StringIO(to_csv(shown("-f")))))
    assert table == [
        [
            "place", "team", "title", "run", "mode", "articles", "tp", "f", "auc",
            "articles_in_gold", "below_min_coverage", "protocol",
        ],
        ["2", "", "", "c", "online", "10/10", "8", "0.25", "0.500", "10", "no", ""],
        ["1", "", "", "b", "online", "4/10", "7", "0.10", "0.910", "10", "no", ""],
        ["2", "", "", "a", "online", "10/10", "9", "n/a", "0.500", "10", "no", ""],
        ["n/a", "", "", "'=d", "online", "0/10", "n/a", "n/a", "n/a", "10", "no", ""],
    ]  # fmt: skip


def test_json_is_what_is_shown():
    told = to_dict(shown("-f"))
    assert (told["sort"], told["view"], told["show"]) == ("-f", "raw", "all")
    assert [run["run"] for run in told["runs"]] == ["c", "b", "a", "=d"]
    assert told["runs"][1] == {
        "articles_scored": 4, "articles_in_gold": 10, "place": 1, "team": None, "title": None,
        "run": "b", "mode": "online", "tp": 7, "f": 0.1, "auc": 0.91,
        "articles_counted": 10, "confidence": None, "below_min_coverage": False,
        "protocol": None,
    }  # fmt: skip


SPREAD = RunIntervals(score=0.5, low=0.444, high=0.5678, best_rank=1, worst_rank=3)
JUDGED = (
    changed(ROWS[0], interval=SPREAD),  # it has 0.91 by now
    changed(ROWS[1], interval=replace(SPREAD, score=0.5 + 1e-13, best_rank=2, worst_rank=2)),
    ROWS[2],
    ROWS[3],
)


def test_an_interval_is_told_with_what_it_is_worth():
    board = shown(rows=JUDGED, resampling="some")
    told = [
        (board.interval_status(row), board.bounds(row), board.ranks(row)) for row in board.rows()
    ]
    assert told == [
        (IntervalStatus.PENDING, ("", ""), ""),
        (IntervalStatus.CURRENT, ("0.44", "0.57"), "2"),
        (IntervalStatus.PENDING, ("", ""), ""),
        (IntervalStatus.NONE, ("", ""), ""),
    ]


def test_csv_and_json_have_the_intervals():
    board = shown(rows=JUDGED, resampling="some")
    table = list(csv.DictReader(io.StringIO(to_csv(board))))
    keys = ("rank_low", "rank_high", "auc_low", "auc_high", "interval")
    assert [[row[key] for key in keys] for row in table] == [
        ["", "", "", "", "pending"],
        ["2", "2", "0.44", "0.57", "current"],
        ["", "", "", "", "pending"],
        ["n/a", "n/a", "n/a", "n/a", "n/a"],
    ]
    runs = to_dict(board)["runs"]
    assert [runs[0][key] for key in keys] == [None, None, None, None, "pending"]
    assert [runs[3][key] for key in keys] == [None, None, None, None, "n/a"]


TEAMS = (
    changed(ROWS[0], team="x", offline=True), changed(ROWS[1], team="x"),
    changed(ROWS[2], team="y"), ROWS[3],
)  # fmt: skip


@pytest.mark.parametrize(
    ("show", "runs"), [(Show.ALL, "b a c =d"), (Show.ONLINE, "a c =d"), (Show.BEST, "b c =d")]
)
def test_which_runs_are_shown(show, runs):
    assert [row.run for row in shown(rows=TEAMS, show=show).rows()] == runs.split()


def test_charts_have_the_best_chosen_run_of_each_team():
    assert [p.name for p in shown(rows=TEAMS).points()] == ["x · b", "y · c"]
    assert [c.name for c in shown(rows=TEAMS).curves()] == ["x · b", "y · c"]
    assert [c.name for c in shown(rows=TEAMS, show=Show.ONLINE).curves()] == ["x · a", "y · c"]


def test_a_run_is_tagged_as_best_where_its_team_has_others():
    board = shown(rows=TEAMS)
    assert [board.best(row) for row in board.rows()] == [True, False, False, False]
    assert not any(shown().best(row) for row in ROWS)


def test_a_run_is_called_after_its_team_once():
    assert [row.name for row in TEAMS] == ["x · b", "x · a", "y · c", "=d"]
    assert changed(ROWS[0], run="x · S1", team="x").name == "x · S1"


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
    view = Leaderboard(board=board, task=task, choice=Choice(), phase="test", base="/c/bc/test")
    header = to_csv(view).splitlines()[0].split(",")
    assert header == field_names(view)
    keys = [column.key for column in task.columns]
    assert [key for key in header if key in keys] == keys


def test_a_measure_has_a_column_once_a_run_has_a_value_of_it():
    def headings(*rows):
        return [column.key for column in shown(rows=rows).table]

    assert headings() == ["place", "run", "auc", "tp", "f", "mode", "articles"]
    rounded = row("b", 1, None, 0.1, 0.9)
    assert headings(rounded) == ["place", "run", "auc", "f", "mode", "articles"]
    assert headings(rounded, row("a", 2, 7, 0.1, 0.9)) == headings()
