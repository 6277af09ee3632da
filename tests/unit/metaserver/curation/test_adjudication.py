"""Two curators made into gold: disagreements, rulings, and what no server had proposed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.errors import RefusedError
from metaserver.curation.adjudication import (
    RulingChoice,
    check_adjudicator,
    disagreements,
    merge,
    pool_report,
)
from metaserver.curation.agreement import CuratorWork
from metaserver.curation.decisions import fold
from metaserver.curation.experiments import Experiment
from scoring import ActGold, ItemGold, Task
from scoring.files import gold_lines
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SHC1, event
from tests.unit.metaserver.curation.test_agreement import A, B, work

DIFFERENT = {("1", (GRB2,)): RulingChoice.FIRST}


def test_what_differs_is_listed() -> None:
    [one] = disagreements(A, B, "INT")
    assert one.question == ("1", (GRB2,))
    assert (one.first.decision, one.second.decision) == ("accepted", "rejected")
    [one] = disagreements(A, B, "ACT")
    assert one.question == ("2", ())


def test_agreed_items_pass_and_rulings_decide() -> None:
    merged = merge("pilot", A, B, "INT", DIFFERENT, "carol")
    assert merged.gold.items == {"1": {EGFR, GRB2}, "2": {SHC1}}
    assert "".join(gold_lines(merged.gold)) == f"1\t{EGFR}\n1\t{GRB2}\n2\t{SHC1}\n"
    assert merged.source == "set pilot, a + b adjudicated by carol"
    assert (merged.agreed, merged.ruled, merged.empty) == (2, 1, [])


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
    merged = merge("pilot", A, B, "INT", {("1", (GRB2,)): choice}, "carol")
    assert (GRB2 in merged.gold.items["1"]) == accepted


def pulled(curator: str, *, negative: bool = False, method: str = "MI:0096") -> CuratorWork:
    experiments = (Experiment(method=method, negative=negative),)
    log = [
        event(1, "pair", "IPT", EGFR, GRB2),
        event(2, "experiments", "IPT", EGFR, GRB2, experiments=experiments),
    ]
    return CuratorWork(curator=curator, states={"1": fold(log)})


def test_methods_differ_only_if_both_said_one_and_change_no_gold() -> None:
    assert disagreements(pulled("a"), pulled("b", method=""), "IPT") == []
    pair = pulled("a"), pulled("b", method="MI:0018")
    [one] = disagreements(*pair, "IPT")
    outcomes = [one.outcome(choice) for choice in RulingChoice]
    assert outcomes == [
        "accepted MI:0096", "accepted MI:0018", "accepted MI:0018 MI:0096", "accepted"
    ]  # fmt: skip
    assert merge("pilot", *pair, "IPT", {}, "carol").gold.items == {"1": {(EGFR, GRB2)}}


def test_a_pair_that_was_shown_not_to_interact_is_no_gold() -> None:
    negative = pulled("a", negative=True)
    merged = merge("pilot", negative, pulled("b", negative=True), "IPT", {}, "carol")
    assert (merged.gold.items, merged.empty) == ({}, ["1"])
    merged = merge("pilot", negative, pulled("b"), "IPT", {}, "carol")
    assert merged.gold.items == {"1": {(EGFR, GRB2)}}


def test_classes_are_merged() -> None:
    merged = merge("pilot", A, B, "ACT", {("2", ()): RulingChoice.NEITHER}, "carol")
    assert merged.gold == ActGold(relevant={"1": True, "2": False})
    one, other = work("a", {"1": "=1"}), work("b", {"1": ""})
    assert [found.question for found in disagreements(one, other, "ACT")] == [("1", ())]
    merged = merge("pilot", one, other, "ACT", {("1", ()): RulingChoice.SECOND}, "carol")
    assert (merged.gold.relevant, merged.empty) == ({}, ["1"])


def test_rulings_are_whole_and_on_disagreements_alone() -> None:
    with pytest.raises(RefusedError, match="1 of 1 disagreements have no ruling"):
        merge("pilot", A, B, "INT", {}, "carol")
    more = {**DIFFERENT, ("2", (SHC1,)): RulingChoice.BOTH}
    with pytest.raises(RefusedError, match="no disagreement on article 2"):
        merge("pilot", A, B, "INT", more, "carol")


def test_an_adjudicator_is_a_third_person() -> None:
    check_adjudicator("carol", ["a", "b"], may_be_one=False)
    check_adjudicator("a", ["a", "b"], may_be_one=True)
    with pytest.raises(RefusedError, match="another person"):
        check_adjudicator("a", ["a", "b"], may_be_one=False)


def test_items_that_no_server_proposed_are_reported() -> None:
    gold = ItemGold(task=Task.INT, items={"1": frozenset({EGFR, GRB2}), "2": frozenset({SHC1})})
    report = pool_report(gold, {"1": {EGFR: ["team7", "team2"]}, "2": {SHC1: []}})
    found = [(one.article, one.item, one.servers) for one in report.items]
    assert found == [("1", EGFR, ("team2", "team7")), ("1", GRB2, ()), ("2", SHC1, ())]
    assert [one.item for one in report.unproposed] == [GRB2, SHC1]
    assert report.share == pytest.approx(2 / 3)
    assert pool_report(ItemGold(task=Task.INT, items={}), {}).share is None


DECISIONS = st.lists(st.sampled_from(["+P1", "-P1", "+P2", "-P2", "+P3", "=1", "=0"]), max_size=5)


@given(DECISIONS, DECISIONS, st.sampled_from(RulingChoice), st.sampled_from(["INT", "ACT"]))
def test_curators_who_agree_need_no_ruling(one, other, choice, task) -> None:
    a, b = work("a", {"1": " ".join(one)}), work("b", {"1": " ".join(other)})
    same = work("b", {"1": " ".join(one)})
    assert disagreements(a, same, task) == []
    assert len(disagreements(a, b, task)) == len(disagreements(b, a, task))
    rulings = {found.question: choice for found in disagreements(a, b, task)}
    merged = merge("s", a, b, task, rulings, "c").gold
    if choice is RulingChoice.FIRST:
        assert merged == merge("s", a, same, task, {}, "c").gold
