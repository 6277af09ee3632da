"""Labels of charts: none overlaps another or a mark, or leaves the frame."""

from itertools import combinations

import pytest

from metaserver.web.ui import charts
from metaserver.web.ui.svg import Area, flags, name_label

WIDTH, FLOOR = 480, 136
NAMES = ("p50", "p95", "p99", "limit")
PLACES = {
    "apart": (100, 200, 300, 474), "at the right edge": (472, 473, 473.5, 474),
    "at the left edge": (6, 6.5, 7, 8), "equal": (240, 240, 240, 240),
    "equal at the right edge": (474, 474, 474, 474), "p99 near the limit": (330, 445, 449, 474),
    "equal pairs": (30, 30, 400, 400),
}  # fmt: skip


def check_flags(placed):
    """Assert that labels neither meet one another or a line, nor leave the frame."""
    shown = [flag for flag in placed if flag.label]
    for flag in shown:
        assert flag.label.box.within(Area(0, 0, WIDTH, FLOOR))
        assert not any(flag.label.box.meets(other.line) for other in placed)
    for one, other in combinations(shown, 2):
        assert not one.label.box.meets(other.label.box)
    return shown


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_labels_of_lines_are_free_of_one_another(places):
    placed = flags(zip(NAMES, places, strict=True), WIDTH, FLOOR)
    assert sorted(flag.line.left for flag in placed) == sorted(places)
    assert len(check_flags(placed)) >= 2


CORNERS = [(x, y) for x in (charts.PLOT.area.left, 536) for y in (16, 330)]  # of the plot
POINTS = {
    "a point in each corner": CORNERS,
    "eight in the upper right corner, at (1, 1)": [(536, 16)] * 8,
    "eight equal ones": [(300, 170)] * 8,
    "thirty in a row": [(60 + 16 * i, 16) for i in range(30)],
    "thirty in a cluster": [(300 + 3 * (i % 6), 100 + 4 * (i // 6)) for i in range(30)],
}


@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("name", ["S1", "Team 31 · S09", "WWWWWWWWWWWWWWWWWWWWWWWW"])
def test_names_of_points_are_free_of_one_another(points, name):
    marks = [Area(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    taken, named = list(marks), []
    for x, y in points:
        label = name_label(name, x, y, taken, charts.NAMED)
        if label:
            taken.append(label.box)
            named.append(label.box)
    assert named
    for box in named:
        assert box.within(Area(0, 0, charts.PLOT.width, charts.PLOT.height))
        assert not any(box.meets(mark) for mark in marks)
    assert not any(one.meets(other) for one, other in combinations(named, 2))


def test_a_point_at_the_corner_has_its_name():
    label = name_label("Team 7 · R01", 536, 16, [Area(529, 9, 543, 23)], charts.NAMED)
    assert (label.text, label.anchor) == ("Team 7 · R01", "end")
