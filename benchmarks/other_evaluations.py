"""The other evaluations: speed beside nervaluate and a dense assignment."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import sized
from scoring.alignment import best_pairing, overlaps, span
from scoring.semeval_ner import TYPES, Criterion, MentionSpan, evaluate

MENTIONS = sized(10_000, 200)
Result = TypeVar("Result")


def timed(name: str, call: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = call()
    print(f"{name:58} {time.perf_counter() - start:8.3f} s")
    return result


def some_mentions(count: int, seed: int, *, articles: int, gap: int) -> list[MentionSpan]:
    """Return names of 3 to 12 characters without overlaps, each 0 to 2 characters displaced."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        start = number // articles * gap + chance.randint(0, 2)
        fragments = ((start, start + chance.randint(3, 12)),)
        found.append(MentionSpan(f"a{number % articles}", fragments, chance.choice(TYPES)))
    return found


def with_nervaluate(gold: list[MentionSpan], run: list[MentionSpan]) -> dict[str, Any]:
    from nervaluate import Evaluator

    places = sorted({mention.place for mention in (*gold, *run)})
    sides: list[list[list[dict[str, Any]]]] = []
    for mentions in (gold, run):
        by_place: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for place, ((start, end),), kind in mentions:
            by_place[place].append({"start": start, "end": end - 1, "label": kind})
        sides.append([by_place[place] for place in places])
    result: dict[str, Any] = Evaluator(*sides, tags=list(TYPES), loader="dict").evaluate()
    return result


def compare_counts(gold: list[MentionSpan], run: list[MentionSpan], ours: Any, theirs: Any) -> None:
    names = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}
    for criterion, name in names.items():
        one, other = ours.micro[Criterion(criterion)], theirs["overall"][name]
        assert (one.cor, one.inc, one.par) == (other.correct, other.incorrect, other.partial)
        assert (one.mis, one.spu) == (other.missed, other.spurious)
    print(f"the same counts by all four criteria, {len(gold):,} x {len(run):,} mentions")


def main() -> None:
    for articles in (500, 10):
        score_names(articles)
    for extent in (1_000_000, 100_000, 20_000):
        pair_one_text(extent)


def score_names(articles: int) -> None:
    gold = some_mentions(MENTIONS, 1, articles=articles, gap=20)
    run = some_mentions(MENTIONS, 2, articles=articles, gap=20)
    name = f"names, {MENTIONS:,} x {MENTIONS:,} in {articles} articles: scoring"
    ours = timed(name, lambda: evaluate(gold, run))
    theirs = timed("    the same: nervaluate", lambda: with_nervaluate(gold, run))
    compare_counts(gold, run, ours, theirs)


def pair_one_text(extent: int) -> None:
    """Pair `MENTIONS` spans with as many in one text, the more crowded the shorter the text."""
    chance = np.random.default_rng(extent)
    sides = []
    for _ in range(2):
        starts = chance.integers(0, extent, MENTIONS).tolist()
        sizes = chance.integers(1, 20, MENTIONS).tolist()
        sides.append([("a", span([(s, s + n)])) for s, n in zip(starts, sizes, strict=True)])

    def sparse() -> tuple[float, int]:
        left, right, weights = overlaps(*sides)
        chosen = best_pairing(left, right, weights)
        return float(weights[chosen].sum()), len(chosen)

    def dense() -> tuple[float, int]:
        left, right, weights = overlaps(*sides)
        matrix = np.zeros((MENTIONS, MENTIONS))
        matrix[left, right] = weights + 1e-9
        kept = matrix[linear_sum_assignment(matrix, maximize=True)]
        return float(kept.sum() - 1e-9 * np.count_nonzero(kept)), int(np.count_nonzero(kept))

    found = timed(f"spans, {MENTIONS:,} x {MENTIONS:,} in {extent:,} characters: scoring", sparse)
    expected = timed("    the same: dense linear_sum_assignment", dense)
    assert abs(found[0] - expected[0]) < 1e-6
    assert found[1] == expected[1]
    print(f"the same optimum: {found[1]:,} pairs, sum of Jaccard {found[0]:.3f}")


if __name__ == "__main__":
    main()
