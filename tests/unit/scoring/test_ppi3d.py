"""The 3-D predictors' score: against scikit-learn, edge cases, the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scoring import figures
from scoring.cli import main
from scoring.errors import OptionError
from scoring.pair_files import read_labels, scored_pairs
from scoring.ppi3d import curves, evaluate, expected_score, intervals, simulate
from tests.shared import shared

_PAIRS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=30)


@given(pairs=_PAIRS)
def test_areas_agree_with_scikit_learn_and_keep_their_ranges(pairs: list[tuple[bool, int]]) -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    labels, confidences = [label for label, _ in pairs], [float(value) for _, value in pairs]
    assume(len(set(labels)) == 2)
    found = evaluate(labels, confidences)
    assert found.auroc == pytest.approx(roc_auc_score(labels, confidences))
    assert found.auprc == pytest.approx(average_precision_score(labels, confidences))
    assert 0 <= found.a1 <= 1
    assert found.a2 <= 1
    assert found.score == found.a1 * found.a2
    assert found.positives + found.negatives == len(pairs)


def test_a_perfect_ranking_scores_1() -> None:
    found = evaluate([True, True, False], [0.9, 0.8, 0.1])
    assert (found.a1, found.a2, found.score, found.auroc, found.auprc) == (1, 1, 1, 1, 1)


@pytest.mark.parametrize("labels", [[True, True], [False, False], []])
def test_both_kinds_of_pairs_are_needed(labels: list[bool]) -> None:
    with pytest.raises(OptionError, match="pairs of both kinds"):
        evaluate(labels, [0.5] * len(labels))


def test_the_simulated_predictor_comes_close_to_its_closed_forms() -> None:
    labels, confidences = simulate(alpha=0.2, beta=0.3, positive_share=0.1, pairs=200_000, seed=5)
    found = evaluate(labels, confidences)
    assert labels.sum() == 20_000
    assert found.auroc == pytest.approx(1 - 0.8 * 0.7 * 2 / 9, abs=0.01)
    assert found.score == pytest.approx(expected_score(alpha=0.2, beta=0.3), abs=0.02)
    assert np.isin([0.0, 1.0], confidences).all()


def test_intervals_hold_the_value_and_repeat() -> None:
    labels, confidences = simulate(alpha=0.2, beta=0.3, positive_share=0.3, pairs=400, seed=5)
    found = intervals(labels, confidences, resamples=200)
    values = evaluate(labels, confidences).to_dict()
    assert found == intervals(labels, confidences, resamples=200)
    for name in ("a2", "auroc", "auprc"):
        low, high = found[name]
        assert low < values[name] < high


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, plot = tmp_path / "s.tsv", tmp_path / "s.svg"
    scores.write_text("1\t0.9\n1\t.8\n0\t7e-1\n1\t0.6\n0\t0.4\n0\t-2\n")
    words = ["ppi3d", "--scores", str(scores), "--resamples", "20", "--out", str(plot)]
    assert main([*words, "--json"]) == 0
    (values,) = json.loads(capsys.readouterr().out)
    assert values["score"] == pytest.approx(17 / 18 * 5 / 6)
    assert set(values["intervals"]) == {"a1", "a2", "score", "auroc", "auprc"}
    assert plot.read_text().startswith("<?xml")
    assert main(["ppi3d", "--scores", str(scores), "--resamples", "0"]) == 0
    assert "score      0.787" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("2\t0.5\n", 1),
        ("1\t0.5\n0\tnan\n", 2),
        ("1 0.5\n", 1),
        ("1\t0.5\n\n", 2),
        ("1\t0.1\n", 0),
        ("", 0),
    ],
)
def test_bad_scores_are_refused_by_line(tmp_path, capsys, content, line):
    scores = tmp_path / "s.tsv"
    scores.write_text(content)
    assert main(["ppi3d", "--scores", str(scores), "--out", str(tmp_path / "p.svg")]) == 2
    place = f"{scores}:{line}: " if line else f"{scores}: "
    assert capsys.readouterr().err.startswith(place)
    assert not (tmp_path / "p.svg").exists()


def test_a_plot_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    assert main(["ppi3d", "--scores", "none", "--out", str(tmp_path / "p.bmp")]) == 2


def test_several_predictors_are_ranked_and_drawn(tmp_path, capsys):
    files = []
    for name, alpha in (("weak", 0.05), ("strong", 0.6)):
        labels, confidences = simulate(alpha=alpha, beta=0.3, positive_share=0.3, pairs=200, seed=1)
        files.append(tmp_path / f"{name}.tsv")
        lines = (f"{label:d}\t{value}\n" for label, value in zip(labels, confidences, strict=True))
        files[-1].write_text("".join(lines))
    page = tmp_path / "p.html"
    words = ["ppi3d", "--scores", *map(str, files), "--resamples", "0", "--html", str(page)]
    assert main([*words, "--format", "csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("run,rank,score,95 %,positives")
    assert [row.split(",")[:2] for row in rows] == [["strong", "1"], ["weak", "2"]]
    assert "strong (" in page.read_text()


@given(pairs=_PAIRS)
def test_drawn_curves_lie_in_the_unit_square_and_have_their_areas(pairs):
    labels, confidences = [label for label, _ in pairs], [float(value) for _, value in pairs]
    assume(len(set(labels)) == 2)
    found, card = curves(labels, confidences), evaluate(labels, confidences)
    drawn = figures.predictors({"run": (found, card.score)})
    for panel in drawn.panels:
        for series in panel.series:
            assert len(series.x) == len(series.y)
            assert all(0 <= value <= 1 for value in (*series.x, *series.y))
    assert np.trapezoid(found.roc_recall, found.false_rate) == pytest.approx(card.auroc)
    steps = np.diff(found.recall) * found.precision[1:]
    assert steps.sum() == pytest.approx(card.auprc)


def test_intervals_do_not_depend_on_the_order_of_the_gold(tmp_path: Path) -> None:
    labels = [f"p{n}\t{int(n % 3 == 0)}\n" for n in range(30)]
    (tmp_path / "run").write_text("".join(f"p{n}\t{(n * 7 % 30) / 30}\n" for n in range(30)))
    found = []
    for order in (1, -1):
        (tmp_path / "gold").write_text("".join(labels[::order]))
        read = scored_pairs(tmp_path / "run", read_labels(tmp_path / "gold"))
        found.append(intervals(*read, resamples=20))
    assert found[0] == found[1]


def test_tables_of_the_paper_are_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    """Each cell lies near the printed AUROC and AUPRC, and the score near its own limit."""
    assert main(["ppi3d", "--simulate", "20000", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    cells = json.loads(shared("golden/metric3d.json").read_text())["cells"]
    for row, cell in zip(rows, cells, strict=True):
        assert (row["set"], row["positive share"]) == (cell["set"], cell["positive"])
        assert (row["alpha"], row["beta"]) == (cell["alpha"], cell["beta"])
        assert row["AUROC"] == pytest.approx(cell["auroc_published"], abs=0.02)
        assert row["AUPRC"] == pytest.approx(cell["auprc_published"], abs=0.04)
        assert row["limit"] == pytest.approx(cell["score_literal_limit"], abs=1e-12)
        assert row["score"] == pytest.approx(row["limit"], abs=0.05)
        assert row["Table 4, fitted"] == pytest.approx(cell["score_published"], abs=0.03)
    assert main(["ppi3d", "--simulate", "20", "--scores", "x.tsv"]) == 2
    assert main(["ppi3d"]) == 2
    assert main(["ppi3d", "--simulate", "20000", "--gold", "x.tsv"]) == 2
