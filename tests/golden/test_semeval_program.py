"""The organisers' program of SemEval-2013 task 9.1: its counts and scores on 40 random cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from scoring.semeval_ner import TYPES, Compat, MentionCounts
from scoring.semeval_program import WrittenMention, evaluate

CASES = json.loads((Path(__file__).parent / "semeval_program.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_counts_and_scores_are_those_of_the_program(case: dict[str, Any]) -> None:
    gold = [WrittenMention(*one) for one in case["gold"]]
    run = [WrittenMention(*one) for one in case["run"]]
    documents = {one.place: one.place.rsplit(".", 1)[0] for one in [*gold, *run]}
    card = evaluate(gold, run, documents)
    found: dict[str, MentionCounts] = {str(name): one for name, one in card.micro.items()}
    for name in TYPES:
        of_type = {str(criterion): one for criterion, one in card.per_type[name].items()}
        found[f"type:{name}"] = of_type["exact"]
    assert {name: [*counts] for name, counts in found.items()} == case["counts"]
    compat = Compat.SEMEVAL2013
    for name, printed in case["scores"].items():
        counts = found[name]
        ours = (counts.precision(compat), counts.recall(), counts.f_score(compat))
        assert ours == pytest.approx([*map(float, printed)], abs=0.00501)  # two decimals
    assert [*card.macro().values()] == pytest.approx([*map(float, case["macro"])], abs=0.00501)


def test_the_cases_have_what_tells_the_program_from_the_definitions() -> None:
    assert any(counts[3] < 0 for case in CASES for counts in case["counts"].values())
    assert any(len(case["run"]) != len({tuple(one) for one in case["run"]}) for case in CASES)
    assert any(";" in offsets for case in CASES for _, offsets, _ in case["gold"])
    assert any(
        {place for place, *_ in case["run"]} - {place for place, *_ in case["gold"]}
        for case in CASES
    )
