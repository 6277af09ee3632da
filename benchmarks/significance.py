"""Errors and power of `scoring compare` on simulated runs.

`python -m benchmarks significance`; CAMPAIGNS=1000 makes the tables finer, and PARTS=pairs,needed
prints only some (sizes, pairs, power, coverage, lists, list_coverage, needed). A campaign is a
matrix of scores: 1/rank of the one correct item of each article, 0 from rank 10 on. Runs share the
difficulty of the articles and have an ability each. *Size* is the share of campaigns in which any
two runs of equal ability differ significantly at 0.05; *power* the share of pairs of unequal runs
that do. Holm's correction of the same p-values is printed beside step-down maxT. *Coverage* is the
share of campaigns whose 95 % interval holds the true score, or difference, of a run. The size of
the bootstrap tests is that of lists of ACT: runs that see the articles' relevance equally well.
"""

import os
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nct, t

from benchmarks import sized
from scoring import ActGold, Classification, RunScorer, Scorecard, compare
from scoring.bounds import IntervalKind, bias_of, bounds
from scoring.power import articles_needed, power
from scoring.resampling import leave_one_out, resampled, weighted_means
from scoring.sign_flips import PairTests, sign_flip_tests

ALPHA = 0.05
FLIPS, FEW_FLIPS, RESAMPLES = sized((10_000, 999, 999), (99, 99, 99))
SIZES = sized([(3, 10), (6, 40), (20, 100), (134, 595)], [(3, 10)])  # runs, articles
Numbers: TypeAlias = NDArray[np.float64]


def campaign(rng: np.random.Generator, articles: int, abilities: Numbers) -> Numbers:
    noise = rng.normal(0, 1, (articles, 1)) + rng.normal(0, 1, (articles, len(abilities)))
    ranks = np.ceil(np.exp(1 + noise - abilities))
    return np.where(ranks < 10, 1 / ranks, 0.0)


def exclusive(rng: np.random.Generator, articles: int, abilities: Numbers) -> Numbers:
    """Return scores of which one a row is 1: differences that are far from symmetric together."""
    return np.eye(len(abilities))[rng.integers(0, len(abilities), articles)]


def tested(values: Numbers, rng: np.random.Generator, flips: int) -> PairTests:
    return sign_flip_tests([str(run) for run in range(values.shape[1])], values, rng, flips)


def holm(p: Numbers) -> Numbers:
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def found(tests: PairTests) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return, for each pair, whether it differs significantly, by step-down maxT and by Holm."""
    adjusted = np.array([test.p_adjusted for test in tests.pairs])
    return adjusted <= ALPHA, holm(np.array([test.p for test in tests.pairs])) <= ALPHA


def size(
    make: Callable[[np.random.Generator, int, Numbers], Numbers],
    abilities: Numbers,
    articles: int,
    campaigns: int,
) -> Numbers:
    """Return the share of campaigns with significant pairs of equal runs, by maxT and by Holm."""
    rng = np.random.default_rng(2009)
    left, right = np.triu_indices(len(abilities), 1)
    equal = abilities[left] == abilities[right]
    wrong = np.zeros(2)
    for _ in range(campaigns):
        tests = tested(make(rng, articles, abilities), rng, FEW_FLIPS)
        wrong += [bool((different & equal).any()) for different in found(tests)]
    return wrong / campaigns


def print_sizes(campaigns: int) -> None:
    print(f"size at {ALPHA}, {FEW_FLIPS} flips; +- is two standard errors")
    for runs, articles in SIZES:
        times = campaigns if runs <= 20 else campaigns // 2
        error = 2 * np.sqrt(ALPHA * (1 - ALPHA) / times)
        halves = np.repeat([0.0, 1.0], [runs - runs // 2, runs // 2])
        kinds = {"all equal": (campaign, np.zeros(runs)), "half of them better": (campaign, halves)}
        if runs < max(SIZES)[0]:  # which take minutes
            kinds["one right an article"] = (exclusive, np.zeros(runs))
        for kind, (make, abilities) in kinds.items():
            max_t, by_holm = size(make, abilities, articles, times)
            print(
                f"{runs:4d} runs {articles:4d} articles  {kind:22s} maxT {max_t:.3f}   "
                f"Holm {by_holm:.3f}   {times} campaigns, +- {error:.3f}"
            )


def skewed(rng: np.random.Generator, articles: int) -> Numbers:
    """Return differences of mean 0: a little better on four of five articles, far worse on one."""
    return np.where(rng.random(articles) < 0.8, 0.25, -1.0)


def lognormal(rng: np.random.Generator, articles: int) -> Numbers:
    """Return differences of mean 0, the natural logarithm of which (less a limit) is normal."""
    return rng.lognormal(0, 1, articles) - float(np.exp(0.5))


def symmetric(rng: np.random.Generator, articles: int) -> Numbers:
    """Return differences of two runs of equal ability."""
    values = campaign(rng, articles, np.zeros(2))
    return values[:, 0] - values[:, 1]


def print_pair_sizes(campaigns: int) -> None:
    """Print how often the uncorrected p of one pair finds equal runs different."""
    error = 2 * np.sqrt(ALPHA * (1 - ALPHA) / campaigns)
    print(f"\nsize of p of one pair, {campaigns} campaigns, {FEW_FLIPS} flips, +- {error:.3f}")
    for make in (symmetric, skewed, lognormal):
        shares = []
        for articles in (8, 10, 15, 30, 61, 100):
            rng = np.random.default_rng(2009)
            wrong = 0
            for _ in range(campaigns):
                values = np.column_stack([make(rng, articles), np.zeros(articles)])
                wrong += tested(values, rng, FEW_FLIPS).pairs[0].p <= ALPHA
            shares.append(f"{articles}: {wrong / campaigns:.3f}")
        print(f"{make.__name__:10s} articles {'  '.join(shares)}")


def print_power() -> None:
    rng = np.random.default_rng(2009)
    abilities = np.linspace(-1, 1, 134)
    values = campaign(rng, 595, abilities)
    start = time.perf_counter()
    tests = tested(values, rng, FLIPS)
    took = time.perf_counter() - start
    max_t, by_holm = found(tests)
    p = np.array([test.p for test in tests.pairs])
    means = campaign(np.random.default_rng(1), sized(100_000, 500), abilities).mean(axis=0)
    left, right = np.triu_indices(134, 1)
    true = np.abs(means[left] - means[right])
    wrong = np.array([test.difference or 0.0 for test in tests.pairs]) * (left - right) < 0
    print(f"\npower: 134 runs, 595 articles, {len(p)} pairs, {FLIPS} flips, {took:.1f} s")
    print(f"p at its floor {(p <= 1 / FLIPS).sum()}, p <= {ALPHA} {(p <= ALPHA).sum()}")
    print(f"significant: maxT {max_t.sum()} (wrong way {(max_t & wrong).sum()})", end="")
    print(f", Holm {by_holm.sum()}; Holm's least {holm(p).min():.3f}")
    for low, high in ((0, 0.02), (0.02, 0.05), (0.05, 0.1), (0.1, 1)):
        some = (true >= low) & (true < high)
        print(
            f"true difference {low:4.2f} to {high:4.2f}: {some.sum():5d} pairs, "
            f"maxT {max_t[some].mean():.3f}, Holm {by_holm[some].mean():.3f}, "
            f"uncorrected {(p[some] <= ALPHA).mean():.3f}"
        )


def print_coverage(campaigns: int) -> None:
    """Print how often intervals hold the true scores of four runs, and the difference of two."""
    abilities = np.array([-0.5, 0.0, 0.5, 1.0])
    means = campaign(np.random.default_rng(1), sized(1_000_000, 500), abilities).mean(axis=0)
    true = np.append(means, means[2] - means[1])
    print(f"\ncoverage of 95 % intervals, {campaigns} campaigns, {RESAMPLES} resamples")
    print("articles  interval    scores of four runs         difference")
    kinds: tuple[IntervalKind, ...] = ("percentile", "bca", "expanded")
    for articles in (10, 20, 30, 61, 100):
        rng = np.random.default_rng(2009)
        held = {kind: np.zeros(len(true)) for kind in kinds}
        for _ in range(campaigns):
            values = campaign(rng, articles, abilities)
            values = np.column_stack([values, values[:, 2] - values[:, 1]])
            weights = np.concatenate(list(resampled(rng, articles, RESAMPLES)))
            found = weighted_means(values, weights)
            without = np.concatenate([weighted_means(values, w) for w in leave_one_out(articles)])
            bias = bias_of(values.mean(axis=0), found, without)
            for kind in kinds:
                low, high = bounds(found, 0.95, kind, np.full(len(true), float(articles)), bias)
                held[kind] += (low <= true) & (true <= high)
        for kind, counts in held.items():
            shares = "  ".join(f"{share:.3f}" for share in counts / campaigns)
            print(f"{articles:8d}  {kind:10s}  {shares}")


def classified(rng: np.random.Generator, gold: ActGold, runs: int) -> list[Scorecard]:
    """Return scorecards of runs that see the relevance of the articles equally well."""
    truth = gold.truth
    seen = truth + rng.normal(0, 0.7, len(truth))
    cards = []
    for number in range(runs):
        leaning = seen + rng.normal(0, 0.7, len(truth)) - 0.5
        scorer = RunScorer("ACT", gold, run=f"run{number}")
        for article, value in zip(gold.articles, leaning.tolist(), strict=True):
            scorer.put(article, Classification(value > 0, min(1.0, abs(value) / 9 + 1e-6)))
        cards.append(scorer.scorecard())
    return cards


LISTS = sized([(40, 10), (200, 40), (595, 63)], [(40, 10)])  # articles, relevant
MANY = sized(200_000, 2_000)  # articles that stand for all there are


def print_list_coverage(campaigns: int) -> None:
    """Print how often intervals of an ACT run hold its score on infinitely many articles."""
    error = 2 * np.sqrt(0.95 * 0.05 / campaigns)
    print(f"\ncoverage of 95 % intervals, ACT, {campaigns} campaigns, +- {error:.3f}")
    kinds: tuple[IntervalKind, ...] = ("percentile", "bca", "expanded")
    for articles, relevant in LISTS:
        rng = np.random.default_rng(2009)
        many = ActGold(
            relevant={f"a{n:06d}": n * relevant % articles < relevant for n in range(MANY)}
        )
        [whole] = classified(rng, many, 1)
        for measure in ("auc_ipr", "mcc"):
            [true] = (
                one.score
                for one in compare(
                    many, [whole], measure=measure, resamples=1, pairs=False
                ).intervals
            )
            held, mean = dict.fromkeys(kinds, 0), 0.0
            for _ in range(campaigns):
                labels = rng.random(articles) < relevant / articles
                labels[0] = True
                gold = ActGold(
                    relevant={f"a{n:03d}": bool(is_so) for n, is_so in enumerate(labels)}
                )
                cards = classified(rng, gold, 1)
                seed = int(rng.integers(1 << 30))
                for kind in kinds:
                    [one] = compare(
                        gold,
                        cards,
                        measure=measure,
                        resamples=RESAMPLES,
                        seed=seed,
                        pairs=False,
                        interval=kind,
                    ).intervals
                    held[kind] += one.low <= true <= one.high
                mean += one.score / campaigns
            shares = "  ".join(f"{kind} {count / campaigns:.3f}" for kind, count in held.items())
            print(
                f"{articles} articles, {relevant} relevant  {measure} {true:.3f} ({mean:.3f})"
                f"  {shares}"
            )


def print_list_sizes(campaigns: int) -> None:
    """Print how often the bootstrap tests find any two of equally good ACT runs different."""
    error = 2 * np.sqrt(ALPHA * (1 - ALPHA) / campaigns)
    print(f"\nsize of the bootstrap tests at {ALPHA}, ACT, {campaigns} campaigns, +- {error:.3f}")
    for articles, relevant in LISTS:
        for runs in (2, 6):
            rng = np.random.default_rng(2009)
            wrong = {"auc_ipr": 0, "mcc": 0}
            for _ in range(campaigns):
                # Each campaign has articles of its own, of the same two kinds.
                labels = {f"a{place:03d}": place < relevant for place in range(articles)}
                gold = ActGold(relevant=labels)
                cards = classified(rng, gold, runs)
                for measure in wrong:
                    seed = int(rng.integers(1 << 30))
                    found = compare(gold, cards, measure=measure, resamples=FEW_FLIPS, seed=seed)
                    wrong[measure] += any(pair.p_adjusted <= ALPHA for pair in found.pairs)
            shares = "   ".join(f"{name} {count / campaigns:.3f}" for name, count in wrong.items())
            print(f"{runs} runs {articles:4d} articles, {relevant} relevant   {shares}")


def print_articles_needed(campaigns: int) -> None:
    """Print the power at the articles needed, of scores and of normal differences."""
    print(f"\narticles needed for a power of 0.8, from 61 articles, {campaigns} campaigns")
    for better in sized((0.2, 0.4, 0.8), (0.8,)):
        needed = []
        for seed in range(campaigns):
            values = campaign(np.random.default_rng(seed), 61, np.array([0.0, better]))
            needed.append(articles_needed(values[:, 1] - values[:, 0], seed=seed) or 20_000)
        values = campaign(np.random.default_rng(99), sized(200_000, 500), np.array([0.0, better]))
        differences = values[:, 1] - values[:, 0]
        true = articles_needed(differences)
        low, middle, high = np.quantile(needed, [0.1, 0.5, 0.9])
        effect = differences.mean() / differences.std()
        print(
            f"ability +{better}: effect {effect:.2f}, truly {true}; from 61 articles "
            f"{middle:.0f} (80 % of campaigns: {low:.0f} to {high:.0f})"
        )
    normal = np.random.default_rng(1).normal(0, 1, sized(100_000, 500))
    for effect, articles in ((0.2, 200), (0.5, 34)):
        border, centre = t.ppf(1 - ALPHA / 2, articles - 1), effect * np.sqrt(articles)
        by_t = 1 - nct.cdf(border, articles - 1, centre) + nct.cdf(-border, articles - 1, centre)
        print(
            f"normal differences, effect {effect}, {articles} articles: power "
            f"{power(normal + effect, articles):.3f}, of the t test {by_t:.3f}"
        )


def main() -> None:
    campaigns = int(os.environ.get("CAMPAIGNS", sized("100", "2")))
    parts: dict[str, Callable[[], None]] = {
        "sizes": lambda: print_sizes(campaigns),
        "pairs": lambda: print_pair_sizes(campaigns),
        "power": print_power,
        "coverage": lambda: print_coverage(campaigns),
        "lists": lambda: print_list_sizes(campaigns // 2),
        "list_coverage": lambda: print_list_coverage(campaigns // 2),
        "needed": lambda: print_articles_needed(max(1, campaigns // 5)),
    }
    for name in os.environ.get("PARTS", ",".join(parts)).split(","):
        parts[name]()


if __name__ == "__main__":
    main()
