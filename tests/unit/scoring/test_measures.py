"""Measures against independent programs, and the evaluation page's argument (its section 4)."""

import math

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import ActGold, Classification, Hit, ItemGold, OptionError, RunScorer, mean_of, ranking
from scoring.confusion import Confusion
from scoring.measures import CONFIDENCE, MEASURES, measure_named
from scoring.ranking import Matches, f_beta
from scoring.tasks import Task

A = Matches((1, 10), 10, 4)
B = Matches((2, 3), 10, 4)


def test_the_evaluation_pages_example() -> None:
    """Two lists of ten with two correct hits of four: which is better? (section 4)"""
    assert ranking.auc_ipr(A) == pytest.approx(0.300, abs=5e-4)
    assert ranking.auc_ipr(B) == pytest.approx(0.333, abs=5e-4)
    # F cannot distinguish them, and TRR prefers the list that is worse from rank 2 on.
    assert f_beta(2, 10, 4) == pytest.approx(0.286, abs=5e-4)
    assert ranking.total_reciprocal_rank(A) == pytest.approx(1.1)
    assert ranking.total_reciprocal_rank(B) == pytest.approx(0.833, abs=5e-4)
    assert ranking.average_precision(A) > ranking.average_precision(B)  # type: ignore[operator]
    assert [ranking.precision_at(A, k) for k in (3, 10)] == [pytest.approx(1 / 3), 0.2]
    assert [ranking.precision_at(B, k) for k in (3, 10)] == [pytest.approx(2 / 3), 0.2]


def test_roc_cannot_tell_the_examples_apart() -> None:
    """With the page's seven million wrong answers the ROC areas differ by 2 in ten million."""
    wrong = 7_569_673
    areas = []
    for matches in (A, B):
        ranks = (*matches.ranks, wrong + 3, wrong + 4)  # the two never found come last
        areas.append(ranking.roc_auc(Matches(ranks, wrong + 4, 4)))
    assert areas[0] is not None
    assert areas[1] - areas[0] == pytest.approx(1.5 / wrong, rel=1e-6)


@st.composite
def ranked_lists(draw: st.DrawFn) -> Matches:
    hits = draw(st.integers(1, 40))
    ranks = draw(st.sets(st.integers(1, hits), min_size=1, max_size=12))
    return Matches(tuple(sorted(ranks)), hits, len(ranks) + draw(st.integers(0, 4)))


def as_trec(matches: Matches) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    gold = {f"d{rank}": 1 for rank in matches.ranks}
    gold |= {f"missed{number}": 1 for number in range(matches.gold - len(matches.ranks))}
    run = {f"d{rank}": float(-rank) for rank in range(1, matches.hits + 1)}
    return {"a": gold}, {"a": run}


@given(matches=ranked_lists())
def test_agrees_with_trec_eval(matches: Matches) -> None:
    gold, run = as_trec(matches)
    levels = [f"{k / matches.gold:.10f}" for k in range(1, matches.gold + 1)]
    names = {"map", "recip_rank", "P.5,10", "recall.5,10", f"iprec_at_recall.{','.join(levels)}"}
    found = pytrec_eval.RelevanceEvaluator(gold, names).evaluate(run)["a"]
    assert found["map"] == pytest.approx(ranking.average_precision(matches))
    assert found["recip_rank"] == pytest.approx(ranking.reciprocal_rank(matches))
    for k in (5, 10):
        assert found[f"P_{k}"] == pytest.approx(ranking.precision_at(matches, k))
        assert found[f"recall_{k}"] == pytest.approx(ranking.recall_at(matches, k))
    steps = [found[f"iprec_at_recall_{float(level):.2f}"] for level in levels]
    if len({f"{float(level):.2f}" for level in levels}) == matches.gold:
        assert sum(steps) / matches.gold == pytest.approx(ranking.auc_ipr(matches))


@settings(max_examples=30)
@given(matches=ranked_lists())
def test_agrees_with_ir_measures(matches: Matches) -> None:
    gold, run = as_trec(matches)
    measures = [ir_measures.AP, ir_measures.RR, ir_measures.P @ 3, ir_measures.R @ 7]
    found = ir_measures.calc_aggregate(measures, gold, run)
    expected = [
        ranking.average_precision(matches), ranking.reciprocal_rank(matches),
        ranking.precision_at(matches, 3), ranking.recall_at(matches, 7),
    ]  # fmt: skip
    assert [found[measure] for measure in measures] == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_confusion_agrees_with_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    from sklearn.metrics import f1_score, fbeta_score, matthews_corrcoef

    truth, called = [one for one, _ in pairs], [one for _, one in pairs]
    tp, fp, fn, tn = (pairs.count(pair) for pair in ((1, 1), (0, 1), (1, 0), (0, 0)))
    counts = Confusion(tp, fp, fn, tn)
    if len(set(truth)) > 1 or len(set(called)) > 1:
        assert counts.mcc == pytest.approx(matthews_corrcoef(truth, called))
    if tp + fp + fn:
        assert f_beta(tp, tp + fp, tp + fn) == pytest.approx(f1_score(truth, called))
        expected = fbeta_score(truth, called, beta=10)
        assert f_beta(tp, tp + fp, tp + fn, 10) == pytest.approx(expected)


@given(st.lists(st.booleans(), min_size=2))
def test_roc_agrees_with_scikit_learn(labels: list[bool]) -> None:
    from sklearn.metrics import roc_auc_score

    ranks = tuple(rank for rank, label in enumerate(labels, start=1) if label)
    found = ranking.roc_auc(Matches(ranks, len(labels), len(ranks)))
    if len(set(labels)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score(labels, -np.arange(len(labels))))


def test_means_by_name() -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset({"P1"}), "b": frozenset({"P2", "P3"})})
    scorer = RunScorer("INT", gold)
    scorer.put("a", [Hit("X", 1, 0.9), Hit("P1", 2, 0.8)])
    scorer.put("b", [Hit("P2", 1, 0.9), Hit("P3", 2, 0.8)])
    card = scorer.scorecard()
    found = {name: mean_of(name, card) for name in ("AP", "RR", "TRR", "P@1", "R@1")}
    assert found == {"AP": 0.75, "RR": 0.75, "TRR": 1.0, "P@1": 0.5, "R@1": 0.25}
    with pytest.raises(OptionError, match="ROC is not defined for INT"):
        mean_of("ROC", card)
    with pytest.raises(OptionError, match="'P@0'; expected one of AP"):
        mean_of("P@0", card)


def test_roc_of_a_classification() -> None:
    scorer = RunScorer("ACT", ActGold(relevant={"a": True, "b": False, "c": True}))
    for article, confidence in {"a": 0.9, "b": 0.8, "c": 0.7}.items():
        scorer.put(article, Classification(True, confidence))
    assert mean_of("ROC", scorer.scorecard()) == 0.5


@given(matches=ranked_lists(), cutoff=st.integers(1, 50))
def test_a_cutoff_list_is_the_lists_beginning(matches: Matches, cutoff: int) -> None:
    cut = matches.cut(cutoff)
    assert cut.hits == min(cutoff, matches.hits)
    found = ranking.precision(cut) * cut.hits
    assert found == pytest.approx(ranking.precision_at(matches, cutoff) * cutoff)
    assert ranking.recall(cut) == ranking.recall_at(matches, cutoff)
    area = ranking.auc_ipr(cut)
    assert area is not None
    assert math.isclose(area, min(area, ranking.auc_ipr(matches) or 0.0))


@pytest.mark.parametrize(
    "name", [name for name in MEASURES if "@" not in name and name != CONFIDENCE]
)
def test_each_name_of_the_help_is_a_measure(name: str) -> None:
    assert measure_named(name)(Matches((1,), 2, 1)) == 1.0
