import re
from xml.etree import ElementTree

import pytest

from metaserver.web.ui import charts
from metaserver.web.ui.charts import Axis, Curve, Point


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        ([0.03, 0.43], 0, 0.5, 0.1),
        ([0.387], 0, 0.4, 0.1),
        ([0.95], 0, 1, 0.2),
        ([-0.2, 0.9], -0.2, 1, 0.2),
        ([0.0], 0, 1, 0.2),
        ([], 0, 1, 0.2),
        ([1e-5], 0, 1e-5, 2e-6),
    ],
)
def test_axis_holds_zero_and_all_values_in_round_steps(values, low, high, step):
    axis = Axis.over("F", values)
    assert (axis.low, axis.high, axis.step) == pytest.approx((low, high, step))
    assert len(axis.ticks()) <= 8


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


def test_each_precision_holds_up_to_its_recall():
    curve = Curve(name="A", steps=[(0.25, 1.0), (0.5, 0.5)], series=0)
    drawn = charts.step_curves([curve], "curves")
    width, height = 560 - 78 - 24, 380 - 16 - 50
    x = [78, 78 + width / 4, 78 + width / 2]
    y = [16, 16 + height / 2, 16 + height]
    numbers = [float(n) for n in re.findall(r"[\d.]+", re.search(r'd="(M[^"]+)"', drawn).group(1))]
    assert numbers == pytest.approx([x[0], y[0], y[0], x[1], y[1], x[2], y[2]], abs=0.1)
