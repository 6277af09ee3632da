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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

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

SIMILAR_AT_ONCE = 1 << 20
"""Similarities of values that are computed at a time: some 60 MB."""


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
        raise OptionError("agreement is measured between annotators; expected at least two")
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

    Articles with fewer than two values have no pairs.
    """
    from scipy.sparse import coo_array

    values: dict[Value, int] = {}
    units: list[list[int]] = []
    observed = np.zeros(len(articles))
    for row, article in enumerate(articles):
        given = [one[article] for one in annotators if article in one]
        if len(given) < 2:
            units.append([])
            continue
        units.append([values.setdefault(value, len(values)) for value in given])
        unlike = added(1 - _similarity(a, b) for a, b in combinations(given, 2))
        observed[row] = 2 * unlike / (len(given) - 1)
    counts = coo_array(
        (
            np.ones(sum(map(len, units))),
            (
                np.repeat(np.arange(len(units)), [len(unit) for unit in units]),
                np.array([value for unit in units for value in unit], dtype=np.int64),
            ),
        ),
        shape=(len(units), len(values)),
    ).tocsr()
    kinds = _Kinds(list(values))

    def measure(weights: Matrix) -> NDArray[np.float64]:
        drawn = np.ascontiguousarray(np.asarray(weights @ counts).T)
        total = drawn.sum(axis=0)
        expected = total**2
        for some, similar in kinds.similarities():
            expected -= (drawn[some] * (similar @ drawn)).sum(axis=0)
        return 1 - _share((weights @ observed) * (total - 1), expected)

    return measure


def _similarity(a: Value, b: Value) -> float:
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return masi(a, b)
    return float(a == b)


class _Kinds:
    """The distinct values of annotators, and how similar they are.

    Where most sets share an item their similarities are as many as their pairs, so these are made
    again whenever they are needed, some rows at a time.
    """

    def __init__(self, kinds: Sequence[Value]) -> None:
        from scipy.sparse import coo_array

        # A value without items is like itself alone: it is its own item.
        items = [kind if isinstance(kind, frozenset) and kind else (kind,) for kind in kinds]
        self._sizes = np.array([len(one) for one in items], dtype=np.int64)
        number: dict[object, int] = {}
        columns = [number.setdefault(item, len(number)) for one in items for item in one]
        rows = np.repeat(np.arange(len(items)), self._sizes)
        shape = (len(items), len(number))
        self._members = coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
        self._turned = self._members.T.tocsr()

    def similarities(self) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of rows of the matrix of similarities: sparse, unless most are above 0."""
        count = len(self._sizes)
        at_once = max(1, SIMILAR_AT_ONCE // max(1, count))
        for start in range(0, count, at_once):
            some = slice(start, start + at_once)
            product = self._members[some] @ self._turned
            product.sort_indices()  # so that sums are rounded alike whatever the order of a set
            found = product.tocoo()
            shared, a, b = found.data, self._sizes[found.row + start], self._sizes[found.col]
            contained = (shared == a).astype(np.float64) + (shared == b)
            found.data = (1 + contained) / 3 * shared / (a + b - shared)
            many = found.nnz * 10 > found.shape[0] * count
            yield some, found.toarray() if many else found.tocsr()


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
