import re
from xml.etree import ElementTree

import pytest

from metaserver.web import charts
from metaserver.web.charts import Axis, Curve, Point


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        ([0.03, 0.43], 0, 0.5, 0.1),
        ([0.387], 0, 0.4, 0.1),
        ([0.95], 0, 1, 0.2),
        ([-0.2, 0.9], -0.2, 1, 0.2),
        ([0.0], 0, 1, 0.2),
        ([1e-5], 0, 1e-5, 2e-6),
    ],
)
def test_axis_holds_zero_and_all_values_in_round_steps(values, low, high, step):
    axis = Axis.over("F", values)
    assert (axis.low, axis.high, axis.step) == pytest.approx((low, high, step))
    assert len(axis.ticks()) <= 8


def test_sparkline_is_broken_where_there_was_no_answer():
    drawn = charts.sparkline([1.0, 2.0, None, 2.0, None, 1.0, 1.0], width=60, height=20)
    line = re.search(r'class="line" d="([^"]+)"', drawn).group(1)
    assert line == "M0 10L10 2M30 2h.1M50 10L60 10"


@pytest.mark.parametrize("values", [[], [None, None]])
def test_sparkline_without_values_is_empty(values):
    assert "<path" not in charts.sparkline(values)


def test_strip_puts_the_newest_at_the_right_and_tells_kinds_apart_by_height():
    drawn = charts.strip(["ok", "bad", "partial"], "three attempts")
    assert '<path class="ok" d="M182 5V16">' in drawn
    assert '<path class="bad" d="M186 0V21">' in drawn
    assert '<path class="partial" d="M190 3V18">' in drawn
    assert 'aria-label="three attempts"' in drawn


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
    assert [float(height) for _, height in columns] == [31.5, 126]
    assert all(float(y) + float(height) == 170 for y, height in columns)


def test_histogram_labels_that_would_overlap_take_rows_of_their_own():
    drawn = charts.histogram([1, 10], [1], [("p50", 5), ("p95", 5.1), ("p99", 5.2)], [], "")
    rows = re.findall(r'<text class="tick"[^>]* y="([\d.]+)"', drawn)
    assert rows == ["12", "26", "40"]


def test_scatter_names_the_series_and_escapes_them():
    points = [
        Point(name="<b>bold</b>", x=0.2, y=0.3, series=0),
        Point(name="other", x=0.1, y=0.1, series=None),
    ]
    drawn = charts.scatter(points, Axis.over("F", [0.2]), Axis.over("AUC", [0.3]), "F and AUC")
    texts = [element.text for element in ElementTree.fromstring(drawn).iter("text")]
    assert "<b>bold</b>" in texts
    assert "other" not in texts
    assert "<b>" not in drawn


def test_names_in_a_scatter_never_overlap():
    points = [Point(name=f"run {i}", x=0.5, y=0.5, series=i) for i in range(charts.SERIES)]
    drawn = charts.scatter(points, Axis.over("F", [1]), Axis.over("AUC", [1]), "")
    names = re.findall(r'class="name" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"', drawn)
    assert 1 <= len(names) == len(set(names)) <= 6


def test_each_precision_holds_up_to_its_recall():
    curve = Curve(name="A", steps=[(0.25, 1.0), (0.5, 0.5)], series=0)
    drawn = charts.step_curves([curve], "curves")
    width, height = 560 - 54 - 12, 380 - 12 - 50
    x = [54, 54 + width / 4, 54 + width / 2]
    y = [12, 12 + height / 2, 12 + height]
    numbers = [float(n) for n in re.findall(r"[\d.]+", re.search(r'd="(M[^"]+)"', drawn).group(1))]
    assert numbers == pytest.approx([x[0], y[0], y[0], x[1], y[1], x[2], y[2]], abs=0.1)
