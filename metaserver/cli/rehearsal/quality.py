"""Answers drawn so that a run's scores lie near given ones.

One number decides how good a list's order is. It is found by halving: the same random draws are
made with it again and again, until the evaluator's own AUC iP/R is the target's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from metaserver.cli.rehearsal.literature import Item, Literature
from metaserver.cli.rehearsal.published import Classified, Listed
from scoring.ranking import Matches, auc_ipr

STEPS = 12
MOST_HITS = 25  # of an article: published runs had hundreds, which cost much and show nothing more
NOISE = 0.4  # the share of articles without gold that get hits all the same


def classify(literature: Literature, target: Classified, seed: str) -> Mapping[str, list[object]]:
    """Draw an ACT answer, [relevant, confidence], for every article."""
    relevant = literature.interactors.keys()
    rng = random.Random(seed)
    noise = {article: rng.gauss(0.0, 1.0) for article in literature.texts}

    def ordered(distance: float) -> list[str]:
        """Return the articles, best first: relevant ones are ahead by the distance."""
        return sorted(noise, key=lambda one: -noise[one] - distance * (one in relevant))

    def score(distance: float) -> float:
        places = [place for place, one in enumerate(ordered(distance), 1) if one in relevant]
        return auc_ipr(Matches(tuple(places), len(noise), len(places))) or 0.0

    order = ordered(_halved(score, target.auc_ipr, 0.0, 5.0))
    others = len(order) - len(relevant)
    called = target.sensitivity * len(relevant) + (1 - target.specificity) * others
    cut = min(max(round(called), 1), len(order) - 1)
    return {
        article: [True, 1 - 0.5 * place / cut]
        if place < cut
        else [False, 0.5 + 0.5 * (place + 1 - cut) / (len(order) - cut)]
        for place, article in enumerate(order)
    }


def rank(
    gold: Mapping[str, Sequence[Item]],
    others: Callable[[random.Random], Item],
    articles: Sequence[str],
    target: Listed,
    seed: str,
) -> Mapping[str, Sequence[Item]]:
    """Draw a list of hits, best first, for every article; `others` draws wrong ones."""
    recall = max(target.recall, min(1.0, 1.1 * target.auc_ipr))

    def places(article: str, sharpness: float) -> Sequence[int]:
        """Return the ranks of the items that are found: the sharper, the nearer to the top."""
        rng = random.Random(f"{seed} {article}")
        ranks, at = [], 0
        for _ in gold[article]:
            found, wrong = rng.random() < recall, rng.expovariate(1.0)
            if found:
                at += 1 + min(int(wrong * (1 - sharpness) / sharpness), MOST_HITS)
                ranks.append(at)
        return ranks

    def score(sharpness: float) -> float:
        each = [
            auc_ipr(Matches(tuple(places(article, sharpness)), MOST_HITS, len(items))) or 0.0
            for article, items in gold.items()
        ]
        return sum(each) / len(each)

    sharpness = _halved(score, target.auc_ipr, 0.01, 1.0)
    lists = {}
    for article in articles:
        rng = random.Random(f"{seed} {article} hits")
        correct = list(gold.get(article, ()))
        rng.shuffle(correct)
        ranks = places(article, sharpness) if correct else ()
        wanted = round(len(ranks) / target.precision) if ranks else rng.randint(1, 8)
        if not ranks and rng.random() > NOISE:
            wanted = 0
        length = max(min(wanted, MOST_HITS), *ranks, 0)
        lists[article] = _merged(correct, frozenset(ranks), length, others, rng)
    return lists


def _merged(
    correct: Sequence[Item],
    ranks: frozenset[int],
    length: int,
    others: Callable[[random.Random], Item],
    rng: random.Random,
) -> Sequence[Item]:
    """Return a list that has correct items at their ranks, and wrong ones elsewhere."""
    hits: dict[Item, None] = {}
    left = iter(correct)
    for place in range(1, length + 1):
        if place in ranks:
            hits[next(left)] = None
            continue
        while (wrong := others(rng)) in hits or wrong in correct:
            pass
        hits[wrong] = None
    return list(hits)


def _halved(score: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return where a rising function reaches the target, or the nearer end."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) < target else (low, middle)
    return (low + high) / 2
