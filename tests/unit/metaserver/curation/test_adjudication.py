"""Two curators of an article compared: disagreements, rulings, and the gold that follows."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.curation.adjudication import Disagreement, Question, RulingChoice, disagreements
from metaserver.curation.agreement import CuratorWork
from metaserver.curation.decisions import fold
from metaserver.curation.experiments import Experiment
from metaserver.curation.sets import SetArticle, SetGold, set_gold
from scoring import ActGold, Task
from tests.unit.metaserver.curation.samples import EGFR, GRB2, event
from tests.unit.metaserver.curation.test_agreement import A, B, work


def differing(a: CuratorWork, b: CuratorWork, task: str) -> list[Disagreement]:
    return [
        one
        for name, state in a.states.items()
        if name in b.states
        for one in disagreements(name, state, b.states[name], Task(task))
    ]


def gold_of(
    a: CuratorWork, b: CuratorWork, task: str, choices: Mapping[Question, RulingChoice] = {}
) -> SetGold:
    articles = [
        SetArticle(article=name, curators={1: "a", 2: "b"}, states={1: state, 2: b.states[name]})
        for name, state in a.states.items()
        if name in b.states
    ]
    return set_gold("pilot", articles, task, {key: (choices[key], "carol") for key in choices})


def test_what_differs_is_listed() -> None:
    [one] = differing(A, B, "INT")
    assert one.question == ("1", (GRB2,))
    assert (one.first.decision, one.second.decision) == ("accepted", "rejected")
    [one] = differing(A, B, "ACT")
    assert one.question == ("2", ())


@pytest.mark.parametrize(
    ("choice", "accepted"),
    [
        (RulingChoice.FIRST, True),
        (RulingChoice.SECOND, False),
        (RulingChoice.BOTH, True),
        (RulingChoice.NEITHER, False),
    ],
)
def test_each_ruling(choice: RulingChoice, accepted: bool) -> None:
    merged = gold_of(A, B, "INT", {("1", (GRB2,)): choice})
    assert (GRB2 in merged.gold.items["1"]) == accepted


def pulled(curator: str, *, negative: bool = False, method: str = "MI:0096") -> CuratorWork:
    experiments = (Experiment(method=method, negative=negative),)
    log = [
        event(1, "pair", "IPT", EGFR, GRB2),
        event(2, "experiments", "IPT", EGFR, GRB2, experiments=experiments),
    ]
    return CuratorWork(curator=curator, states={"1": fold(log)})


def test_methods_differ_only_if_both_said_one_and_change_no_gold() -> None:
    assert differing(pulled("a"), pulled("b", method=""), "IPT") == []
    pair = pulled("a"), pulled("b", method="MI:0018")
    [one] = differing(*pair, "IPT")
    outcomes = [one.outcome(choice) for choice in RulingChoice]
    assert outcomes == [
        "accepted MI:0096", "accepted MI:0018", "accepted MI:0018 MI:0096", "accepted"
    ]  # fmt: skip
    assert gold_of(*pair, "IPT").gold.items == {"1": {(EGFR, GRB2)}}


def test_a_pair_that_was_shown_not_to_interact_is_no_gold() -> None:
    negative = pulled("a", negative=True)
    merged = gold_of(negative, pulled("b", negative=True), "IPT")
    assert (merged.gold.items, merged.empty) == ({}, ["1"])
    assert gold_of(negative, pulled("b"), "IPT").gold.items == {"1": {(EGFR, GRB2)}}


def test_classes_are_merged() -> None:
    merged = gold_of(A, B, "ACT", {("2", ()): RulingChoice.NEITHER})
    assert merged.gold == ActGold(relevant={"1": True, "2": False})
    one, other = work("a", {"1": "=1"}), work("b", {"1": ""})
    assert [found.question for found in differing(one, other, "ACT")] == [("1", ())]
    merged = gold_of(one, other, "ACT", {("1", ()): RulingChoice.SECOND})
    assert (merged.gold.relevant, merged.empty) == ({}, ["1"])


DECISIONS = st.lists(st.sampled_from(["+P1", "-P1", "+P2", "-P2", "+P3", "=1", "=0"]), max_size=5)


@given(DECISIONS, DECISIONS, st.sampled_from(RulingChoice), st.sampled_from(["INT", "ACT"]))
def test_curators_who_agree_need_no_ruling(one, other, choice, task) -> None:
    a, b = work("a", {"1": " ".join(one)}), work("b", {"1": " ".join(other)})
    same = work("b", {"1": " ".join(one)})
    assert differing(a, same, task) == []
    assert len(differing(a, b, task)) == len(differing(b, a, task))
    rulings = {found.question: choice for found in differing(a, b, task)}
    merged = gold_of(a, b, task, rulings).gold
    if choice is RulingChoice.FIRST:
        assert merged == gold_of(a, same, task).gold
