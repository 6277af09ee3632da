"""The consensus beats its best member on the paper's measure, and its parts can be told."""

import math

import pytest

from scoring import Ensemble, Hit, ItemGold, OptionError, Run, cross_validate, one_run_a_team, train
from scoring.ensemble import item_hits, score_hits
from scoring.scorecard import Signature
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
    found = score_hits(gold, cross_validate(gold, runs, folds=5), "consensus", PAPER).macro
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
    found = cross_validate(gold, runs, author=author, folds=5)
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


def test_one_run_a_team() -> None:
    gold, runs = campaign()
    teams = [run.name.split("_")[0] for run in runs]
    places = one_run_a_team(gold, runs, teams, PAPER)
    assert len(places) == 3
    for place in places:
        rivals = [run for run, team in zip(runs, teams, strict=True) if team == teams[place]]
        assert scores(gold, runs[place])[0] == max(scores(gold, rival)[0] for rival in rivals)


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
