"""Durations in a histogram: percentiles near the true ones, merging, bytes, the chart's bars."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.boards.histogram import ACCURACY, BARS_A_DECADE, LONGEST, UNIT, TimeHistogram

TIMES = st.lists(st.floats(0.0, 1e4), min_size=1, max_size=50)
BAR = 10 ** (1 / BARS_A_DECADE)


def counted(times: list[float]) -> TimeHistogram:
    histogram = TimeHistogram()
    for seconds in times:
        histogram.add(seconds)
    return histogram


def test_nothing_counted_has_no_percentile_and_no_picture() -> None:
    assert TimeHistogram().percentile(50) is None
    assert TimeHistogram().shape(600.0) == ((), ())


@given(times=TIMES, percent=st.sampled_from([0, 1, 50, 95, 99, 100]))
def test_a_percentile_is_as_near_to_the_true_one_as_stated(times, percent):
    true = sorted(times)[max(0, math.ceil(len(times) * percent / 100) - 1)]
    found = counted(times).percentile(percent)
    assert abs(found - max(true, UNIT)) <= max(true * ACCURACY, UNIT / 2) * (1 + 1e-9)


@pytest.mark.parametrize(("seconds", "same"), [(0.0, UNIT), (1e9, LONGEST)])
def test_durations_out_of_range_count_as_its_ends(seconds: float, same: float) -> None:
    assert counted([seconds]).percentile(50) == counted([same]).percentile(50)


@given(times=TIMES | st.just([]))
def test_bytes_bring_the_histogram_back(times: list[float]) -> None:
    histogram = counted(times)
    back = TimeHistogram.from_bytes(histogram.to_bytes())
    assert back.total == len(times)
    assert back.to_bytes() == histogram.to_bytes()
    back.add_bytes(histogram.to_bytes())
    assert back.total == 2 * len(times)


@given(one=TIMES, other=TIMES)
def test_merged_histograms_are_the_histogram_of_all(one: list[float], other: list[float]) -> None:
    merged = counted(one)
    merged.merge(counted(other))
    both = counted(one + other)
    assert merged.total == both.total == len(one) + len(other)
    assert [merged.percentile(p) for p in range(101)] == [both.percentile(p) for p in range(101)]


@given(times=TIMES, longest=st.floats(1e-5, 1e5), bars=st.integers(1, 60))
def test_every_time_is_in_one_bar_of_rising_edges(times, longest, bars):
    edges, counts = counted(times).shape(longest, bars)
    assert len(counts) == bars == len(edges) - 1
    assert sum(counts) == len(times)
    assert list(edges) == sorted(set(edges))
    steps = [right / left for left, right in pairwise(edges)]
    assert max(steps) == pytest.approx(min(steps))
    assert edges[-1] == pytest.approx(longest)
    assert edges[0] <= max(min(times), UNIT) * BAR + UNIT


@pytest.mark.parametrize("seconds", [600.0, 601.0, 5000.0])
def test_durations_at_the_limit_are_in_the_last_bar(seconds: float) -> None:
    _, counts = counted([1.0, seconds]).shape(600.0)
    assert counts[-1] == 1
