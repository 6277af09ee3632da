"""Mean ranks, difficulty and doubtful labels on campaigns small enough to verify on paper."""

import pytest

from scoring import (
    ActGold,
    ActScorecard,
    Classification,
    Hit,
    ItemGold,
    ItemScorecard,
    RunScorer,
    article_difficulty,
    article_ranks,
)
from scoring.tasks import Task

GOLD = ActGold(relevant={"easy": True, "hard": True, "doubtful": False, "no": False})


def listing(*articles: str) -> ActScorecard:
    scorer = RunScorer("ACT", GOLD)
    for rank, article in enumerate(articles, start=1):
        scorer.put(article, Classification(True, 0.5, rank))
    card = scorer.scorecard()
    assert isinstance(card, ActScorecard)
    return card


def test_mean_ranks_are_weighted_by_the_runs_areas() -> None:
    perfect, poor = listing("easy", "hard", "doubtful", "no"), listing("no", "easy")
    ranks = {one.article: one for one in article_ranks(GOLD, [perfect, poor])}
    assert (perfect.auc_ipr, poor.auc_ipr) == (1.0, 0.25)
    mean = (1 * 1.0 + 2 * 0.25) / 1.25
    assert ranks["easy"].mean == pytest.approx(mean)
    variance = ((1 - mean) ** 2 + 0.25 * (2 - mean) ** 2) / 1.25
    assert ranks["easy"].deviation == pytest.approx(variance**0.5)
    assert (ranks["hard"].runs, ranks["hard"].mean, ranks["hard"].deviation) == (1, 2.0, 0.0)


def test_irrelevant_articles_that_nearly_all_runs_rank_high_are_doubtful() -> None:
    runs = [
        listing("doubtful", "easy", "no", "hard"),
        listing("easy", "doubtful", "hard", "no"),
        listing("doubtful", "easy", "hard"),
    ]
    found = article_ranks(GOLD, runs)
    assert [one.article for one in found if one.doubtful] == ["doubtful"]
    assert [one.high for one in found if one.article == "doubtful"] == [1.0]
    # Two runs are no majority.
    assert not any(one.doubtful for one in article_ranks(GOLD, runs[:2]))


def test_articles_no_run_lists_are_left_out() -> None:
    assert {one.article for one in article_ranks(GOLD, [listing("easy")])} == {"easy"}


def test_difficulty_of_articles_with_items() -> None:
    items = {"hard": frozenset({"P1"}), "easy": frozenset({"P2"}), "none": frozenset({"P3"})}
    gold = ItemGold(task=Task.INT, items=items)
    cards = []
    for hard_rank in (2, 4):
        scorer = RunScorer("INT", gold)
        wrong = [Hit(f"X{rank}", rank, 0.5) for rank in range(1, hard_rank)]
        scorer.put("hard", [*wrong, Hit("P1", hard_rank, 0.5)])
        scorer.put("easy", [Hit("P2", 1, 0.5)])
        card = scorer.scorecard()
        assert isinstance(card, ItemScorecard)
        cards.append(card)
    found = article_difficulty(gold, cards)
    assert [one.article for one in found] == ["easy", "hard"]
    weights = [card.macro.auc_ipr for card in cards]
    mean = (0.5 * weights[0] + 0.25 * weights[1]) / sum(weights)
    assert found[1].mean == pytest.approx(mean)
    assert (found[1].best, found[1].runs, found[1].items) == (0.5, 2, 1)


def test_runs_without_area_weigh_the_same() -> None:
    useless = [listing("no", "doubtful"), listing("doubtful", "no")]
    ranks = article_ranks(GOLD, useless)
    assert [one.mean for one in ranks] == [1.5, 1.5]
