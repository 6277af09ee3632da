"""Differences of pairs: intervals and effects by definition, bootstrap tests, articles needed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from scoring import Classification, OptionError, compare
from scoring.bootstrap_tests import bootstrap_tests
from scoring.bounds import bounds
from scoring.power import articles_needed, articles_needed_of, power
from scoring.resampling import resampled
from scoring.scorecard import Scorecard
from scoring.sign_flips import PairTest
from tests.unit.scoring.test_significance import ACT, ARTICLES, BAD, CLOSE, GOLD, GOOD, run


def pair_of(cards: list[Scorecard], **options: object) -> PairTest:
    (pair,) = compare(GOLD, cards, **options).pairs  # type: ignore[arg-type]
    return pair


def values_of(card: Scorecard) -> np.ndarray:
    scores = {article: score.auc_ipr for article, score in card.articles.items()}  # type: ignore[union-attr]
    return np.array([scores.get(article, np.nan) for article in ARTICLES], dtype=float)


@pytest.mark.parametrize("kind", ["expanded", "percentile", "bca"])
def test_an_interval_of_a_difference_is_that_of_the_articles_differences(kind):
    from scipy import stats

    pair = pair_of([GOOD, BAD], resamples=4000, interval=kind)
    differences = values_of(GOOD) - values_of(BAD)
    assert pair.difference == pytest.approx(differences.mean())
    found = stats.bootstrap(
        (differences,), np.mean, n_resamples=20_000,
        method="BCa" if kind == "bca" else "percentile", rng=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    assert (pair.low, pair.high) == pytest.approx((found.low, found.high), abs=0.01)
    assert pair.effect == pytest.approx(differences.mean() / differences.std(ddof=1))


@pytest.mark.parametrize("kind", ["expanded", "percentile", "bca"])
def test_runs_that_answered_different_articles_differ_on_the_common_ones(kind):
    ranks = np.random.default_rng(5).integers(1, 6, 40)
    some = run("some", [*ranks[:30].tolist(), *[0] * 10])
    others = run("others", [*[0] * 5, *ranks[::-1][:35].tolist()])
    pair = pair_of([some, others], resamples=2000, interval=kind)
    assert pair.articles_scored == 25
    differences = (values_of(some) - values_of(others))[5:30]
    assert pair.difference == pytest.approx(differences.mean())
    assert pair.effect == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert pair.low < differences.mean() < pair.high
    # A ratio of sums: the gold's articles are resampled, and 25 of the 40 count.
    values = np.full(40, np.nan)
    values[5:30] = differences
    if kind != "bca":
        weights = np.concatenate(list(resampled(np.random.default_rng(2009), 40, 2000)))
        means = weights[:, 5:30] @ differences / weights[:, 5:30].sum(axis=1)
        low, high = bounds(means[:, None], 0.95, kind, np.array([25.0]))
        assert (pair.low, pair.high) == pytest.approx((low[0], high[0]))


def test_equal_runs_have_no_effect() -> None:
    pair = pair_of([GOOD, replace(GOOD, run="same")], resamples=50, power=True)
    assert (pair.difference, pair.low, pair.high) == (0.0, 0.0, 0.0)
    assert (pair.effect, pair.articles_needed) == (None, None)


def test_runs_without_a_common_article_have_no_difference() -> None:
    pair = pair_of([run("left", [1]), run("right", [0, 1])], resamples=50, power=True)
    assert (pair.difference, pair.low, pair.effect, pair.articles_needed) == (None,) * 4


def test_power_is_that_of_the_t_test_for_normal_differences() -> None:
    """The sign-flip test of normal differences is Student's, nearly; so is its power."""
    from scipy import stats

    differences = np.random.default_rng(1).normal(0, 1, 4000)
    differences += 0.4 * differences.std() - differences.mean()
    for articles in (30, 60):
        border = stats.t.ppf(0.975, articles - 1)
        shifted = partial(stats.nct.cdf, df=articles - 1, nc=0.4 * np.sqrt(articles))
        found = power(differences, articles)
        assert found == pytest.approx(1 - shifted(border) + shifted(-border), abs=0.06)
    needed = articles_needed(differences)
    assert 44 <= needed <= 60  # the t test needs 52
    strays = np.random.default_rng(2).normal(0.4, 1 / np.sqrt(100), 20_000)
    assert articles_needed_of(0.4, strays, 100) == pytest.approx(50, abs=3)  # z test: 49.1


@pytest.mark.slow
def test_articles_that_no_campaign_has() -> None:
    noise = np.random.default_rng(1).normal(0, 1, 200)
    assert articles_needed(noise - noise.mean()) is None
    assert articles_needed(np.zeros(30)) is None
    assert articles_needed(np.ones(5)) == 6  # 2^(1 - 6) is the first below 0.05
    assert articles_needed_of(0.0, np.ones(30), 10) is None


def test_power_of_too_many_pairs() -> None:
    runs = [replace(GOOD, run=f"run{place}") for place in range(21)]
    with pytest.raises(OptionError, match="power of 210 pairs; expected at most 200"):
        compare(GOLD, runs, resamples=20, power=True)


def test_needed_articles_fall_with_the_difference() -> None:
    found = compare(GOLD, [GOOD, CLOSE, BAD], resamples=200, power=True)
    needed = {(pair.a, pair.b): pair.articles_needed for pair in found.pairs}
    assert needed["good", "close"] is not None
    assert needed["good", "bad"] < needed["good", "close"]


def test_an_unknown_interval() -> None:
    with pytest.raises(OptionError, match="interval 'wide'; expected one of expanded"):
        compare(GOLD, [GOOD], interval="wide")  # type: ignore[arg-type]


def test_bootstrap_tests_against_their_definition() -> None:
    """Three pairs, each resample's strays one at a time."""
    rng = np.random.default_rng(6)
    observed = np.array([0.5, 0.56, 0.7])
    resamples = observed + rng.normal(0, 0.05, (300, 3)) + rng.normal(0, 0.2, (300, 1))
    tests = bootstrap_tests(["a", "b", "c"], resamples, observed, np.ones((10, 3)))
    pairs = [(0, 1), (0, 2), (1, 2)]
    errors = [np.std(resamples[:, a] - resamples[:, b], ddof=1) for a, b in pairs]
    strays = np.array(
        [
            [
                abs(row[a] - row[b] - observed[a] + observed[b]) / e
                for (a, b), e in zip(pairs, errors, strict=True)
            ]
            for row in resamples
        ]
    )
    statistics = [
        abs(observed[a] - observed[b]) / e for (a, b), e in zip(pairs, errors, strict=True)
    ]
    least = 0.0
    for place in np.argsort(statistics)[::-1]:
        test = tests.pairs[place]
        assert test.p == (np.sum(strays[:, place] >= statistics[place]) + 1) / 301
        among = [other for other in range(3) if statistics[other] <= statistics[place]]
        least = max(least, (np.sum(strays[:, among].max(axis=1) >= statistics[place]) + 1) / 301)
        assert test.p_adjusted == max(least, test.p)
        assert test.p_floor == 1 / 301
    assert (tests.kind, tests.exact, tests.flips) == ("bootstrap", False, 300)


@pytest.mark.parametrize("measure", ["auc_ipr", "mcc"])
def test_lists_are_compared_as_a_whole(measure: str) -> None:
    from scoring import RunScorer

    cards = []
    for name, wrong in (("good", 9), ("bad", 3)):
        scorer = RunScorer("ACT", ACT, run=name)
        for place, (article, relevant) in enumerate(ACT.relevant.items()):
            called = relevant != (place % wrong == 0)
            scorer.put(article, Classification(called, 1 - place / 50))
        cards.append(scorer.scorecard())
    found = compare(ACT, cards, measure=measure, resamples=800, power=True)
    (pair,) = found.pairs
    assert pair.low < pair.difference < pair.high
    assert (pair.p <= 0.05) == (not pair.low <= 0 <= pair.high)
    error = pair.difference / pair.effect / np.sqrt(len(ARTICLES))
    assert pair.high - pair.low == pytest.approx(2 * 1.96 * error, rel=0.25)
    assert pair.articles_needed is not None
    twins = [cards[0], replace(cards[0], run="same")]
    same = compare(ACT, twins, measure=measure, resamples=100, power=True).pairs[0]
    assert (same.p, same.effect, same.articles_needed) == (1.0, None, None)
