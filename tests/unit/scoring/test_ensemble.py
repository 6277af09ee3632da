"""The consensus beats its best member on the paper's measure, and its parts can be explained."""

import math
import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from scoring import Ensemble, Hit, ItemGold, OptionError, Run, TeamChoice, cross_validate, train
from scoring.cross_validation import CRITERIA, counted_articles, score_hits
from scoring.ensemble import candidate_features, item_hits
from scoring.scorecard import ArticlePolicy, Signature
from scoring.tasks import Task
from tests.unit.scoring.campaign import campaign

PAPER = Signature(task=Task.INT, gold="-", cutoff=30, beta=10)


def scores(gold: ItemGold, run: Run) -> tuple[float, float]:
    macro = score_hits(gold, item_hits(run), run.name, PAPER).macro
    return macro.f_score, macro.auc_ipr


def test_the_consensus_beats_its_best_member_on_unseen_articles() -> None:
    gold, runs = campaign()
    unseen, new = campaign(seed=6, first=1000)
    consensus = train(gold, runs).rank(new)
    found = score_hits(unseen, consensus, "consensus", PAPER).macro
    best_f, best_auc = (
        max(column) for column in zip(*(scores(unseen, r) for r in new), strict=True)
    )
    assert found.f_score > best_f  # F_10 at cutoff 30, the paper's measure
    assert found.auc_ipr > best_auc
    assert all(len(hits) <= 30 for hits in consensus.values())


def test_cross_validation_beats_the_best_member_too() -> None:
    gold, runs = campaign()
    found = score_hits(gold, cross_validate(gold, runs, folds=5).hits, "consensus", PAPER).macro
    assert found.f_score > max(scores(gold, run)[0] for run in runs)
    assert cross_validate(gold, runs, folds=5) == cross_validate(gold, runs, folds=5)


def test_authors_with_systems_beat_the_authors() -> None:
    """As many answers as the author gave, the doubtful ones replaced (the overview's variant)."""
    gold, runs = campaign()
    correct = {article: sorted(items) for article, items in gold.items.items()}
    answers = {
        article: [Hit(item, rank, 1.0) for rank, item in enumerate([*items[:-1], "WRONG"], 1)]
        for article, items in correct.items()
    }
    author = Run(task=Task.INT, name="author", answers=answers)
    found = cross_validate(gold, runs, author=author, folds=5).hits
    assert all(len(hits) <= len(answers[article]) for article, hits in found.items())
    plain = Signature(task=Task.INT, gold="-")
    alone = score_hits(gold, answers, "author", plain).macro.f_score
    assert score_hits(gold, found, "both", plain).macro.f_score > alone


def test_what_each_run_contributes_sums_to_the_log_odds() -> None:
    gold, runs = campaign(articles=20)
    ensemble = train(gold, runs)
    article = "article3"
    best = ensemble.rank(runs)[article][0]
    parts = ensemble.explain(runs, article, best.item)
    assert list(parts) == [*(run.name for run in runs), "bias"]
    odds = best.confidence / (1 - best.confidence)
    assert sum(parts.values()) == pytest.approx(math.log(odds), abs=1e-9)
    with pytest.raises(OptionError, match="no run has 'nothing'"):
        ensemble.explain(runs, article, "nothing")


def test_the_memory_of_training_grows_with_the_hits() -> None:
    """60 runs that agree on nothing: a full matrix of their candidates takes 260 MB, twice."""
    gold = one_item(100)
    runs = [
        Run(
            task=Task.INT,
            name=f"r{number}",
            answers={
                article: [
                    Hit("P1" if place == number else f"X{number}_{place}", place, 1 / (1 + place))
                    for place in range(1, 31)
                ]
                for article in gold.items
            },
        )
        for number in range(60)
    ]
    tracemalloc.start()
    try:
        train(gold, runs)
        assert tracemalloc.get_traced_memory()[1] < 130e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_run_a_team(criterion: str) -> None:
    gold, runs = campaign()
    teams = [run.name.split("_")[0] for run in runs]
    cards = [score_hits(gold, item_hits(run), run.name, PAPER) for run in runs]
    places = TeamChoice(teams, cards, gold, criterion).best(frozenset(gold.items))
    assert [teams[place] for place in places] == ["T0", "T1", "T2"]
    means = [getattr(card.macro, criterion) for card in cards]
    for place in places:
        rivals = [mean for mean, team in zip(means, teams, strict=True) if team == teams[place]]
        assert means[place] == max(rivals)


def answering(name: str, ranks: dict[str, int]) -> Run:
    """A run whose one correct hit of an article has the given rank of three; 0 is none."""
    answers = {
        article: [
            Hit("P1" if place == rank else f"X{place}", place, 1 / (1 + place))
            for place in (1, 2, 3)
        ]
        for article, rank in ranks.items()
    }
    return Run(task=Task.INT, name=name, answers=answers)


def one_item(articles: int) -> ItemGold:
    items = {f"a{place}": frozenset({"P1"}) for place in range(articles)}
    return ItemGold(task=Task.INT, items=items)


def chosen_by(gold: ItemGold, runs: list[Run], criterion: str = "f_score") -> TeamChoice:
    cards = [score_hits(gold, item_hits(run), run.name, PAPER) for run in runs]
    return TeamChoice(["one", "one", "two"], cards, gold, criterion)


def test_a_teams_run_is_chosen_on_the_training_articles_alone() -> None:
    """Two runs that are each right where the other is wrong: the one right in training is taken."""
    gold = one_item(20)
    dealt = np.random.default_rng(2009).permutation(list(gold.items))
    halves = [set(half.tolist()) for half in np.array_split(dealt, 2)]
    pair = [
        answering(f"half{number}", {one: 1 if one in half else 0 for one in gold.items})
        for number, half in enumerate(halves)
    ]
    runs = [*pair, answering("other", dict.fromkeys(gold.items, 2))]
    validated = cross_validate(gold, runs, choice=chosen_by(gold, runs), folds=2)
    assert list(validated.members) == [(1, 2), (0, 2)]


def test_the_criterion_decides() -> None:
    gold = one_item(6)
    runs = [
        answering("sure", dict.fromkeys(gold.items, 3)),
        answering("last", {article: 1 if article < "a2" else 0 for article in gold.items}),
        answering("other", dict.fromkeys(gold.items, 2)),
    ]
    everything = frozenset(gold.items)
    assert chosen_by(gold, runs, "recall").best(everything) == [0, 2]
    assert chosen_by(gold, runs, "auc_ipr").best(everything) == [0, 2]
    assert chosen_by(gold, runs, "auc_ipr").best(frozenset({"a0", "a1", "a5"})) == [1, 2]
    with pytest.raises(OptionError, match="criterion 'mcc'; expected one of auc_ipr"):
        chosen_by(gold, runs, "mcc")
    with pytest.raises(OptionError, match="3 teams; expected 0"):
        TeamChoice(["one"] * 3, [], gold, "recall")


def test_of_equal_runs_the_first_is_chosen() -> None:
    gold = one_item(9)
    runs = [answering(name, dict.fromkeys(gold.items, 2)) for name in "abc"]
    assert chosen_by(gold, runs).best(frozenset(gold.items)) == [0, 2]
    assert chosen_by(gold, runs).best(frozenset()) == [0, 2]


@pytest.mark.parametrize(("policy", "expected"), [("answered", 4), ("all", 9)])
def test_training_and_scoring_are_on_the_same_articles(
    policy: ArticlePolicy, expected: int
) -> None:
    gold = one_item(9)
    articles = list(gold.items)
    runs = [
        answering("most", {article: 1 + place % 3 for place, article in enumerate(articles[:6])}),
        answering("last", {article: 1 + place % 2 for place, article in enumerate(articles[2:8])}),
    ]
    counted = counted_articles(gold, runs, policy)
    assert len(counted) == expected
    signature = Signature(task=Task.INT, gold="-", cutoff=30, beta=10, articles=policy)
    validated = cross_validate(gold, runs, articles=policy, folds=3)
    cards = [score_hits(gold, item_hits(run), run.name, signature, counted) for run in runs]
    cards.append(score_hits(gold, validated.hits, "consensus", signature, counted))
    assert [(card.articles_scored, card.articles_in_gold) for card in cards] == [(expected, 9)] * 3
    assert validated.hits.keys() <= counted
    if policy == "answered":  # what only one run answered has no effect
        only = [
            Run(task=Task.INT, name=run.name, answers={a: run.answers[a] for a in counted})
            for run in runs
        ]
        assert cross_validate(gold, only, folds=3) == validated


def test_articles_that_not_all_runs_answered() -> None:
    gold = one_item(2)
    runs = [answering("first", {"a0": 1}), answering("second", {"a1": 1})]
    with pytest.raises(OptionError, match="no article of the gold is answered by all runs"):
        cross_validate(gold, runs)
    empty = Run(task=Task.INT, name="x", answers={"a0": []})
    with pytest.raises(OptionError, match="no article"):
        cross_validate(gold, [empty])


def test_sparse_features_train_what_a_full_matrix_trains() -> None:
    gold, runs = campaign(articles=25)
    hits = [item_hits(run) for run in runs]
    rows, labels = [], []
    for article, correct in gold.items.items():
        items, features = candidate_features(hits, article, 30)
        rows.append(features.reshape(len(items), -1))
        labels += [item in correct for item in items]
    model = LogisticRegression(max_iter=1000).fit(np.vstack(rows), labels)
    found = train(gold, runs)
    assert found.weights.ravel() == pytest.approx(model.coef_[0], abs=1e-2)
    assert found.bias == pytest.approx(model.intercept_[0], abs=1e-2)


def test_ranking_takes_the_members_runs() -> None:
    gold, runs = campaign(articles=5)
    ensemble = train(gold, runs)
    assert isinstance(ensemble, Ensemble)
    with pytest.raises(OptionError, match="5 runs; expected 6, one a member"):
        ensemble.rank(runs[1:])


def test_nothing_to_learn_from() -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset({"P1"})})
    run = Run(task=Task.INT, name="x", answers={"a": [Hit("P1", 1, 0.5)]})
    with pytest.raises(OptionError, match="no correct and wrong candidates"):
        train(gold, [run])


def test_the_selection_cutoff_bounds_what_is_ranked() -> None:
    gold, runs = campaign(articles=20)
    whole = train(gold, runs)
    assert (whole.training_cutoff, whole.selection_cutoff) == (30, 30)
    narrow = train(gold, runs, selection_cutoff=2)
    assert np.array_equal(whole.weights, narrow.weights)
    for article, hits in narrow.rank(runs).items():
        best = {hit.item for run in runs for hit in item_hits(run)[article] if hit.rank <= 2}
        assert {hit.item for hit in hits} == best
    validated = cross_validate(gold, runs, selection_cutoff=1, folds=2).hits
    assert all(len(hits) <= len(runs) for hits in validated.values())
