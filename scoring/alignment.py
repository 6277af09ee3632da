"""Spans of text, where they overlap, and the best one-to-one pairing of two sets of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Span: TypeAlias = tuple[tuple[int, int], ...]
"""Half-open fragments (start, end) in characters: sorted, apart, none empty (see `span`)."""
Indices: TypeAlias = NDArray[np.int64]
Weights: TypeAlias = NDArray[np.float64]
_Fragments: TypeAlias = tuple[Indices, Indices, Indices]

_DIGITS = 50  # of a float's 53: the solver's sums are below 4 times the largest weight, 2^51
_PAIR_BONUS = 1e-9  # among pairings of equal weight (to 1e-9 a pair) the one with most pairs


class Overlaps(NamedTuple):
    """Every pair of a left and a right span that share characters: three arrays of one length.

    `jaccard` is shared over all characters of the two, in ]0, 1]: 1 where they are the same.
    """

    left: Indices
    right: Indices
    jaccard: Weights


def span(fragments: Iterable[tuple[int, int]]) -> Span:
    """Return fragments as a `Span`: two spans are equal where they cover the same characters.

    Raises `ValueError` for a fragment that is empty, reversed or negative.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(fragments):
        if not 0 <= start < end:
            raise ValueError(f"fragment {start}-{end} is empty or reversed")
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def length(fragments: Span) -> int:
    """Return the number of characters of a span."""
    return sum(end - start for start, end in fragments)


def overlaps(left: Sequence[tuple[str, Span]], right: Sequence[tuple[str, Span]]) -> Overlaps:
    """Return the pairs of spans of the same place (an article, a sentence) that share characters.

    A sweep over sorted fragments: time and memory follow the number of spans and of pairs.
    """
    (a_owner, a_start, a_end), (b_owner, b_start, b_end) = _laid_out(left, right)
    first, count = _sweep(a_start, a_end, b_start, b_end)
    a = np.repeat(np.arange(len(a_start)), count)
    b = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - first, count)
    shared = np.minimum(a_end[a], b_end[b]) - np.maximum(a_start[a], b_start[b])
    kept = shared > 0
    i, j, both = _summed(a_owner[a[kept]], b_owner[b[kept]], shared[kept], len(right))
    sizes, others = (
        np.array([length(one) for _, one in side], dtype=int) for side in (left, right)
    )
    return Overlaps(i, j, both / (sizes[i] + others[j] - both))


def most_own_overlaps(spans: Sequence[tuple[str, Span]]) -> int:
    """Return how many pairs of fragments `overlaps` of spans with themselves would look at.

    It takes no memory for them. Where it is S, no more than √(2 S) fragments lie around a place, so
    that S bounds the work with any other spans too: it is √(2 S) for each of their fragments, and
    their own depth for each of these.
    """
    (_, start, end), _ = _laid_out(spans, ())
    return int(_sweep(start, end, start, end)[1].sum())


def _sweep(
    a_start: Indices, a_end: Indices, b_start: Indices, b_end: Indices
) -> tuple[Indices, Indices]:
    """Return, for each fragment of a, the first of b that may overlap it, and how many may.

    Both are sorted by start; `reach` is how far any fragment up to here goes, so it is sorted too.
    """
    reach = np.maximum.accumulate(b_end) if len(b_end) else b_end
    first = np.searchsorted(reach, a_start, side="right")
    return first, np.maximum(np.searchsorted(b_start, a_end, side="left") - first, 0)


def _laid_out(
    left: Sequence[tuple[str, Span]], right: Sequence[tuple[str, Span]]
) -> tuple[_Fragments, _Fragments]:
    places = {place: number for number, place in enumerate({place for place, _ in left})}
    stride = 1 + max((span[-1][1] for _, span in (*left, *right) if span), default=0)
    return _fragments(left, places, stride), _fragments(right, places, stride)


def _fragments(
    located: Sequence[tuple[str, Span]], places: dict[str, int], stride: int
) -> _Fragments:
    """Return owner, start and end of every fragment, all places laid out on one line."""
    rows = [
        (owner, places[place] * stride + start, places[place] * stride + end)
        for owner, (place, fragments) in enumerate(located)
        if place in places
        for start, end in fragments
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    owner, start, end = table[np.argsort(table[:, 1], kind="stable")].T
    return owner, start, end


def _summed(
    left: Indices, right: Indices, shared: Indices, width: int
) -> tuple[Indices, Indices, Indices]:
    """Add up what several fragments of the same two spans share."""
    keys, place = np.unique(left * width + right, return_inverse=True)
    characters = np.zeros(len(keys), dtype=np.int64)
    np.add.at(characters, place, shared)
    return keys // max(width, 1), keys % max(width, 1), characters


def best_pairing(left: Indices, right: Indices, weights: Weights) -> Indices:
    """Return the candidates of the one-to-one pairing with the largest sum of weights.

    Candidate k pairs item `left[k]` with item `right[k]` and is worth `weights[k]` > 0; no
    candidate comes twice. Among equal sums the pairing with most pairs is chosen. The result
    indexes the candidates, ascending.
    """
    return _sole_or_assigned(left, right, lambda at: weights[at] + _PAIR_BONUS)


def lexical_pairing(
    left: Indices, right: Indices, levels: Sequence[NDArray[np.bool_]], shares: Weights
) -> Indices:
    """Return the candidates of the one-to-one pairing that is best by several counts in order.

    It has as many candidates of the first level as possible, of such pairings as many of the second
    and so on, and of these the largest sum of `shares`, in [0, 1]. Every candidate is of some
    level. Candidates and result are as those of `best_pairing`.

    The counts are exact for up to 100,000 items on each side that hang together through
    candidates; shares count to as many binary digits as are left (40 for 10 items, 20 for 1,000).
    """

    def weights(at: Indices) -> Weights:
        base = _most_pairs(left[at], right[at]) + 1
        digits = np.exp2(np.maximum(0, np.floor(_DIGITS - len(levels) * np.log2(base))))
        worth = np.zeros(len(at))
        for level in levels:
            worth = worth * base + level[at]
        # Integers, so that the solver's sums are exact: a level outweighs all below it together.
        exact: Weights = worth * base * digits + np.floor(shares[at] * digits)
        return exact

    return _sole_or_assigned(left, right, weights)


def _most_pairs(left: Indices, right: Indices) -> Weights:
    """Return, for each candidate, the most pairs among the items that hang together with its own.

    This is the number of these items on the side that has fewer.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1
    size = rows + columns
    graph: Any = coo_array((np.ones(len(left)), (left, rows + right)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    lefts, rights = (np.bincount(side, minlength=count) for side in (label[:rows], label[rows:]))
    fewest: Weights = np.minimum(lefts, rights)[label[left]].astype(np.float64)
    return fewest


def _sole_or_assigned(
    left: Indices, right: Indices, weights: Callable[[Indices], Weights]
) -> Indices:
    """Return the candidates that compete with no other, and the best of those that do.

    `weights` returns what the candidates at some places are worth.
    """
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    contested = np.flatnonzero(~alone)
    if not len(contested):  # most commands pair nothing: SciPy is half of their start
        return np.flatnonzero(alone)
    chosen = _assigned(left[contested], right[contested], weights(contested))
    return np.sort(np.concatenate([np.flatnonzero(alone), contested[chosen]]))


def _assigned(left: Indices, right: Indices, weights: Weights) -> NDArray[np.bool_]:
    """Return which candidates an exact assignment takes.

    The sparse solver (LAPJVsp, Jonker & Volgenant 1987, doi:10.1007/BF02278710) needs no matrix of
    all pairs, so no text is too long. It requires every left item paired and no weight 0: each left
    item may also take a partner of its own, and every weight is 1 more, which changes nothing.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    left, right = (np.unique(items, return_inverse=True)[1] for items in (left, right))
    rows, columns = int(left.max()) + 1, int(right.max()) + 1
    own = np.arange(rows)
    graph: Any = coo_array(
        (
            np.concatenate([weights + 1, np.ones(rows)]),
            (np.concatenate([left, own]), np.concatenate([right, columns + own])),
        ),
        shape=(rows, columns + rows),
    ).tocsr()
    partner = np.empty(rows, dtype=np.int64)
    paired_left, paired_right = min_weight_full_bipartite_matching(graph, maximize=True)
    partner[paired_left] = paired_right
    taken: NDArray[np.bool_] = partner[left] == right
    return taken
