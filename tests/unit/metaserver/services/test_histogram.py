"""Response times in bins: percentiles near the true ones, merging, the picture's bars."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.services.histogram import BINS_A_DECADE, SHORTEST, TimeHistogram

TIMES = st.lists(st.floats(SHORTEST, 1e4), min_size=1, max_size=50)
HALF_A_BIN = 10 ** (0.5 / BINS_A_DECADE)


def counted(times: list[float]) -> TimeHistogram:
    histogram = TimeHistogram()
    for seconds in times:
        histogram.add(seconds)
    return histogram


def test_nothing_counted_has_no_percentile_and_no_picture() -> None:
    assert TimeHistogram().percentile(50) is None
    assert TimeHistogram().shape(600.0) == ((), ())


@given(times=TIMES, percent=st.sampled_from([0, 1, 50, 95, 99, 100]))
def test_a_percentile_is_within_half_a_bin_of_the_true_one(
    times: list[float], percent: float
) -> None:
    true = sorted(times)[max(0, math.ceil(len(times) * percent / 100) - 1)]
    found = counted(times).percentile(percent)
    assert found is not None
    assert true / HALF_A_BIN * (1 - 1e-9) <= found <= true * HALF_A_BIN * (1 + 1e-9)


def test_what_is_shorter_than_the_shortest_is_counted_with_it() -> None:
    assert counted([0.0]).percentile(50) == counted([SHORTEST]).percentile(50)


@given(one=TIMES, other=TIMES)
def test_merged_histograms_are_the_histogram_of_all(one: list[float], other: list[float]) -> None:
    merged = counted(one)
    merged.merge(counted(other))
    both = counted(one + other)
    assert merged.total == both.total == len(one) + len(other)
    assert [merged.percentile(p) for p in range(101)] == [both.percentile(p) for p in range(101)]


@given(times=TIMES, longest=st.floats(1e-5, 1e5), bars=st.integers(1, 60))
def test_every_time_is_in_one_bar_of_rising_edges(
    times: list[float], longest: float, bars: int
) -> None:
    edges, counts = counted(times).shape(longest, bars)
    assert len(counts) == bars == len(edges) - 1
    assert sum(counts) == len(times)
    assert list(edges) == sorted(set(edges))
    steps = [right / left for left, right in pairwise(edges)]
    assert max(steps) == pytest.approx(min(steps))
    bin_width = HALF_A_BIN**2
    assert edges[0] <= max(min(times), SHORTEST) * bin_width
    assert edges[-1] <= max(longest, SHORTEST) * bin_width


@pytest.mark.parametrize("seconds", [600.0, 601.0, 5000.0])
def test_what_reaches_the_limit_is_in_the_last_bar(seconds: float) -> None:
    _, counts = counted([1.0, seconds]).shape(600.0)
    assert counts[-1] == 1
