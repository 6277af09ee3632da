"""Errors and power of `scoring compare` on simulated runs.

`python -m benchmarks significance`; CAMPAIGNS=1000 makes the first table finer. A campaign is a
matrix of scores: 1/rank of the one correct item of each article, 0 from rank 10 on. Runs share the
difficulty of the articles and have an ability each. *Size* is the share of campaigns in which any
two runs of equal ability differ significantly at 0.05; *power* the share of pairs of unequal runs
that do. Holm's correction of the same p-values is printed beside step-down maxT.
"""

import os
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.sign_flips import PairTests, sign_flip_tests

ALPHA = 0.05
FLIPS, FEW_FLIPS = 10_000, 999
SIZES = ((3, 10), (6, 40), (20, 100), (134, 595))  # runs, articles
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


def print_power() -> None:
    rng = np.random.default_rng(2009)
    abilities = np.linspace(-1, 1, 134)
    values = campaign(rng, 595, abilities)
    start = time.perf_counter()
    tests = tested(values, rng, FLIPS)
    took = time.perf_counter() - start
    max_t, by_holm = found(tests)
    p = np.array([test.p for test in tests.pairs])
    means = campaign(np.random.default_rng(1), 100_000, abilities).mean(axis=0)
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


def main() -> None:
    print_sizes(int(os.environ.get("CAMPAIGNS", "100")))
    print_power()


if __name__ == "__main__":
    main()
