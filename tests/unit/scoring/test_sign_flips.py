"""Sign-flip tests against closed testing by brute force, plain loops, and their properties."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.bounds import TIE
from scoring.resampling import Matrix
from scoring.sign_flips import PairTests, sign_flip_tests

ALPHA = 0.05


def made(values: Matrix, flips: int = 10_000, seed: int = 1) -> PairTests:
    names = [f"r{run}" for run in range(values.shape[1])]
    return sign_flip_tests(names, values, np.random.default_rng(seed), flips)


def statistics(values: Matrix, signs: tuple[float, ...]) -> list[float]:
    """Each pair's |sum of signed differences| over the root of the sum of squares."""
    found = []
    for left, right in combinations(range(values.shape[1]), 2):
        differences = [
            sign * (row[left] - row[right])
            for sign, row in zip(signs, values.tolist(), strict=True)
            if not math.isnan(row[left] - row[right])
        ]
        root = math.sqrt(math.fsum(one * one for one in differences))
        found.append(abs(math.fsum(differences)) / root if root else 0.0)
    return found


def closed_testing(values: Matrix, flips: list[tuple[float, ...]], own: int) -> list[float]:
    """Corrected p: the greatest p of any set of pairs that has the pair, by the set's maximum.

    The definition that step-down maxT shortens (Marcus et al. 1976); of 2^pairs sets.
    """
    observed = statistics(values, (1.0,) * len(values))
    found = [statistics(values, signs) for signs in flips]
    pairs = range(len(observed))
    corrected = [0.0 for _ in pairs]
    for size in range(1, len(observed) + 1):
        for chosen in combinations(pairs, size):
            bound = max(observed[pair] for pair in chosen) - 1e-9
            reached = sum(max(one[pair] for pair in chosen) >= bound for one in found)
            for pair in chosen:
                corrected[pair] = max(corrected[pair], (reached + own) / (len(flips) + own))
    return corrected


MATRICES = st.integers(1, 6).flatmap(
    lambda articles: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0, math.nan]), min_size=4, max_size=4),
        min_size=articles,
        max_size=articles,
    )
)


@given(MATRICES)
@settings(max_examples=60, deadline=None)
def test_exact_tests_equal_closed_testing_by_brute_force(rows: list[list[float]]) -> None:
    values = np.array(rows)
    found = made(values)
    every = list(product([1.0, -1.0], repeat=len(rows)))
    assert found.exact
    expected = closed_testing(values, every, own=0)
    assert [test.p_adjusted for test in found.pairs] == pytest.approx(expected, abs=1e-12)
    for test, observed, alone in zip(
        found.pairs,
        statistics(values, (1.0,) * len(rows)),
        zip(*(statistics(values, signs) for signs in every), strict=True),
        strict=True,
    ):
        reached = sum(one >= observed - 1e-9 for one in alone)
        assert test.p == pytest.approx(reached / len(every), abs=1e-12)


@given(MATRICES)
@settings(max_examples=60, deadline=None)
def test_floors_are_what_the_best_of_all_signs_would_have_given(rows: list[list[float]]) -> None:
    values = np.array(rows)
    found = made(values)
    floors, family = [1.0] * len(found.pairs), 1.0
    for signs in product([1.0, -1.0], repeat=len(rows)):
        # Signs can be given to a pair's differences by mirroring the articles' values.
        mirrored = np.where(np.array(signs)[:, None] > 0, values, 1 - values)
        other = made(mirrored)
        floors = [min(one, test.p) for one, test in zip(floors, other.pairs, strict=True)]
        family = min(family, *(test.p_adjusted for test in other.pairs))
    assert [test.p_floor for test in found.pairs] == pytest.approx(floors)
    assert found.p_floor == pytest.approx(family)


def test_random_flips_equal_closed_testing_on_the_same_flips() -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random((25, 4)) < 0.1, math.nan, rng.random((25, 4)).round(1))
    found = made(values, flips=60, seed=8)
    drawn = 1.0 - 2.0 * np.random.default_rng(8).integers(0, 2, (60, 25))
    expected = closed_testing(values, [tuple(row) for row in drawn.tolist()], own=1)
    assert not found.exact
    assert [test.p_adjusted for test in found.pairs] == pytest.approx(expected, abs=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """More flips, and more pairs, than a block has; against step-down maxT all at once."""
    rng = np.random.default_rng(5)
    articles, flips, runs, cells = 1_200, 1_000, 34, 1 << 19
    monkeypatch.setattr("scoring.sign_flips.CELLS", cells)
    values = rng.choice([0.0, 0.5, 1.0], (articles, runs)) + rng.normal(0, 0.004, runs)
    assert articles * flips > 2 * cells
    assert articles * runs * (runs - 1) / 2 > cells
    found = made(values, flips=flips, seed=6)
    signs = 1.0 - 2.0 * np.random.default_rng(6).integers(0, 2, (flips, articles))
    left, right = np.triu_indices(runs, 1)
    differences = values[:, left] - values[:, right]
    scaled = differences / np.sqrt((differences**2).sum(axis=0))
    observed, flipped = np.abs(scaled.sum(axis=0)), np.abs(signs @ scaled)
    order = np.argsort(observed)
    greatest = np.maximum.accumulate(flipped[:, order], axis=1)
    p = ((greatest >= observed[order] - 1e-9).sum(axis=0) + 1) / (flips + 1)
    expected = np.empty(len(order))
    expected[order] = np.maximum.accumulate(p[::-1])[::-1]
    assert [test.p_adjusted for test in found.pairs] == pytest.approx(expected.tolist(), abs=1e-12)


def campaign(rng: np.random.Generator, articles: int, abilities: Matrix) -> Matrix:
    """Scores 1/rank (0 from rank 10 on) of runs that share the articles' difficulty."""
    noise = rng.normal(0, 1, (articles, 1)) + rng.normal(0, 1, (articles, len(abilities)))
    ranks = np.ceil(np.exp(1 + noise - abilities))
    return np.where(ranks < 10, 1 / ranks, 0.0)


def test_many_runs_can_be_told_apart() -> None:
    """With 40 runs Holm's correction of 10,000 flips never falls below 780 / 10,001 = 0.078."""
    abilities = np.repeat([0.0, 1.0], 20)
    values = campaign(np.random.default_rng(1), 300, abilities)
    found = made(values)
    apart = {(f"r{low}", f"r{high}") for low in range(20) for high in range(20, 40)}
    significant = {(test.a, test.b) for test in found.pairs if test.p_adjusted <= ALPHA}
    assert len(significant & apart) > 0.95 * len(apart)
    assert len(significant - apart) == 0
    assert found.p_floor == min(test.p for test in found.pairs) == 1 / 10_001


def test_size_under_the_null() -> None:
    """Of 400 campaigns of equal runs about 5 % may have a significant pair; 8 % is 3 sigma."""
    rng = np.random.default_rng(2)
    found = [
        min(test.p_adjusted for test in made(campaign(rng, 40, np.zeros(6)), 199).pairs)
        for _ in range(400)
    ]
    assert np.mean(np.array(found) <= ALPHA) <= 0.08


@pytest.mark.parametrize(
    "values",
    [
        np.full((9, 3), 0.5),  # identical runs
        np.zeros((9, 3)),
        np.array([[1.0, 0.0, 0.5]]),  # one article
        np.full((9, 3), math.nan),  # nothing scored
        np.where(np.eye(3) > 0, 1.0, math.nan),  # no article in common
        np.tile([1.0, 0.5, 0.25], (40, 1)),  # differences without variance
        np.random.default_rng(0).random((40, 3)),
        np.full((40, 1), 0.5),  # one run: no pairs
        np.zeros((0, 3)),
    ],
)
@pytest.mark.parametrize("flips", [1, 3, 10_000])
def test_p_values_keep_their_order_and_range(values: Matrix, flips: int) -> None:
    found = made(values, flips)
    assert 0 < found.p_floor <= 1
    assert 0 < found.flips <= flips
    for test in found.pairs:
        assert 0 < test.p_floor <= test.p <= test.p_adjusted <= 1
        assert (test.difference is None) == (test.articles_scored == 0)
        assert test.difference is None or abs(test.difference) <= 1


def test_runs_that_never_differ_are_not_told_apart() -> None:
    values = np.random.default_rng(7).random((60, 1)) * [1.0, 1.0, 0.5]
    twins, *others = made(values).pairs
    assert (twins.p, twins.p_adjusted, twins.p_floor, twins.difference) == (1, 1, 1, 0)
    assert [test.p_adjusted for test in others] == [1 / 10_001] * 2


def test_rounding_is_no_difference() -> None:
    values = np.tile([0.3, 0.1 + 0.2], (30, 1))
    assert values[0, 0] != values[0, 1]
    assert made(values).pairs[0].p == 1.0
    values = np.tile([0.0, TIE], (30, 1))  # the most that rounding may make
    assert (made(values).pairs[0].p, made(values).flips) == (1.0, 1)
    assert made(np.hstack([values, np.ones((30, 1))])).pairs[0].p == 1.0


def test_articles_on_which_no_runs_differ_do_not_stand_against_exact_tests() -> None:
    values = np.ones((500, 2))
    values[:6, 1] = 0.0
    found = made(values)
    assert (found.exact, found.flips) == (True, 32)
    (test,) = found.pairs
    assert (test.p, test.p_adjusted, test.p_floor) == (1 / 32, 1 / 32, 1 / 32)
    assert (test.articles_scored, test.difference) == (500, 6 / 500)


@pytest.mark.parametrize(("flips", "exact"), [(8191, False), (8192, True)])
def test_all_flips_are_taken_where_they_are_no_more_than_asked(flips: int, exact: bool) -> None:
    values = np.random.default_rng(2).random((14, 3))
    assert (made(values, flips).exact, made(values, flips).flips) == (exact, flips)
