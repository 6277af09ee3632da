"""Charts over time: what they draw lies in the frame, and their labels tell the figures."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from metaserver.boards.course import CourseReading
from metaserver.boards.trends import DAY, DayUptime, Moment
from metaserver.boards.windows import Window
from metaserver.web.ui import charts

DAY_0 = 1_767_225_600  # 2026-01-01


BUSY = [
    Moment(start=60 * i, answered=i % 7, partial=i % 2, errors=i % 3, p50=i, p95=2 * i)
    if i % 11
    else Moment(start=60 * i)
    for i in range(60)
]
HUGE = [Moment(start=0, answered=10**6, errors=10**6, partial=10**6, p50=1e4, p95=86_400.0)]
TRENDS = {"busy": BUSY, "empty": [Moment(start=0)] * 24, "nothing": [], "huge": HUGE}
WINDOWS = {window: charts.TimeAxis.of_window(window) for window in Window}
COURSES = {
    length: charts.TimeAxis.of_course(CourseReading(seconds=length, moments=BUSY))
    for length in (60, 7680, 60 << 20)
}
AXES = WINDOWS | COURSES
CHARTS = (charts.response_times, charts.throughput, charts.errors)


@pytest.mark.parametrize("time", AXES.values(), ids=map(str, AXES))
@pytest.mark.parametrize("shown", TRENDS.values(), ids=TRENDS)
def test_no_label_meets_another_or_leaves_the_frame(shown, time):
    for chart in CHARTS:
        drawn = ElementTree.fromstring(chart(shown, time))
        boxes = []
        for text in drawn.iter("text"):
            wide, x, y = 8 * len(text.text), float(text.get("x")), float(text.get("y"))
            left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
            boxes.append((left, y - 10, left + wide, y + 2))
        assert all(a >= 0 and b >= 0 and c <= 400 and d <= 170 for a, b, c, d in boxes)
        for one, other in combinations(boxes, 2):
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]


@pytest.mark.parametrize("shown", TRENDS.values(), ids=TRENDS)
def test_columns_lie_in_the_plot(shown):
    for chart in (charts.throughput, charts.errors):
        for column in ElementTree.fromstring(chart(shown, WINDOWS[Window.HOUR])).iter("rect"):
            x, y, wide, high = (float(column.get(key)) for key in ("x", "y", "width", "height"))
            assert charts.TREND.area.left <= x <= x + wide <= charts.TREND.area.right + 0.1
            assert charts.TREND.area.top - 0.1 <= y <= y + high <= charts.TREND.area.bottom + 0.2


def test_columns_are_stacked():
    drawn = charts.errors([Moment(start=0, errors=3, partial=2)], WINDOWS[Window.DAY])
    columns = re.findall(r'class="column (\w+)" x="52" y="([\d.]+)".*? height="([\d.]+)"', drawn)
    assert columns == [("bad", "64", "78"), ("few", "12", "52")]
    assert "3 errors, 2 partial answers, at most 5 in one hour" in drawn


def test_the_course_is_broken_where_nothing_responded():
    drawn = charts.response_times(
        [Moment(start=0, p50=p, p95=p) for p in (1, 2, None, 3)], WINDOWS[Window.HOUR]
    )
    course = re.search(r'class="curve s0" d="([^"]+)"', drawn).group(1)
    assert (course.count("M"), course.count("L"), course.count("h6")) == (2, 1, 1)
    assert "p95 at most 3.00 s" in drawn


def test_uptime_shows_the_time_down_and_names_the_days():
    shares = [None, 1.0, 0.5, 0.999]
    days = [DayUptime(start=DAY_0 + i * DAY, share=share) for i, share in enumerate(shares)]
    drawn = charts.uptime(days)
    assert drawn.count('class="unknown"') == 1
    assert drawn.count('class="up"') == 3
    assert re.findall(r'class="down" d="M\d+ 0h9v([\d.]+)', drawn) == ["17", "3"]
    assert charts.uptime_label(days) == (
        "Uptime by day: 3 of 4 days measured; not wholly up: 2026-01-03 50 %, 2026-01-04 99.9 %"
    )
