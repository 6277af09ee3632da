"""The official BC II.5 evaluator 2.3.1 is the oracle: 150 random cases, all digits."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scoring import ActScorecard, evaluate_files
from tests.shared import shared

POLICY = {"all gold": "all", "with results": "answered"}


@cache
def cases() -> list[dict[str, Any]]:
    return json.loads(shared("golden/bceval/parity_public.json").read_text())


@pytest.mark.parametrize("number", range(150))
def test_agrees_with_the_official_program(number: int, tmp_path: Path) -> None:
    case = cases()[number]
    gold, run = tmp_path / "gold.tsv", tmp_path / "run.tsv"
    gold.write_text(case["gold"])
    run.write_text(case["run"])
    scorecard = evaluate_files(
        case["task"],
        gold,
        run,
        articles=POLICY[case["documents"]],
        cutoff=case["cutoff"],
        lenient_ranks=True,
    )
    values, expected = scorecard.to_dict(), case["expected"]
    if isinstance(scorecard, ActScorecard):
        assert [values[key] for key in ("tp", "fp", "fn", "tn")] == expected["hits"]
        names = {
            "specificity": "spec",
            "sensitivity": "sens",
            "accuracy": "acc",
            "mcc": "mcc",
            "precision_at_full_recall": "p_at_full_r",
            "auc_ipr": "auc_ipr",
        }
        assert {name: values[name] for name in names} == close(
            {name: expected[theirs] for name, theirs in names.items()}
        )
        assert scorecard.curve == curve(expected["ipr"])
    else:
        assert values["articles_scored"] == expected["docs"]
        assert [values[key] for key in ("tp", "fp", "fn")] == expected["hits"][:3]
        expected["micro"].pop("ipr")
        assert values["macro"] == close(expected["macro"])
        assert values["micro"] == close(expected["micro"])


def close(values: dict[str, float | None]) -> dict[str, Any]:
    return {
        name: value if value is None else pytest.approx(value, abs=1e-9, rel=0)
        for name, value in values.items()
    }


def curve(points: list[list[float]]) -> Any:
    return tuple(
        (pytest.approx(recall, abs=1e-9), pytest.approx(precision, abs=1e-9))
        for precision, recall in points
    )
