"""What a hub answers as one reads it: tables, sections, nothing that has no value."""

from typing import Any

import pytest

from metaserver.cli.remote.tables import cell, show
from metaserver.operations.outline import Outline, Parameter, Result, ValueKind

FIELDS = (Parameter(name="raw", kind=ValueKind.FILE),)
OUTLINE = Outline(
    name="boxes.get", rpc="Boxes.get", method="GET", path="/boxes", doc="",
    result=Result(kind=ValueKind.STRUCT, fields=FIELDS),
)  # fmt: skip


def told(capsys: pytest.CaptureFixture[str], answer: Any) -> str:
    show(OUTLINE, answer)
    return capsys.readouterr().out


def test_what_has_no_value_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"box": "a", "title": "", "weight": None, "labels": [], "size": {}, "count": 0}
    assert told(capsys, given) == "box    a\ncount  0\n"
    rows = [{"box": "a", "note": "", "count": 0}, {"box": "b", "note": None, "count": None}]
    assert told(capsys, rows) == "box  count\na    0\nb\n"


def test_lists_of_structs_are_tables_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [{"name": "one", "problems": [{"path": "a[0]", "message": "is wrong"}], "text": "x\ny",
              "raw": "x"}]  # fmt: skip
    assert told(capsys, {"steps": steps, "passed": False}).splitlines() == [
        "passed  no", "", "steps:", "name  problems        text",
        "one   a[0]: is wrong  3 characters",
    ]  # fmt: skip


def test_measured_numbers_get_columns(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"run": "a", "place": 1, "values": {"tp": 3, "f": 0.123456}, "limits": {"servers": 5}},
        {"run": "b", "place": 2, "values": {"tp": None, "place": 0.5}, "limits": {}},
    ]
    assert told(capsys, rows).splitlines() == [
        "run  place  tp  f       limits     values.place",
        "a    1      3   0.1235  servers=5",
        "b    2                             0.5",
    ]


def test_numbers_of_one_name_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"run": "a", "before": {"tp": 1, "f": 0.5}, "after": {"tp": 2, "f": 0.25}}]
    assert told(capsys, rows).splitlines() == [
        "run  before.tp  before.f  after.tp  after.f",
        "a    1          0.5       2         0.25",
    ]


def test_structs_in_structs_have_their_path(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"answer": {"pairs": [{"rank": 1}]}, "times": {"total": {"count": 2}}}
    assert told(capsys, given) == "\nanswer.pairs:\nrank\n1\n\ntimes:\n       count\ntotal  2\n"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("at", 0, "1970-01-01 00:00:00+00:00"),
        ("seconds", 0.00123456, "0.001235"),
        ("eta", 123456.7, "123457"),
        ("p50", {"seconds": 600.0, "at_least": True}, "at least 600"),
        ("reasons", ["a b", "c"], "a b\nc"),
        ("tasks", ["INT", "IPT"], "INT, IPT"),
        ("answer", {"hits": [{"rank": 1}]}, "hits:\nrank=1"),
    ],
)
def test_cells(name: str, value: Any, text: str) -> None:
    assert cell(name, value) == text
