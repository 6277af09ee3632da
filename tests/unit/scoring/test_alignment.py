"""Spans, their overlaps, and pairings against a dense assignment."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.alignment import Span, best_pairing, length, lexical_pairing, overlaps, span

_FRAGMENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda one: (one[0], one[0] + one[1])),
    min_size=1,
    max_size=3,
)
_LOCATED = st.lists(st.tuples(st.sampled_from("ab"), _FRAGMENTS.map(span)), max_size=12)


def _characters(fragments: Span) -> set[int]:
    return {place for start, end in fragments for place in range(start, end)}


@given(fragments=_FRAGMENTS)
def test_a_span_is_the_set_of_its_characters(fragments: list[tuple[int, int]]) -> None:
    found = span(reversed(fragments))
    assert found == span(fragments)
    assert _characters(found) == _characters(tuple(fragments))
    assert length(found) == len(_characters(found))
    assert all(one[1] < other[0] for one, other in pairwise(found))


@pytest.mark.parametrize("fragment", [(3, 3), (4, 3), (-1, 2)])
def test_an_impossible_fragment_is_refused(fragment: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="empty or reversed"):
        span([fragment])


@given(left=_LOCATED, right=_LOCATED)
def test_overlaps_are_those_of_the_character_sets(left, right):
    expected = {
        (i, j): len(_characters(one) & _characters(other))
        / len(_characters(one) | _characters(other))
        for i, (place, one) in enumerate(left)
        for j, (other_place, other) in enumerate(right)
        if place == other_place and _characters(one) & _characters(other)
    }
    found = overlaps(left, right)
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    assert dict(zip(pairs, found.jaccard.tolist(), strict=True)) == expected


@given(data=st.data(), rows=st.integers(1, 7), columns=st.integers(1, 7))
def test_the_pairing_is_optimal_and_has_most_pairs(data, rows, columns):
    from scipy.optimize import linear_sum_assignment

    steps = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])  # few values, so that sums tie
    row = st.lists(steps, min_size=columns, max_size=columns)
    matrix = np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    left, right = np.nonzero(matrix)
    chosen = best_pairing(left, right, matrix[left, right])
    assert len(set(left[chosen])) == len(set(right[chosen])) == len(chosen)
    best = matrix[linear_sum_assignment(matrix, maximize=True)].sum()
    assert matrix[left[chosen], right[chosen]].sum() == pytest.approx(best)
    counted = np.where(matrix > 0, matrix + 1e-6, 0)
    most = np.count_nonzero(counted[linear_sum_assignment(counted, maximize=True)])
    assert len(chosen) == most


def test_one_more_of_a_level_outweighs_thousands_of_those_below() -> None:
    edges = np.arange(6_001)  # a path; every other edge, from the first on, is the largest pairing
    left, right = (edges + 1) // 2, edges // 2
    first, odd = np.ones(len(edges), dtype=bool), edges % 2 == 1
    chosen = lexical_pairing(left, right, (first, odd), np.where(odd, 1.0, 0.001))
    assert chosen.tolist() == edges[::2].tolist()
