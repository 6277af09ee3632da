"""Contributions of teams: exact for few, and only shown when sure."""

from itertools import permutations

import numpy as np
import pytest

from scoring import cross_validate
from scoring.consensus import contribution, contributions
from scoring.consensus.contribution import Contribution
from scoring.consensus.measures import article_values, macro
from scoring.consensus.validation import CrossValidation
from tests.unit.scoring.campaign import campaign

SYSTEMS = 4


@pytest.fixture(scope="module")
def validated() -> CrossValidation:
    gold, runs = campaign(systems=SYSTEMS, articles=16)
    return cross_validate(gold, runs, method="maxent", folds=3)


def value(validated: CrossValidation, servers: tuple[str, ...]) -> float:
    kept = np.array([name in servers for name in validated.votes.servers])
    votes = validated.votes.of_servers(kept)
    scores = validated.scorer.scores(votes)
    return macro(article_values(votes, validated.sizes, scores, "auc_ipr"))


def test_values_are_mean_gains_over_all_orders(validated: CrossValidation) -> None:
    gains = dict.fromkeys(validated.votes.servers, 0.0)
    orders = list(permutations(gains))
    for order in orders:
        for at, name in enumerate(order):
            gain = value(validated, order[: at + 1]) - value(validated, order[:at])
            gains[name] += gain / len(orders)
    found = {one.team: one for one in contributions(validated, {})}
    assert {name: one.value for name, one in found.items()} == pytest.approx(gains, abs=1e-12)
    whole = value(validated, validated.votes.servers)
    for name, one in found.items():
        others = tuple(other for other in gains if other != name)
        assert one.missing == pytest.approx(whole - value(validated, others), abs=1e-12)
        assert one.alone == pytest.approx(value(validated, (name,)), abs=1e-12)
        assert one.error == 0
        assert one.low < one.value < one.high
    assert sum(one.value or 0 for one in found.values()) == pytest.approx(whole, abs=1e-12)


def test_servers_of_a_team_come_together(validated: CrossValidation) -> None:
    teams = {name: name.split("_")[0] for name in validated.votes.servers}
    found = contributions(validated, teams)
    assert {one.team for one in found} == {"T0", "T1"}
    whole = value(validated, validated.votes.servers)
    assert sum(one.value or 0 for one in found) == pytest.approx(whole)


def sampled(validated: CrossValidation, monkeypatch: pytest.MonkeyPatch) -> list[Contribution]:
    monkeypatch.setattr(contribution, "EXACT_TEAMS", 2)
    return contributions(validated, {})


def test_random_orders_agree_with_all_of_them(validated, monkeypatch):
    exact = {one.team: one.value for one in contributions(validated, {})}
    for one in sampled(validated, monkeypatch):
        assert 0 < one.error <= contribution.SURE
        assert one.value == pytest.approx(exact[one.team], abs=3 * contribution.SURE)


def test_nothing_is_shown_before_it_is_sure(validated, monkeypatch):
    monkeypatch.setattr(contribution, "_MOST_ORDERS", 10)
    found = sampled(validated, monkeypatch)
    assert all(one.value is one.low is one.high is None for one in found)
    assert all(one.alone > 0 for one in found)
