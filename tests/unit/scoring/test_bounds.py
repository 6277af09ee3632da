"""Intervals against scipy's, their definitions, and the samples that they are to hold."""

import numpy as np
import pytest

from scoring.bounds import Bias, IntervalKind, bias_of, bounds
from scoring.resampling import leave_one_out, resampled, weighted_means

RNG = np.random.default_rng(8)
VALUES = RNG.exponential(1, (25, 3))
RESAMPLES = np.concatenate(
    [weighted_means(VALUES, weights) for weights in resampled(RNG, 25, 40_000)]
)
ARTICLES = np.full(3, 25.0)


def test_percentile_intervals_are_numpys_quantiles() -> None:
    low, high = bounds(RESAMPLES, 0.9, "percentile", ARTICLES)
    expected = np.quantile(RESAMPLES, [0.05, 0.95], axis=0)
    assert np.allclose([low, high], expected, atol=1e-15)


def test_bca_intervals_are_scipys() -> None:
    from scipy import stats

    left_out = np.concatenate(
        [weighted_means(VALUES, weights) for weights in leave_one_out(len(VALUES))]
    )
    bias = bias_of(VALUES.mean(axis=0), RESAMPLES, left_out)
    low, high = bounds(RESAMPLES, 0.95, "bca", ARTICLES, bias)
    for column, values in enumerate(VALUES.T):
        found = stats.bootstrap(
            (values,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(2)
        )
        assert low[column] == pytest.approx(found.confidence_interval.low, abs=0.02)
        assert high[column] == pytest.approx(found.confidence_interval.high, abs=0.03)


def test_a_bca_interval_without_bias_is_the_percentile_interval() -> None:
    nothing = Bias(np.zeros(3), np.zeros(3))
    assert np.allclose(
        bounds(RESAMPLES, 0.95, "bca", ARTICLES, nothing),
        bounds(RESAMPLES, 0.95, "percentile", ARTICLES),
    )


def test_expanded_intervals_of_normal_means_are_students() -> None:
    """Resamples of a normal sample are normal, with its population deviation over root n."""
    from scipy import stats

    deviation = 2.0
    places = (np.arange(200_000) + 0.5) / 200_000
    resamples = stats.norm.ppf(places)[:, None] * deviation / np.sqrt(10)
    low, high = bounds(resamples, 0.95, "expanded", np.array([10.0]))
    half = stats.t.ppf(0.975, 9) * deviation * np.sqrt(10 / 9) / np.sqrt(10)
    assert (low[0], high[0]) == pytest.approx((-half, half), abs=1e-3)


@pytest.mark.parametrize("kind", ["expanded", "percentile", "bca"])
def test_an_interval_of_one_value_is_this_value(kind: IntervalKind) -> None:
    same = np.full((50, 1), 0.25)
    bias = bias_of(np.array([0.25]), same, np.full((4, 1), 0.25))
    low, high = bounds(same, 0.95, kind, np.array([1.0]), bias)
    assert (low[0], high[0]) == (0.25, 0.25)


def test_one_article_has_no_tails_to_cut() -> None:
    resamples = np.linspace(0, 1, 100)[:, None]
    low, high = bounds(resamples, 0.95, "expanded", np.array([1.0]))
    assert (low[0], high[0]) == (0.0, 1.0)
