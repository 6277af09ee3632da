"""The 3-D predictors' score: the hand-made example, and the paper's tables."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from scoring import ppi3d
from scoring.ppi3d import Ppi3dScorecard, evaluate, expected_score, simulate
from tests.shared import shared

PAIRS = 1_000_000  # as many as the scatter of the published values suggests


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(shared("golden/metric3d.json").read_text())


@pytest.fixture(scope="module")
def simulated(golden: dict[str, Any]) -> list[tuple[dict[str, Any], Ppi3dScorecard]]:
    return [
        (
            cell,
            evaluate(
                *simulate(
                    alpha=cell["alpha"], beta=cell["beta"], positive_share=cell["positive"],
                    pairs=PAIRS, seed=seed,
                )
            ),
        )
        for seed, cell in enumerate(golden["cells"])
    ]  # fmt: skip


def test_hand_made_example(golden: dict[str, Any]) -> None:
    example = golden["hand_example"]
    found = evaluate([label == 1 for label in example["y"]], example["score"])
    assert found.a1 == pytest.approx(example["A1"], abs=1e-15)
    assert found.a2 == pytest.approx(example["A2"], abs=1e-15)
    assert found.score == pytest.approx(example["score3d"], abs=1e-15)


def test_the_score_of_infinitely_many_pairs(golden: dict[str, Any]) -> None:
    for cell in golden["cells"]:
        limit = expected_score(alpha=cell["alpha"], beta=cell["beta"])
        assert limit == pytest.approx(cell["score_literal_limit"], abs=1e-12)


@pytest.mark.slow
def test_tables_2_and_3_are_reproduced(simulated):
    for cell, found in simulated:
        assert found.auroc == pytest.approx(cell["auroc_published"], abs=0.005)
        assert found.auprc == pytest.approx(cell["auprc_published"], abs=0.005)
        assert found.auroc == pytest.approx(cell["auroc"], abs=0.005)
        assert found.auprc == pytest.approx(cell["auprc"], abs=0.005)


def test_which_table_is_which(golden: dict[str, Any]) -> None:
    """Table 2 scatters about AUPRC as a million pairs do, Table 3 less, about AUROC."""
    scatter = {
        name: np.std([cell[f"{name}_published"] - cell[name] for cell in golden["cells"]])
        for name in ("auprc", "auroc")
    }
    assert "T3 sd .00063, T2 .0017" in golden["parameters_recovered"]["n"]
    assert scatter["auroc"] == pytest.approx(0.00063, abs=5e-5)
    assert scatter["auprc"] == pytest.approx(0.0017, abs=1e-4)
    assert "Tables 2 (AUPRC) and 3 (AUROC)" in (ppi3d.__doc__ or "")


def test_the_fit_of_table_4(golden: dict[str, Any]) -> None:
    """From the shares at or above each k/15, without a draw: as docs/evaluations.md says."""
    thresholds = np.arange(15, -1, -1) / 15
    errors = []
    for cell in golden["cells"]:
        alpha, beta, share = cell["alpha"], cell["beta"], cell["positive"]
        recall = alpha + (1 - alpha) * np.clip((1 - thresholds) / 0.75, 0, 1)
        called = (1 - beta) * np.clip(1 - thresholds / 0.75, 0, 1) + beta * (thresholds == 0)
        odds = share * recall[called > 0] / ((1 - share) * called[called > 0])
        ratio = np.ones_like(called)
        ratio[called > 0] = odds / odds.max()
        specificity = 1 - called[:-1] / (1 - called[:-1])  # all pairs are called at 0
        a1 = np.trapezoid([1, *ratio], [0, *recall])
        a2 = np.trapezoid([1, *specificity], [0, *recall[:-1]])
        errors.append(a1 * a2 / 2**0.5 - cell["score_published"])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.0025, abs=5e-5)
    assert max(map(abs, errors)) < 0.006
    set_a = [cell["score_published"] for cell in golden["cells"] if cell["set"] == "a"]
    assert np.std(set_a) == pytest.approx(0.0025, abs=5e-4)


def test_how_far_table_4_is(golden: dict[str, Any]) -> None:
    cells = golden["cells"]
    errors = [
        expected_score(alpha=cell["alpha"], beta=cell["beta"]) - cell["score_published"]
        for cell in cells
    ]
    rmse = (sum(error**2 for error in errors) / len(errors)) ** 0.5
    assert rmse == pytest.approx(golden["errors"]["limit"]["rmse"], abs=1e-9)
    assert max(map(abs, errors)) == pytest.approx(golden["errors"]["limit"]["max"], abs=1e-9)
    by_set: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for cell in cells:
        limit = expected_score(alpha=cell["alpha"], beta=cell["beta"])
        by_set[cell["set"]].append((limit, cell["score_published"]))
    for name in "bcd":  # in set a the score does not depend on what is varied
        assert sorted(by_set[name]) == sorted(by_set[name], key=lambda one: one[1])
    assert len({round(limit, 12) for limit, _ in by_set["a"]}) == 1
