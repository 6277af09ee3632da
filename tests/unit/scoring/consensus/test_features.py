"""The features of candidates equal plain loops, and what servers add is their Shapley value."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import Hit
from scoring.consensus.features import PANEL_FEATURES, panel_features, panel_parts
from scoring.consensus.fusion import FUSIONS
from scoring.tasks import Item
from tests.unit.scoring.consensus.answers import Answers, answers, votes_of

WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=7, max_size=7)


def plain_panel(given: Answers, weights: dict[str, float], item: Item) -> list[float]:
    """The panel's features by their definitions."""
    whole = sum(weights[name] for name in given)
    if not whole:
        return [0.0] * len(PANEL_FEATURES)
    share = rank = low = confidence = scaled = best_rank = best_confidence = 0.0
    for name, hits in given.items():
        values = [hit.confidence for hit in hits]
        for hit in hits:
            if hit.item == item:
                weight = weights[name]
                span = max(values) - min(values)
                share += weight
                rank += weight / hit.rank
                low += weight * 11 / (10 + hit.rank)
                confidence += weight * hit.confidence
                scaled += weight * ((hit.confidence - min(values)) / span if span else 1.0)
                best_rank = max(best_rank, weight / hit.rank)
                best_confidence = max(best_confidence, weight * hit.confidence)
    means = [share / whole, rank / whole, low / whole, confidence / whole]
    return [*means, best_rank, best_confidence, share / whole * scaled / whole]


@given(answers(1), WEIGHTS)
@settings(max_examples=40)
def test_panel_features_equal_their_definitions(given: Answers, values: list[float]) -> None:
    votes = votes_of(given)
    weights = dict(zip(votes.servers, values, strict=False))
    found = panel_features(votes, np.array([weights[name] for name in votes.servers]))
    expected = [plain_panel(given, weights, item) for item in votes.items]
    assert found == pytest.approx(np.array(expected).reshape(-1, 7), abs=1e-12)


@given(answers(1), WEIGHTS, st.lists(st.floats(-5, 5), min_size=7, max_size=7))
@settings(max_examples=40)
def test_the_parts_of_a_candidate_sum_to_its_panel(given, values, coefficients):
    votes = votes_of(given)
    weights, of = np.array(values[: len(votes.servers)]), np.array(coefficients)
    parts = panel_parts(votes, weights, of)
    assert votes.sums(parts) == pytest.approx(panel_features(votes, weights) @ of, abs=1e-12)


def test_the_parts_are_shapley_values() -> None:
    """Over all orders in which the servers name the candidate, the others having no say."""
    given = {
        "a": [Hit("P1", 1, 0.9), Hit("P2", 2, 0.3)],
        "b": [Hit("P2", 1, 0.7), Hit("P1", 2, 0.6), Hit("P3", 3, 0.1)],
        "c": [Hit("P3", 1, 1.0), Hit("P2", 2, 0.8), Hit("P1", 3, 0.5)],
    }
    votes = votes_of(given)
    coefficients = np.array([1.0, -0.5, 0.25, 2.0, 1.5, -1.0, 3.0])
    row = votes.items.index("P1")
    one = dict.fromkeys(given, 1.0)

    def value(naming: tuple[str, ...]) -> float:
        part = {
            name: hits if name in naming else [hit for hit in hits if hit.item != "P1"]
            for name, hits in given.items()
        }
        features = np.array(plain_panel(part, one, "P1"))
        # Confidences are scaled by the list as it was answered.
        scaled = {"a": 1.0, "b": 0.5 / 0.6, "c": 0.0}
        features[6] = len(naming) / 3 * sum(scaled[name] for name in naming) / 3
        return float(features @ coefficients)

    gains = dict.fromkeys(given, 0.0)
    orders = list(permutations(given))
    for order in orders:
        for at, name in enumerate(order):
            gains[name] += (value(order[: at + 1]) - value(order[:at])) / len(orders)
    parts = panel_parts(votes, np.ones(3), coefficients)[votes.row == row]
    assert parts == pytest.approx([gains["a"], gains["b"], gains["c"]], abs=1e-12)


def test_fusions_equal_their_definitions() -> None:
    votes = votes_of(
        {"a": [Hit("P1", 1, 0.9), Hit("P2", 2, 0.4)], "b": [Hit("P2", 1, 0.5)], "c": []}
    )
    expected = {
        "votes": [1, 2], "borda": [30, 29 + 30], "rrf60": [1 / 61, 1 / 62 + 1 / 61],
        "rrf10": [1 / 11, 1 / 12 + 1 / 11], "rrf1": [1 / 2, 1 / 3 + 1 / 2], "combsum": [0.9, 0.9],
        "combmnz": [0.9, 1.8],
    }  # fmt: skip
    assert expected.keys() == FUSIONS.keys()
    for name, fusion in FUSIONS.items():
        assert fusion(votes, np.ones(3)) == pytest.approx(expected[name], abs=1e-12), name
        assert fusion(votes, np.array([2.0, 0.0, 1.0]))[0] == pytest.approx(2 * expected[name][0])
