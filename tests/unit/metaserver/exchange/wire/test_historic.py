"""Answers of old servers are completed where the organiser allows it, and otherwise are not."""

from typing import Any

import pytest

from metaserver.exchange.wire.contract import Completion, Report

BOTH = Completion(by_rank=True, mention_type="protein")
OLD = {
    "normalizations": [{"dbid": "B", "rank": 7}, {"dbid": "A", "rank": 2}],
    "mentions": [{"offset": 0, "mention": "x"}, {"offset": 2, "mention": "y", "type": "gene"}],
}


def test_what_is_missing_is_read_from_the_rest() -> None:
    report = Report()
    found = BOTH.completed(OLD, report)
    assert [one["confidence"] for one in found["normalizations"]] == [0.5, 1.0]
    assert [one["type"] for one in found["mentions"]] == ["protein", "gene"]
    assert [str(one) for one in report.problems] == [
        "normalizations: no hit has a confidence: the confidences are computed from the ranks",
        "mentions[0].type: missing; read as protein, the phase's mention_type",
    ]
    assert "confidence" not in OLD["normalizations"][0], "the answer itself is as it was"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"normalizations": 3},
        {"normalizations": [3]},
        {"normalizations": [{"dbid": "A"}]},
        {"normalizations": [{"dbid": "A", "rank": "1"}]},
        {"normalizations": [{"rank": 1, "confidence": 1.0}, {"rank": 2}]},
        {"mentions": ["x"]},
    ],
)
def test_any_other_answer_is_left_alone(value: Any) -> None:
    report = Report()
    assert BOTH.completed(value, report) == value
    assert not report.problem_count


def test_nothing_is_read_into_answers_unasked() -> None:
    assert Completion().completed(OLD, Report()) == OLD
