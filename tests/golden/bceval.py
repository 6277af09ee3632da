"""Cases of the official BC II.5 evaluator 2.3.1, and what agreeing with it means: all digits."""

import json
from functools import cache
from typing import Any

import pytest

from scoring import ActScorecard, Scorecard
from tests.shared import shared

POLICY = {"all gold": "all", "with results": "answered"}
ACT_NAMES = {
    "specificity": "spec", "sensitivity": "sens", "accuracy": "acc", "mcc": "mcc",
    "precision_at_full_recall": "p_at_full_r", "auc_ipr": "auc_ipr",
}  # fmt: skip


@cache
def cases(name: str) -> list[dict[str, Any]]:
    return json.loads(shared(f"golden/bceval/{name}.json").read_text())


def assert_agrees(scorecard: Scorecard, expected: dict[str, Any]) -> None:
    values = scorecard.to_dict()
    if isinstance(scorecard, ActScorecard):
        assert [values[key] for key in ("tp", "fp", "fn", "tn")] == expected["hits"]
        found = {name: values[name] for name in ACT_NAMES}
        assert found == close({name: expected[theirs] for name, theirs in ACT_NAMES.items()})
        if "ipr" in expected:
            assert scorecard.curve == curve(expected["ipr"])
        return
    assert values["articles_scored"] == expected["docs"]
    assert [values[key] for key in ("tp", "fp", "fn")] == expected["hits"][:3]
    micro = {name: value for name, value in expected["micro"].items() if name != "ipr"}
    assert values["macro"] == close(expected["macro"])
    assert values["micro"] == close(micro)


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
