"""The consensus beats its best member on unseen articles; training sees no held-out article."""

import tracemalloc

import numpy as np
import pytest

from scoring import (
    ConsensusRanker,
    Hit,
    ItemGold,
    OptionError,
    Run,
    TeamChoice,
    cross_validate,
    train_model,
)
from scoring.consensus.choice import CRITERIA, counted_articles, score_hits
from scoring.consensus.measures import article_values, calibration_error, macro
from scoring.consensus.training import methods_of, train_weights
from scoring.consensus.validation import as_many_as, best_threshold, dealt
from scoring.consensus.votes import Votes
from scoring.files import item_hits
from scoring.scorecard import Signature
from scoring.tasks import Task
from tests.unit.scoring.campaign import campaign

PAPER = Signature(task=Task.INT, gold="-", cutoff=30, beta=10)


def scores(gold: ItemGold, run: Run) -> tuple[float, float]:
    found = score_hits(gold, item_hits(run), run.name, PAPER).macro
    return found.f_score, found.auc_ipr


def test_measures_in_columns_are_those_of_scorecards() -> None:
    gold, runs = campaign(articles=24)
    for method in ("stacked", "rrf1", "votes"):
        validated = cross_validate(gold, runs, method=method, folds=3)
        card = score_hits(gold, validated.hits(30), "consensus", PAPER)
        for measure in ("auc_ipr", "f_score", "precision", "recall"):
            assert validated.macro(measure, cutoff=30) == getattr(card.macro, measure)


def test_authors_with_systems_beat_the_authors() -> None:
    """As many answers as the author gave, the doubtful ones replaced (the overview's variant)."""
    gold, runs = campaign()
    correct = {article: sorted(items) for article, items in gold.items.items()}
    answers = {
        article: [Hit(item, rank, 1.0) for rank, item in enumerate([*items[:-1], "WRONG"], 1)]
        for article, items in correct.items()
    }
    author = Run(task=Task.INT, name="author", answers=answers)
    validated = cross_validate(gold, runs, method="maxent", author=author, folds=5)
    found = as_many_as(item_hits(author), validated.hits())
    assert all(len(hits) <= len(answers[article]) for article, hits in found.items())
    plain = Signature(task=Task.INT, gold="-")
    alone = score_hits(gold, answers, "author", plain).macro.f_score
    assert score_hits(gold, found, "both", plain).macro.f_score > alone


@pytest.mark.slow
def test_the_memory_of_training_grows_with_the_hits() -> None:
    """60 runs that agree on nothing: a full matrix of their candidates takes 104 MB, twice."""
    gold = one_item(40)
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
    votes = Votes.of({run.name: item_hits(run) for run in runs}, gold.articles, gold=gold.items)
    tracemalloc.start()
    try:
        train_weights("maxent", votes)
        assert tracemalloc.get_traced_memory()[1] < 52e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_run_a_team(criterion: str) -> None:
    gold, runs = campaign()
    teams = [run.name.split("_")[0] for run in runs]
    cards = [score_hits(gold, item_hits(run), run.name, PAPER) for run in runs]
    places = TeamChoice(teams, cards, gold, criterion).best(frozenset(gold.items))
    assert [teams[place] for place in places] == ["T0", "T1", "T2"]
    kind, measure = "macro", criterion
    if criterion.startswith("micro_"):
        kind, measure = "micro", criterion.removeprefix("micro_")
    means = [getattr(getattr(card, kind), measure) for card in cards]
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
    dealt = np.random.default_rng(2009).permutation(gold.articles)
    halves = [set(half.tolist()) for half in np.array_split(dealt, 2)]
    pair = [
        answering(f"half{number}", {one: 1 if one in half else 0 for one in gold.items})
        for number, half in enumerate(halves)
    ]
    runs = [*pair, answering("other", dict.fromkeys(gold.items, 2))]
    choice = chosen_by(gold, runs)
    validated = cross_validate(gold, runs, method="maxent", choice=choice, folds=2)
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
    assert chosen_by(gold, runs, "micro_recall").best(everything) == [0, 2]
    assert chosen_by(gold, runs, "micro_auc_ipr").best(frozenset({"a0", "a1", "a5"})) == [1, 2]
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
def test_training_and_scoring_are_on_the_same_articles(policy, expected):
    gold = one_item(9)
    articles = list(gold.items)
    runs = [
        answering("most", {article: 1 + place % 3 for place, article in enumerate(articles[:6])}),
        answering("last", {article: 1 + place % 2 for place, article in enumerate(articles[2:8])}),
    ]
    counted = counted_articles(gold, runs, policy)
    assert len(counted) == expected
    signature = Signature(task=Task.INT, gold="-", cutoff=30, beta=10, articles=policy)
    validated = cross_validate(gold, runs, articles=policy, folds=3).hits()
    cards = [score_hits(gold, item_hits(run), run.name, signature, counted) for run in runs]
    cards.append(score_hits(gold, validated, "consensus", signature, counted))
    assert [(card.articles_scored, card.articles_in_gold) for card in cards] == [(expected, 9)] * 3
    assert validated.keys() <= counted
    if policy == "answered":  # what only one run answered has no effect
        only = [
            Run(task=Task.INT, name=run.name, answers={a: run.answers[a] for a in counted})
            for run in runs
        ]
        assert cross_validate(gold, only, folds=3).hits() == validated


def test_articles_that_not_all_runs_answered() -> None:
    gold = one_item(2)
    runs = [answering("first", {"a0": 1}), answering("second", {"a1": 1})]
    with pytest.raises(OptionError, match="no article of the gold is answered by all runs"):
        cross_validate(gold, runs)
    empty = Run(task=Task.INT, name="x", answers={"a0": []})
    with pytest.raises(OptionError, match="no article"):
        cross_validate(gold, [empty])


def test_nothing_to_learn_from() -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset({"P1"})})
    run = Run(task=Task.INT, name="x", answers={"a": [Hit("P1", 1, 0.5)]})
    with pytest.raises(OptionError, match="no correct and wrong candidates"):
        train_model(gold, [run], method="stacked")


@pytest.mark.slow
def test_the_selection_cutoff_bounds_what_is_ranked() -> None:
    gold, runs = campaign(articles=20)
    whole = train_model(gold, runs, method="maxent", folds=2)
    assert (whole.training_cutoff, whole.selection_cutoff) == (30, 30)
    narrow = train_model(gold, runs, method="maxent", selection_cutoff=2, folds=2)
    assert whole.members == narrow.members
    for article in gold.items:
        found = ConsensusRanker(narrow).rank(
            {run.name: item_hits(run)[article] for run in runs}, threshold=0
        )
        best = {hit.item for run in runs for hit in item_hits(run)[article] if hit.rank <= 2}
        assert {one.item for one in found.candidates} == best
    validated = cross_validate(gold, runs, method="maxent", selection_cutoff=1, folds=2).hits()
    assert all(len(hits) <= len(runs) for hits in validated.values())


@pytest.mark.slow
def test_held_out_gold_has_no_part_in_what_is_trained() -> None:
    """A fold's weights and least probability stay whatever the gold of its articles says."""
    gold, runs = campaign(articles=18)
    fold_of = dealt(len(gold), 3, 2009)
    changed = ItemGold(
        task=gold.task,
        items={
            article: frozenset({"other"}) if fold == 1 else gold.items[article]
            for article, fold in zip(gold.articles, fold_of, strict=True)
        },
    )
    one, other = (cross_validate(g, runs, folds=3, thresholds=True) for g in (gold, changed))
    for fold in range(3):
        same = one.scorer.weights[fold].bias == other.scorer.weights[fold].bias
        assert same == (fold == 1)
    assert one.thresholds[1] == other.thresholds[1]


def test_the_threshold_gives_the_best_f_score_of_all() -> None:
    gold, runs = campaign(articles=20)
    answers = {run.name: item_hits(run) for run in runs}
    votes = Votes.of(answers, gold.articles, gold=gold.items)
    found = best_threshold("maxent", votes, votes, gold.sizes, folds=4)
    validated = cross_validate(gold, runs, method="maxent", folds=4)

    def f_score(probability: float) -> float:
        least = np.full(len(gold), np.log(probability / (1 - probability)))
        scores = validated.scores
        return macro(article_values(votes, gold.sizes, scores, "f_score", least=least))

    assert f_score(found) >= max(f_score(one) for one in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5))
    assert f_score(found) > validated.macro("f_score")


@pytest.mark.slow
def test_the_method_is_chosen_by_the_gold_there_is() -> None:
    for articles, systems, learned in ((20, 3, True), (19, 3, False), (30, 2, False)):
        gold, runs = campaign(articles=articles, systems=systems)
        answers = {run.name: item_hits(run) for run in runs}
        methods = methods_of(Votes.of(answers, gold.articles, gold=gold.items))
        assert ("stacked" in methods) == learned
    gold, runs = campaign(articles=5)
    model = train_model(gold, runs)
    assert (model.method, model.threshold, model.calibrated) == ("rrf1", None, False)
    assert model.quality.calibration_error is None
    gold, runs = campaign(articles=20, systems=3)
    assert train_model(gold, runs, folds=2).method == "stacked"
    _, others = campaign(articles=20, systems=3, seed=2)  # which know nothing of this gold
    values = {
        method: cross_validate(gold, others, method=method, folds=2).macro("auc_ipr")
        for method in ("stacked", "rrf1")
    }
    assert values["stacked"] < values["rrf1"]
    model = train_model(gold, others, folds=2)
    assert (model.method, model.quality.auc_ipr) == ("rrf1", values["rrf1"])


def test_calibration_error() -> None:
    assert calibration_error(np.array([0.25, 0.75]), np.array([0.0, 1.0])) == 0.25
    assert calibration_error(np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])) == 0
    assert calibration_error(np.array([0.1, 0.12]), np.array([1.0, 0.0])) == pytest.approx(0.39)
    assert calibration_error(np.array([]), np.array([])) == 0
    assert calibration_error(np.array([0.05, 0.75]), np.array([1.0, 1.0]), least=0.1) == 0.25


def test_unknown_methods_and_equal_names() -> None:
    gold, runs = campaign(articles=4, systems=2)
    with pytest.raises(OptionError, match="method 'x'; expected one of stacked, maxent, votes"):
        cross_validate(gold, runs, method="x")
    with pytest.raises(OptionError, match="method 'x'; expected one of auto, stacked"):
        train_model(gold, runs, method="x")
    with pytest.raises(OptionError, match="two runs of one name"):
        cross_validate(gold, [runs[0], runs[0]])
