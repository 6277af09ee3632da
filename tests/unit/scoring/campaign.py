"""A synthetic campaign: systems that each see part of the truth, with independent errors."""

import numpy as np

from scoring import Hit, ItemGold, Run
from scoring.tasks import Task


def campaign(*, systems=6, articles=60, seed=5, first=0):
    """Return gold of 1 to 5 items an article and runs of 40 hits each, one a system.

    A system's score of an item is the item's truth, seen through the system's own noise and its own
    bias for items (the same in all its articles); `first` numbers the first article.
    """
    rng = np.random.default_rng(seed)
    biases = np.random.default_rng(99).normal(0, 1.0, (systems, 300))
    gold: dict[str, frozenset[str]] = {}
    answers: list[dict[str, list[Hit]]] = [{} for _ in range(systems)]
    for number in range(first, first + articles):
        article, pool = f"article{number}", rng.choice(300, 80, replace=False)
        truth = np.zeros(80)
        truth[: rng.integers(1, 6)] = 1
        gold[article] = frozenset(f"P{item}" for item in pool[truth == 1])
        for system in range(systems):
            quality = 1.4 + 0.1 * system
            scores = truth * quality + biases[system, pool] * 0.3 + rng.normal(0, 1.0, 80)
            best = np.argsort(-scores)[:40]
            confidence = 1 / (1 + np.exp(1 - scores[best]))
            answers[system][article] = [
                Hit(f"P{pool[item]}", rank, float(confidence[rank - 1]))
                for rank, item in enumerate(best, start=1)
            ]
    runs = [
        Run(task=Task.INT, name=f"T{system // 2}_R{system}", answers=answers[system])
        for system in range(systems)
    ]
    return ItemGold(task=Task.INT, items=gold), runs
