"""Letters of runs, and tables: bold, stars, LaTeX, rankings."""

import subprocess
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.intervals import Bounds
from scoring.letters import letters
from scoring.rankings import RankedRun, ranking_report, ranking_table
from scoring.tables import best_cells, latex_float, latex_table, starred_table
from tests.tools import tool

_RUNS = [f"run{number}" for number in range(9)]
_PAIRS = list(combinations(_RUNS, 2))


@given(different=st.sets(st.sampled_from(_PAIRS)))
def test_two_runs_share_a_letter_where_no_difference_was_found(different):
    found = letters(_RUNS, different)
    for a, b in _PAIRS:
        assert bool(set(found[a]) & set(found[b])) == ((a, b) not in different)
    assert all(found.values())
    assert "a" in found[_RUNS[0]]


@given(different=st.sets(st.sampled_from(_PAIRS)))
def test_no_letter_could_be_left_out(different: set[tuple[str, str]]) -> None:
    found = letters(_RUNS, different)
    shared = {(a, b): set(found[a]) & set(found[b]) for a, b in _PAIRS if (a, b) not in different}
    for letter in {letter for marks in found.values() for letter in marks}:
        alone = any(marks == letter for marks in found.values())
        assert alone or any(common == {letter} for common in shared.values())


def test_letters_of_runs_in_order() -> None:
    assert letters(["x", "y", "z"], []) == {"x": "a", "y": "a", "z": "a"}
    assert letters(["x", "y", "z"], [("z", "x")]) == {"x": "a", "y": "ab", "z": "b"}
    many = [str(number) for number in range(60)]
    found = letters(many, list(combinations(many, 2)))
    assert [found[name] for name in ("0", "25", "26", "59")] == ["a", "z", "a1", "h2"]


TABLE = [
    ["run", "n", "F", "error"],
    ["a_1", 3, 0.25, 0.5],
    ["b<", 9, 0.2504, 0.25],
    ["c", 1, None, 1.0],
]


def test_the_best_cells_are_those_that_read_best() -> None:
    best = best_cells(TABLE, {"F": False, "error": True, "none": False})
    assert best == {(1, 2), (2, 2), (2, 3)}
    assert best_cells(TABLE[:2], {"F": False}) == set()
    assert [line.split() for line in starred_table(TABLE, best).splitlines()] == [
        ["run", "n", "F", "error"],
        ["a_1", "3", "0.250*", "0.500"],
        ["b<", "9", "0.250*", "0.250*"],
        ["c", "1", "n/a", "1.000"],
    ]


def test_latex_is_what_booktabs_expects() -> None:
    text = latex_float(latex_table(TABLE, {(2, 3)}), "Runs & errors: 95 %", "tab:runs")
    assert text.splitlines() == [
        r"\begin{table}", r"\centering", r"\caption{Runs \& errors: 95 \%}", r"\label{tab:runs}",
        r"\begin{tabular}{lrrr}", r"\toprule", r"run & n & F & error \\", r"\midrule",
        r"a\_1 & 3 & 0.250 & 0.500 \\", r"b\textless{} & 9 & 0.250 & \textbf{0.250} \\",
        r"c & 1 & n/a & 1.000 \\", r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip


@pytest.mark.nightly
def test_latex_compiles(tmp_path: Path) -> None:
    odd = [["run", r"& % $ # _ { } \ ~ ^ < >"], ["x", 0.5]]
    body = latex_float(latex_table(odd), r"& % $ # _ { } \ ~ ^ < >", "tab:a_b")
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}"
    (tmp_path / "a.tex").write_text(document + r"\end{document}")
    command = [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0


def test_rankings_share_ranks_and_end_with_runs_without_a_score() -> None:
    runs = [
        RankedRun(run="none", score=None, bounds=None, cells={"n": 0}),
        RankedRun(run="b", score=0.5, bounds=Bounds(0.4, 0.6), cells={"n": 1}),
        RankedRun(run="a", score=0.5, bounds=None, cells={"n": 2}),
        RankedRun(run="low", score=0.1, bounds=None, cells={"n": 3}),
    ]
    table = ranking_table(runs, "ser", lowest_first=True)
    assert [row[:2] for row in table[1:]] == [["low", 1], ["a", 2], ["b", 2], ["none", None]]
    table = ranking_table(runs, "F")
    assert [row[:2] for row in table[1:]] == [["a", 1], ["b", 1], ["low", 3], ["none", None]]
    assert table[2] == ["b", 1, 0.5, "[0.400, 0.600]", 1]
    assert ranking_report(table, "csv", "F").splitlines()[0] == "run,rank,F,95 %,n"
    assert ranking_report(table, "latex", "F").count(r"\textbf{0.500}") == 2
