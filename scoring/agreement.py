"""Agreement of annotators: F of pairs, MASI, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Annotators are the authors of gold files of the same task. Every measure is computed from counts an
article, so that one matrix product serves all resamples of the articles (`scoring.resampling`).

- F of two annotators is that of their items pooled, 2|A∩B| / (|A| + |B|): neither is the gold.
- MASI (Passonneau 2006) is Jaccard's index times 1, 2/3, 1/3 or 0: equal sets, one in the other,
  sets that share, sets that share nothing.
- Kappa of two (Cohen 1960) and of several (Fleiss 1971) is defined for ACT alone: INT and IPT have
  no finite list of what an annotator did not choose.
- Alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability") allows for articles that
  some did not annotate. Its distance is nominal for ACT, 1 - MASI for the sets of INT and IPT.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.errors import OptionError
from scoring.gold import ActGold, Gold
from scoring.intervals import LEVEL, Bounds
from scoring.ranking import added
from scoring.resampling import Matrix, resampled
from scoring.tasks import Item

Value: TypeAlias = frozenset[Item] | bool
Annotations: TypeAlias = Mapping[str, Value]
"""One annotator's value of each article: items (INT, IPT) or relevance (ACT)."""
Measure: TypeAlias = Callable[[Matrix], NDArray[np.float64]]
"""Measures agreement on resamples: weights (resamples, articles) in, NaN where undefined."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A measure of agreement with its interval; both None where it is undefined."""

    value: float | None
    bounds: Bounds | None


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """The agreement of two annotators, `articles` that count for both; one estimate a measure."""

    a: str
    b: str
    articles: int
    measures: Mapping[str, Estimate]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The agreement of annotators: of each pair, of all together, and of groups of pairs.

    `groups` has the mean of the pairs' first measure within a group and between groups.
    """

    annotators: Sequence[str]
    articles: int
    pairs: Sequence[PairAgreement]
    overall: Mapping[str, Estimate]
    groups: Mapping[str, Estimate]


def annotations_of(gold: Gold) -> Annotations:
    """Return a gold file as one annotator's annotations."""
    return gold.relevant if isinstance(gold, ActGold) else gold.items


def agree(
    annotators: Mapping[str, Annotations],
    *,
    everywhere: bool = False,
    group_of: Callable[[str], str] | None = None,
    resamples: int = 10_000,
    seed: int = 2009,
) -> Agreement:
    """Measure the agreement of at least two annotators of one task, given by name.

    Two annotators are compared on the articles that both annotated; with `everywhere` on those of
    any annotator, where one who has no items for an article chose none (INT, IPT). With `group_of`,
    a name's group such as a database, agreement is averaged over the pairs within a group, and over
    those between two. `resamples` of 0 leaves the intervals out.
    """
    if len(annotators) < 2:
        raise OptionError("agreement needs at least two annotators")
    articles = sorted({article for one in annotators.values() for article in one})
    if everywhere:
        if any(isinstance(value, bool) for one in annotators.values() for value in one.values()):
            raise OptionError("an ACT article without a class has none; count common articles")
        annotators = {
            name: {article: one.get(article, frozenset()) for article in articles}
            for name, one in annotators.items()
        }
    act = any(isinstance(value, bool) for one in annotators.values() for value in one.values())
    pairs = {
        pair: _pair_measures(annotators[pair[0]], annotators[pair[1]], articles, act=act)
        for pair in combinations(annotators, 2)
    }
    overall = _overall_measures(list(annotators.values()), articles, act=act)
    grouped = _group_measures(pairs, group_of) if group_of else {}
    flat: dict[tuple[object, str], Measure] = {
        (key, name): measure
        for key, measures in [*pairs.items(), ("overall", overall), ("groups", grouped)]
        for name, measure in measures.items()
    }
    found = _estimate(flat, len(articles), resamples, seed)

    def of(key: object) -> dict[str, Estimate]:
        return {name: one for (owner, name), one in found.items() if owner == key}

    return Agreement(
        annotators=list(annotators),
        articles=len(articles),
        pairs=[
            PairAgreement(
                a=a,
                b=b,
                articles=sum(one in annotators[b] for one in annotators[a]),
                measures=of((a, b)),
            )
            for a, b in pairs
        ],
        overall=of("overall"),
        groups=of("groups"),
    )


def masi(a: frozenset[Item], b: frozenset[Item]) -> float:
    """Return the MASI similarity of two sets, in [0, 1]; two empty sets are equal."""
    if a == b:
        return 1.0
    shared = len(a & b)
    if not shared:
        return 0.0
    factor = 2 / 3 if shared in (len(a), len(b)) else 1 / 3
    return factor * shared / len(a | b)


def _estimate(
    measures: Mapping[tuple[object, str], Measure], articles: int, resamples: int, seed: int
) -> dict[tuple[object, str], Estimate]:
    whole = np.ones((1, articles))
    drawn: dict[tuple[object, str], list[NDArray[np.float64]]] = defaultdict(list)
    for weights in resampled(np.random.default_rng(seed), articles, resamples):
        for key, measure in measures.items():
            drawn[key].append(measure(weights))
    found = {}
    for key, measure in measures.items():
        value = float(measure(whole)[0])
        values = np.concatenate(drawn[key]) if drawn[key] else np.empty(0)
        values = values[~np.isnan(values)]
        bounds = None
        if len(values):
            low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
            bounds = Bounds(low, high)
        known = not np.isnan(value)
        found[key] = Estimate(value=value if known else None, bounds=bounds if known else None)
    return found


def _pair_measures(
    a: Annotations, b: Annotations, articles: Sequence[str], *, act: bool
) -> dict[str, Measure]:
    rows = np.zeros((len(articles), 5))
    for row, article in enumerate(articles):
        if article in a and article in b:
            rows[row] = (
                _act_row(a[article], b[article]) if act else _set_row(a[article], b[article])
            )
    if act:
        return {
            "f_score": lambda weights: _f(weights @ rows),
            "accuracy": lambda weights: _share((weights @ rows)[:, 3], (weights @ rows)[:, 4]),
            "cohen_kappa": lambda weights: _cohen(weights @ rows),
        }
    similar = _similarities(a, b, articles)
    return {
        "f_score": lambda weights: _f(weights @ rows),
        "macro_f": lambda weights: _share((weights @ rows)[:, 3], (weights @ rows)[:, 4]),
        "masi": lambda weights: _share(weights @ similar, (weights @ rows)[:, 4]),
    }


def _act_row(a: Value, b: Value) -> tuple[float, ...]:
    """Return both relevant, a's relevant, b's relevant, the same class, and 1."""
    return float(bool(a and b)), float(bool(a)), float(bool(b)), float(a == b), 1.0


def _set_row(a: Value, b: Value) -> tuple[float, ...]:
    """Return shared items, a's items, b's items, the article's F, and 1."""
    assert not isinstance(a, bool)
    assert not isinstance(b, bool)
    total = len(a) + len(b)
    return len(a & b), len(a), len(b), 2 * len(a & b) / total if total else 1.0, 1.0


def _similarities(a: Annotations, b: Annotations, articles: Sequence[str]) -> NDArray[np.float64]:
    found = np.zeros(len(articles))
    for row, article in enumerate(articles):
        one, other = a.get(article), b.get(article)
        if isinstance(one, frozenset) and isinstance(other, frozenset):
            found[row] = masi(one, other)
    return found


def _f(sums: Matrix) -> NDArray[np.float64]:
    return _share(2 * sums[:, 0], sums[:, 1] + sums[:, 2])


def _cohen(sums: Matrix) -> NDArray[np.float64]:
    """Return (agreement - that of chance) / (1 - that of chance); NaN if chance agrees always."""
    total = sums[:, 4]
    first, second = _share(sums[:, 1], total), _share(sums[:, 2], total)
    chance = first * second + (1 - first) * (1 - second)
    return _share(_share(sums[:, 3], total) - chance, 1 - chance)


def _overall_measures(
    annotators: Sequence[Annotations], articles: Sequence[str], *, act: bool
) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    if act:
        measures["fleiss_kappa"] = _fleiss(annotators, articles)
    measures["krippendorff_alpha"] = _alpha(annotators, articles)
    return measures


def _fleiss(annotators: Sequence[Annotations], articles: Sequence[str]) -> Measure:
    """Return Fleiss' kappa on the articles that all annotators classified."""
    number = len(annotators)
    rows = np.zeros((len(articles), 3))  # relevant votes, the share of agreeing pairs, 1
    for row, article in enumerate(articles):
        votes = [bool(one[article]) for one in annotators if article in one]
        if len(votes) == number:
            yes = sum(votes)
            agreeing = yes * (yes - 1) + (number - yes) * (number - yes - 1)
            rows[row] = yes, agreeing / (number * (number - 1)), 1

    def measure(weights: Matrix) -> NDArray[np.float64]:
        sums = weights @ rows
        share = _share(sums[:, 0], number * sums[:, 2])
        chance = share**2 + (1 - share) ** 2
        return _share(_share(sums[:, 1], sums[:, 2]) - chance, 1 - chance)

    return measure


def _alpha(annotators: Sequence[Annotations], articles: Sequence[str]) -> Measure:
    """Return Krippendorff's alpha, 1 - observed / expected disagreement of pairs of values.

    Articles with fewer than two values have no pairs. Most sets share no item, so the similarities
    of all distinct values are a sparse matrix.
    """
    from scipy.sparse import coo_array

    values: dict[Value, int] = {}
    units = []
    for article in articles:
        given = [one[article] for one in annotators if article in one]
        units.append(
            [values.setdefault(value, len(values)) for value in given] if len(given) > 1 else []
        )
    kinds = list(values)
    similar = _similar_kinds(kinds)
    counts = coo_array(
        (
            np.ones(sum(map(len, units))),
            (
                np.repeat(np.arange(len(units)), [len(unit) for unit in units]),
                np.array([value for unit in units for value in unit], dtype=np.int64),
            ),
        ),
        shape=(len(units), len(kinds)),
    ).tocsr()
    observed = np.zeros(len(units))
    for row, unit in enumerate(units):
        pairs = [1 - similar.get((a, b), 0.0) for a in unit for b in unit]
        observed[row] = added(pairs) / (len(unit) - 1) if unit else 0.0
    left, right = (np.array([key[side] for key in similar], dtype=np.int64) for side in (0, 1))
    shape = (len(kinds), len(kinds))
    matrix = coo_array((np.array(list(similar.values())), (left, right)), shape=shape).tocsr()

    def measure(weights: Matrix) -> NDArray[np.float64]:
        drawn = np.asarray(weights @ counts)
        total = drawn.sum(axis=1)
        expected = total**2 - (drawn * np.asarray(drawn @ matrix)).sum(axis=1)
        return 1 - _share((weights @ observed) * (total - 1), expected)

    return measure


def _similar_kinds(kinds: Sequence[Value]) -> dict[tuple[int, int], float]:
    """Return the similarity of every two values that have any, each with itself included."""
    similar = {(place, place): 1.0 for place in range(len(kinds))}
    by_item: defaultdict[Item, list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        for item in kind if isinstance(kind, frozenset) else ():
            by_item[item].append(place)
    for places in by_item.values():
        for a, b in combinations(places, 2):
            if (a, b) not in similar:
                one, other = kinds[a], kinds[b]
                assert isinstance(one, frozenset)
                assert isinstance(other, frozenset)
                similar[a, b] = similar[b, a] = masi(one, other)
    return similar


def _group_measures(
    pairs: Mapping[tuple[str, str], Mapping[str, Measure]], group_of: Callable[[str], str]
) -> dict[str, Measure]:
    kinds: dict[str, list[Measure]] = {}
    for (a, b), measures in pairs.items():
        first = next(iter(measures.values()))
        groups = sorted({group_of(a), group_of(b)})
        names = (
            [f"within {groups[0]}", "within a group"]
            if len(groups) == 1
            else [f"{groups[0]} and {groups[1]}", "between groups"]
        )
        for name in names:
            kinds.setdefault(name, []).append(first)
    return {name: _mean_of(measures) for name, measures in kinds.items()}


def _mean_of(measures: Sequence[Measure]) -> Measure:
    def measure(weights: Matrix) -> NDArray[np.float64]:
        values = np.array([one(weights) for one in measures])
        known = ~np.isnan(values)
        return _share(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(float))

    return measure


def _share(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts / wholes, NaN where the whole is 0."""
    out: NDArray[np.float64] = np.full(np.broadcast(parts, wholes).shape, np.nan)
    np.divide(parts, wholes, out=out, where=np.abs(wholes) > 1e-12)
    return out
