"""The mean curve of several lists, against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.averages import macro_curve
from scoring.match_lists import MatchLists
from scoring.ranking import Curve, Matches


@st.composite
def ranked_lists(draw: st.DrawFn) -> Matches:
    hits = draw(st.integers(0, 12))
    ranks = draw(st.sets(st.integers(1, hits))) if hits else set()
    return Matches(tuple(sorted(ranks)), hits, len(ranks) + draw(st.integers(0, 3)))


def mean_curve(lists: list[Matches]) -> Curve:
    gold = np.array([matches.gold for matches in lists], dtype=np.int64)
    return macro_curve(MatchLists.of(enumerate(lists)), gold)


def height(matches: Matches, recall: float) -> float:
    """Return the best precision of a list at any rank that reaches the recall."""
    return max(
        (
            found / rank
            for found, rank in enumerate(matches.ranks, 1)
            if found / matches.gold >= recall
        ),
        default=0.0,
    )


@given(st.lists(ranked_lists(), max_size=6))
def test_the_mean_curve_has_the_mean_height_at_each_of_its_steps(lists: list[Matches]) -> None:
    curve = mean_curve(lists)
    counted = [matches for matches in lists if matches.gold]
    recalls = [recall for recall, _ in curve]
    heights = [precision for _, precision in curve]
    assert recalls == sorted(set(recalls))
    assert heights == sorted(heights, reverse=True)
    for recall, precision in curve:
        mean = sum(height(matches, recall) for matches in counted) / len(counted)
        assert precision == pytest.approx(mean, abs=1e-12)


@given(st.lists(ranked_lists(), max_size=6))
def test_the_mean_curve_ends_where_no_list_has_more(lists: list[Matches]) -> None:
    reached = [len(matches.ranks) / matches.gold for matches in lists if matches.ranks]
    assert [recall for recall, _ in mean_curve(lists)][-1:] == ([max(reached)] if reached else [])
