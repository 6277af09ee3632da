"""The regression finds what scikit-learn's finds, and the maximum entropy classifier with it."""

import numpy as np
import pytest

from scoring.consensus import logistic, training
from scoring.consensus.logistic import fit
from scoring.consensus.training import train_weights
from scoring.consensus.votes import Votes
from scoring.files import item_hits
from tests.unit.scoring.campaign import campaign
from tests.unit.scoring.consensus.test_features import plain_panel


@pytest.mark.parametrize("strength", [0.01, 0.5, 1.0, 100.0])
def test_coefficients_are_those_of_scikit_learn(strength: float) -> None:
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(7)
    features = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.4)
    labels = rng.random(400) < logistic.logistic(features @ [2, -1, 0, 0.5, 3, 0] - 1)
    peer = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    peer.fit(features, labels)
    found, bias = fit(csr_array(features), labels, strength)
    assert found == pytest.approx(peer.coef_[0], abs=1e-8)
    assert bias == pytest.approx(peer.intercept_[0], abs=1e-8)


def test_separable_labels_have_finite_coefficients() -> None:
    from scipy.sparse import csr_array

    features = csr_array(np.array([[1.0], [2.0], [-1.0], [-2.0]]))
    found, bias = fit(features, np.array([True, True, False, False]), 1.0)
    assert 0 < found[0] < 10
    assert bias == pytest.approx(0, abs=1e-9)


def test_extreme_scores_do_not_overflow() -> None:
    assert logistic.logistic(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


def test_maxent_is_the_overviews_classifier() -> None:
    """Three features a run, each candidate of each article a row, by plain loops."""
    from sklearn.linear_model import LogisticRegression

    gold, runs = campaign(articles=25)
    rows, labels = [], []
    for article, correct in gold.items.items():
        best = [item_hits(run)[article][:30] for run in runs]
        for item in sorted({hit.item for hits in best for hit in hits}):
            row = []
            for hits in best:
                found = {hit.item: (1.0, 1 / hit.rank, hit.confidence) for hit in hits}
                row += found.get(item, (0.0, 0.0, 0.0))
            rows.append(row)
            labels.append(item in correct)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(rows, labels)
    answers = {run.name: item_hits(run) for run in runs}
    votes = Votes.of(answers, list(gold.items), gold=gold.items)
    found = train_weights("maxent", votes)
    weights = np.array([found.servers[run.name] for run in runs])
    assert weights.ravel() == pytest.approx(peer.coef_[0], abs=1e-7)
    assert found.bias == pytest.approx(peer.intercept_[0], abs=1e-7)
    assert not found.panel.any()


def test_feature_named_alone_is_weighted_voting() -> None:
    """The weights are those of a logistic regression over who names a candidate, and no other."""
    from sklearn.linear_model import LogisticRegression

    gold, runs = campaign(articles=15)
    answers = {run.name: item_hits(run) for run in runs}
    votes = Votes.of(answers, list(gold.items), gold=gold.items)
    named = np.zeros((len(votes), len(runs)))
    named[votes.row, votes.server] = 1.0
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
    peer.fit(named, votes.correct)
    found = train_weights("maxent", votes, features=["named"])
    weights = np.array([found.servers[run.name] for run in runs])
    assert weights[:, 0] == pytest.approx(peer.coef_[0], abs=1e-7)
    assert not weights[:, 1:].any()


def test_stacked_is_what_scikit_learn_fits_to_features_by_plain_loops() -> None:
    """Each candidate of each article and of its copies a row; members' features shrunk."""
    from sklearn.linear_model import LogisticRegression

    gold, runs = campaign(systems=4, articles=12)
    answers = {run.name: item_hits(run) for run in runs}
    votes = Votes.of(answers, gold.articles, gold=gold.items)
    rng = np.random.default_rng(5)
    whole = np.ones(votes.answered.shape, dtype=bool)
    rows, labels = [], []
    for kept in [whole, *(training.kept_servers(votes, rng) for _ in range(training.COPIES))]:
        for number, article in enumerate(votes.articles):
            given = {
                name: answers[name][article][:30]
                for name, stays in zip(votes.servers, kept[number], strict=True)
                if stays
            }
            one = dict.fromkeys(given, 1.0)
            for item in sorted({hit.item for hits in given.values() for hit in hits}):
                row = []
                for name in votes.servers:
                    found = {hit.item: hit for hit in given.get(name, ())}.get(item)
                    row += [0.6, 0.6 / found.rank, 0.6 * found.confidence] if found else [0.0] * 3
                rows.append([*row, *plain_panel(given, one, item)])
                labels.append(item in gold.items[article])
    peer = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    peer.fit(rows, labels)
    weights = train_weights("stacked", votes, seed=5)
    members = np.array([weights.servers[name] for name in votes.servers]).ravel()
    assert members == pytest.approx(0.6 * peer.coef_[0][:12], abs=1e-7)
    assert weights.panel == pytest.approx(peer.coef_[0][12:], abs=1e-7)
    assert weights.bias == pytest.approx(peer.intercept_[0], abs=1e-7)
