"""Resampling and paired tests, against exact enumeration and by their defining properties."""

import tracemalloc

import numpy as np
import pytest

from scoring import ActGold, Classification, Hit, ItemGold, OptionError, RunScorer, compare
from scoring.ranking import Matches, auc_ipr
from scoring.resampling import CELLS, ITEM_MEASURES, on_resamples, resampled
from scoring.scorecard import Scorecard
from scoring.significance import LIST_MEASURES
from scoring.tasks import Task

ARTICLES = [f"a{number:02}" for number in range(40)]
GOLD = ItemGold(task=Task.INT, items={article: frozenset({"P1"}) for article in ARTICLES})
ACT = ActGold(relevant={article: place % 3 == 0 for place, article in enumerate(ARTICLES)})


def run(name: str, ranks: list[int]) -> Scorecard:
    """A run that finds each article's one gold item at the given rank; 0 leaves it out."""
    scorer = RunScorer("INT", GOLD, run=name)
    for article, rank in zip(ARTICLES, ranks, strict=False):
        wrong = [Hit(f"X{place}", place, 0.5) for place in range(1, rank)]
        if rank:
            scorer.put(article, [*wrong, Hit("P1", rank, 0.5)])
    return scorer.scorecard()


RNG = np.random.default_rng(4)
GOOD = run("good", [1] * 20 + [2] * 20)
CLOSE = run("close", [1] * 19 + [2] * 21)
BAD = run("bad", RNG.integers(3, 9, 40).tolist())


def test_the_better_run_leads() -> None:
    found = compare(GOLD, [BAD, CLOSE, GOOD], resamples=500)
    by_run = {interval.run: interval for interval in found.intervals}
    assert [interval.run for interval in found.intervals] == ["good", "close", "bad"]
    assert by_run["good"].score == GOOD.to_dict()["macro"]["auc_ipr"] == 0.75
    assert by_run["good"].low < 0.75 < by_run["good"].high
    assert (by_run["bad"].best_rank, by_run["bad"].worst_rank, by_run["bad"].first) == (3, 3, 0.0)
    assert (by_run["close"].best_rank, by_run["close"].worst_rank) == (1, 2)
    assert sum(interval.first for interval in found.intervals) == pytest.approx(1.0)
    p = {(test.a, test.b): test.p_adjusted for test in found.pairs}
    assert p["bad", "good"] < 0.01
    assert p["close", "good"] > 0.5


def test_runs_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match="2 runs are named 'good'; expected a name a run"):
        compare(GOLD, [GOOD, BAD, GOOD], resamples=10)


def test_too_many_pairs_are_refused_and_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr("scoring.significance.MOST_PAIRED", 2)
    with pytest.raises(OptionError, match=r"all pairs of 3 runs; expected at most 2 .*--no-pairs"):
        compare(GOLD, [GOOD, CLOSE, BAD], resamples=10)
    assert compare(GOLD, [GOOD, CLOSE, BAD], resamples=10, pairs=False).tests is None
    assert len(compare(GOLD, [GOOD, CLOSE], resamples=10).pairs) == 1


def test_too_many_articles_for_bca_are_refused() -> None:
    gold = ItemGold(task=Task.INT, items={str(place): frozenset({"P1"}) for place in range(5_001)})
    card = RunScorer("INT", gold, run="x").scorecard()
    with pytest.raises(OptionError, match="bca of 5001 articles; expected at most 5000"):
        compare(gold, [card], resamples=10, interval="bca")


def test_scores_that_differ_by_rounding_alone_share_a_rank() -> None:
    """The same scores of articles in another order, whose sums are rounded otherwise."""
    ranks = np.random.default_rng(1).integers(1, 30, 40)
    orders = [np.random.default_rng(seed).permutation(ranks) for seed in range(9)]
    cards = [run(f"r{seed}", order.tolist()) for seed, order in enumerate(orders)]
    values, scores = on_resamples(GOLD, cards, "auc_ipr")
    assert len(set(scores(np.ones((1, len(values))))[0].tolist())) > 1
    found = compare(GOLD, cards, resamples=10).intervals
    assert {one.rank for one in found} == {1}
    assert {one.score for one in found} == {cards[0].to_dict()["macro"]["auc_ipr"]}


def test_the_same_seed_gives_the_same_digits_and_stands_in_the_signature() -> None:
    one, same = (compare(GOLD, [GOOD, BAD], resamples=50, seed=7) for _ in range(2))
    other = compare(GOLD, [GOOD, BAD], resamples=50, seed=8)
    assert one == same
    assert one != other
    assert "seed:7" in str(one.signature)


def test_a_bootstrap_of_one_article_runs_has_no_spread() -> None:
    found = compare(GOLD, [run("one", [2])], resamples=20).intervals[0]
    # Resamples without the article score 0, all the others what the article scores.
    assert (found.score, found.high) == (0.5, 0.5)


def test_exact_tests_of_a_comparison_do_not_depend_on_the_seed() -> None:
    cards = [run("left", [1, 1, 3, 1, 2, 2]), run("right", [2, 4, 5, 2, 1, 3])]
    one, other = (compare(GOLD, cards, resamples=100, seed=seed).tests for seed in (1, 2))
    assert one.pairs[0].p == other.pairs[0].p
    assert one.pairs[0].low != other.pairs[0].low  # which is of resamples
    assert (one.exact, one.flips) == (True, 32)


@pytest.mark.parametrize("measure", ITEM_MEASURES)
def test_articles_with_an_empty_gold_stay_out_of_every_measure(measure: str) -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset({"P1"}), "empty": frozenset()})
    scorer = RunScorer("INT", gold, run="x")
    scorer.put("a", [Hit("P1", 1, 0.5)])
    scorer.put("empty", [Hit("P1", 1, 0.5)])
    card = scorer.scorecard()
    (interval,) = compare(gold, [card], measure=measure, resamples=20).intervals
    assert interval.score == getattr(card.macro, measure) == 1.0


def test_resamples_are_the_same_whatever_the_blocks() -> None:
    articles = CELLS // 100
    blocks = list(resampled(np.random.default_rng(1), articles, 250))
    assert [len(block) for block in blocks] == [100, 100, 50]
    drawn = np.random.default_rng(1).integers(0, articles, (250, articles))
    for row, weights in zip(drawn, np.concatenate(blocks), strict=True):
        assert np.array_equal(np.bincount(row, minlength=articles), weights)


@pytest.mark.slow
def test_the_memory_of_a_comparison_is_bounded_however_many_articles() -> None:
    """One array of all resamples would take 480 MB here, and several were made."""
    articles = [str(place) for place in range(200_000)]
    gold = ActGold(relevant=dict.fromkeys(articles, True))
    cards = []
    for wrong in (3, 7):
        scorer = RunScorer("ACT", gold, run=f"every{wrong}")
        for place, article in enumerate(articles):
            scorer.put(article, Classification(place % wrong > 0, 0.5))
        cards.append(scorer.scorecard())
    tracemalloc.start()
    try:
        compare(gold, cards, measure="accuracy", resamples=300)
        assert tracemalloc.get_traced_memory()[1] < 250e6
    finally:
        tracemalloc.stop()


def test_pairs_are_tested_on_the_articles_both_answered() -> None:
    left, right = run("left", [1, 1, 0, 1]), run("right", [1, 0, 5, 2])
    (test,) = compare(GOLD, [left, right], resamples=50).pairs
    assert (test.articles_scored, test.articles_in_gold) == (2, 40)
    assert test.difference == pytest.approx((1 - 1 + 1 - 0.5) / 2)


def act_run(name: str, errors: set[int]) -> Scorecard:
    scorer = RunScorer("ACT", ACT, run=name)
    for place, article in enumerate(ARTICLES):
        relevant = ACT.relevant[article] != (place in errors)
        scorer.put(article, Classification(relevant, 1 - place / 50))
    return scorer.scorecard()


@pytest.mark.parametrize("measure", ["auc_ipr", "mcc", "accuracy", "sensitivity", "specificity"])
def test_classifications_are_compared(measure: str) -> None:
    cards = [act_run("worse", set(range(18))), act_run("better", {1, 2})]
    found = compare(ACT, cards, measure=measure, resamples=300)
    best = found.intervals[0]
    assert best.run == "better"
    assert best.score == pytest.approx(cards[1].to_dict()[measure], abs=1e-12)
    assert best.low <= best.score <= best.high
    assert found.pairs[0].p < 0.05
    assert found.tests.kind == ("bootstrap" if measure in LIST_MEASURES else "sign flips")
    assert found.pairs[0].difference == pytest.approx(
        cards[0].to_dict()[measure] - cards[1].to_dict()[measure], abs=1e-12
    )


def test_a_resampled_list_has_each_article_as_often_as_it_was_drawn() -> None:
    card = act_run("some", {3, 4, 9, 20, 30})
    (weights,) = resampled(np.random.default_rng(3), len(ARTICLES), 50)
    _, scores = on_resamples(ACT, [card], "auc_ipr")
    for drawn, found in zip(weights.astype(int), scores(weights)[:, 0], strict=True):
        truth = np.repeat(ACT.truth[card.ranked], drawn[card.ranked])
        ranks = tuple((np.flatnonzero(truth) + 1).tolist())
        matches = Matches(ranks, len(truth), int(drawn[ACT.truth].sum()))
        assert found == pytest.approx(auc_ipr(matches), abs=1e-12)


def test_a_list_without_relevant_articles_scores_0_on_every_resample() -> None:
    scorer = RunScorer("ACT", ACT, run="wrong")
    for article, relevant in ACT.relevant.items():
        if not relevant:
            scorer.put(article, Classification(True, 0.5))
    assert compare(ACT, [scorer.scorecard()], resamples=20).intervals[0].high == 0.0


def test_unknown_measures() -> None:
    with pytest.raises(OptionError, match="expected one of auc_ipr, f_score"):
        compare(GOLD, [GOOD], measure="mcc")
    with pytest.raises(OptionError, match="expected one of auc_ipr, mcc"):
        compare(ACT, [act_run("x", set())], measure="recall")


def test_tied_runs_share_their_ranks_and_the_next_is_left_out() -> None:
    twins = [run(name, [1] * 40) for name in ("twin a", "twin b")]
    last = run("last", [2] * 40)
    found = compare(GOLD, [last, *twins, run("least", [3] * 40)], resamples=50, pairs=False)
    assert [(one.run, one.rank, one.best_rank, one.worst_rank) for one in found.intervals] == [
        ("twin a", 1, 1, 1),
        ("twin b", 1, 1, 1),
        ("last", 3, 3, 3),
        ("least", 4, 4, 4),
    ]
    assert [one.first for one in found.intervals] == [0.5, 0.5, 0.0, 0.0]  # a tie is shared
