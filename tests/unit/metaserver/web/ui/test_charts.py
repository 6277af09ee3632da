import re

import pytest

from metaserver.web.ui import charts


def test_sparkline_is_broken_where_there_was_no_answer():
    paths = charts.spark_paths([1.0, 2.0, None, 2.0, None, 1.0, 1.0])
    assert paths["line"] == "M0 50l78 -44M235 6h1M392 50l78 0"
    assert paths["area"] == "M0 100V50l78 -44V100zM235 100V6h1V100zM392 100V50l78 0V100z"
    found = f'class="line" d="{paths["line"]}"'
    assert found in charts.sparkline([1.0, 2.0, None, 2.0, None, 1.0, 1.0])


@pytest.mark.parametrize("values", [[], [None, None]])
def test_sparkline_without_values_is_empty(values):
    assert "<path" not in charts.sparkline(values)


def test_strip_puts_the_newest_at_the_right():
    drawn = charts.strip(["ok", "bad", "partial"], "three attempts")
    assert '<path class="ok" d="M180.5 10.5h3">' in drawn
    assert '<path class="bad" d="M184.5 10.5h3">' in drawn
    assert '<path class="partial" d="M188.5 10.5h3">' in drawn
    assert 'aria-label="three attempts"' in drawn


def test_marks_of_one_kind_that_follow_one_another_are_one_dashed_line():
    paths = charts.strip_paths(["bad", "ok", "ok", "ok"])
    assert paths == {"ok": "M180.5 10.5h11", "partial": "", "bad": "M176.5 10.5h3"}


def test_strip_keeps_the_newest_marks():
    drawn = charts.strip(["bad"] + ["ok"] * charts.SLOTS, "")
    assert "bad" not in drawn


@pytest.mark.parametrize(("share", "width"), [(0.5, "42"), (2.0, "84"), (0.001, "3")])
def test_bar_is_filled_to_its_share(share, width):
    assert f'class="fill" x="0" y="0" width="{width}"' in charts.bar(share)


def test_an_empty_bar_has_no_fill():
    assert "fill" not in charts.bar(0)


def test_histogram_columns_are_as_tall_as_their_counts():
    drawn = charts.histogram([1, 10, 100, 1000], [1, 0, 4], [("p50", 10)], [("1 s", 1)], "times")
    columns = re.findall(r'class="column".*? y="([\d.]+)".*? height="([\d.]+)"', drawn)
    assert [float(height) for _, height in columns] == [24, 96]
    assert all(float(y) + float(height) == 136 for y, height in columns)


def test_histogram_has_a_line_and_a_label_for_each_percentile():
    lines = [("p50", 5), ("p95", 5.1), ("p99", 5.2)]
    drawn = charts.histogram([1, 10], [1], lines, [], "")
    assert drawn.count('class="mark"') == 3
    assert set(re.findall(r'<text class="tick"[^>]*>(\w+)<', drawn)) == {"p50", "p95", "p99"}
