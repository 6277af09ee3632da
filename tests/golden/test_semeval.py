"""The hand-checked numbers of SemEval-2013 task 9.1 in ../shared/golden."""

import json
import random
from typing import Any

import pytest

from scoring.semeval_files import parse_offsets
from scoring.semeval_ner import TYPES, MentionSpan, NerScorecard, evaluate
from scoring.semeval_program import WrittenMention
from scoring.semeval_program import evaluate as evaluate_as_program
from tests.shared import shared


def cases() -> list[dict[str, Any]]:
    return json.loads(shared("golden/semeval2013_9_1.json").read_text())["cases"]


def mentions(rows: list[list[Any]]) -> list[MentionSpan]:
    return [MentionSpan(str(place), parse_offsets(offsets), name) for place, offsets, name in rows]


def check(scorecard: NerScorecard, case: dict[str, Any]) -> None:
    for criterion, expected in case["expected"].items():
        found = scorecard.to_dict()["micro"][criterion]
        for key, value in expected.items():
            name = {"P": "precision", "R": "recall", "F1": "f_score"}.get(key, key.lower())
            assert found[name] == pytest.approx(value, abs=1e-12), (case["name"], criterion, key)
    macro = case["macro_4types"]
    expected = {"precision": macro["P"], "recall": macro["R"], "f_score": macro["F1"]}
    assert scorecard.macro() == pytest.approx(expected, abs=1e-12)


def test_every_case_in_any_order() -> None:
    shuffle = random.Random(9).sample
    for case in cases():
        gold, run = mentions(case["gold"]), mentions(case["pred"])
        for _ in range(5):
            check(evaluate(shuffle(gold, len(gold)), shuffle(run, len(run))), case)


def test_per_type_and_the_printed_table_of_the_example() -> None:
    [example] = [case for case in cases() if "printed_table2" in case]
    gold, run = mentions(example["gold"]), mentions(example["pred"])
    per_type = evaluate(gold, run).to_dict()["per_type"]
    for name in TYPES:
        expected = example["per_type"][name]
        assert per_type[name]["strict"]["precision"] == pytest.approx(expected["P"])
        assert per_type[name]["strict"]["recall"] == pytest.approx(expected["R"])
        assert per_type[name]["strict"]["f_score"] == pytest.approx(expected["F1"])
    written = (
        [WrittenMention(*map(str, one)) for one in example[side]] for side in ("gold", "pred")
    )
    places = {mention.place: mention.place for mention in [*gold, *run]}
    partial = evaluate_as_program(*written, places).to_dict()["micro"]["partial"]
    printed = example["printed_table2"]["partial"]
    assert round(partial["precision"], 2) == printed["P"]
    assert round(partial["recall"], 2) == printed["R"]
    assert round(partial["f_score"], 2) == printed["F1"]
