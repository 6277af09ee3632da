"""The charts of a course over time: pure functions from measures to SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from markupsafe import Markup

from metaserver.base.zones import in_words
from metaserver.boards.course import CourseReading
from metaserver.boards.trends import DayUptime, Moment
from metaserver.boards.windows import Window
from metaserver.web.ui import svg
from metaserver.web.ui.formatting import figure
from metaserver.web.ui.plots import Axis
from metaserver.web.ui.svg import Area

WIDTH, HEIGHT = 400, 170
PLOT = Area(52, 12, 388, 142)  # the rest is for ticks
DAY_WIDTH, DAY_HEIGHT = 12, 34  # of a bar of the uptime
FEW = 5  # the least highest count of an axis; days named in a label

AGO: Mapping[Window, tuple[str, str]] = {
    Window.HOUR: ("60 min ago", "30 min ago"),
    Window.DAY: ("24 h ago", "12 h ago"),
    Window.WEEK: ("7 d ago", "3.5 d ago"),
    Window.MONTH: ("30 d ago", "15 d ago"),
}
EACH: Mapping[Window, str] = {
    Window.HOUR: "minute",
    Window.DAY: "hour",
    Window.WEEK: "6 hours",
    Window.MONTH: "day",
}
"""The name of a bucket of a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeAxis:
    """The words below a chart: if it begins, its middle and its end; `each` is a bucket."""

    begin: str
    middle: str
    end: str
    each: str

    @classmethod
    def of_window(cls, window: Window) -> TimeAxis:
        """Return the axis of a window of time before now."""
        begin, middle = AGO[window]
        return cls(begin=begin, middle=middle, end="now", each=EACH[window])

    @classmethod
    def of_course(cls, course: CourseReading) -> TimeAxis:
        """Return the axis of a whole phase: the time since its first attempt."""
        whole = course.seconds * len(course.moments)
        return cls(
            begin="0",
            middle=in_words(whole / 2),
            end=in_words(whole),
            each=in_words(course.seconds),
        )


def response_times(moments: Sequence[Moment], time: TimeAxis) -> Markup:
    """Return the course of p50 and p95, in seconds, broken if nothing responded."""
    p50, p95 = ([getattr(moment, name) for moment in moments] for name in ("p50", "p95"))
    measured = [value for value in p95 if value is not None]
    axis = Axis.over("s", measured)
    body = _grid(axis, time)
    for series, values in (("s0", p50), ("s1", p95)):
        body.append(svg.shape(f"curve {series}", _course(values, axis)))
    limits = f"p95 at most {figure(max(measured))} s" if measured else "no response"
    return svg.drawing(body, WIDTH, HEIGHT, "trend", f"p50 and p95 of each {time.each}: {limits}")


def throughput(moments: Sequence[Moment], time: TimeAxis) -> Markup:
    """Return the number of answered articles in each bucket."""
    layers: Mapping[str, Callable[[Moment], int]] = {"column": lambda moment: moment.answered}
    total = sum(moment.answered for moment in moments)
    return _columns(moments, time, layers, f"{total} articles answered")


def errors(moments: Sequence[Moment], time: TimeAxis) -> Markup:
    """Return the number of errors in each bucket, and above them that of the partial answers."""
    layers: Mapping[str, Callable[[Moment], int]] = {
        "column bad": lambda moment: moment.errors,
        "column few": lambda moment: moment.partial,
    }
    failed = sum(moment.errors for moment in moments)
    partial = sum(moment.partial for moment in moments)
    return _columns(moments, time, layers, f"{failed} errors, {partial} partial answers")


def uptime(days: Sequence[DayUptime]) -> Markup:
    """Return a bar a day: the time up from below, the time down from above."""
    body = []
    for i, day in enumerate(days):
        x, title = i * DAY_WIDTH, f"{_date(day)}: {_share(day)}"
        if day.share is None:
            body.append(svg.shape("unknown", _bar(x, 0, DAY_HEIGHT), title))
            continue
        down = min(max((1 - day.share) * DAY_HEIGHT, 3), DAY_HEIGHT) if day.share < 1 else 0
        body.append(svg.shape("up", _bar(x, down, DAY_HEIGHT - down), title))
        if down:
            body.append(svg.shape("down", _bar(x, 0, down), title))
    return svg.drawing(body, DAY_WIDTH * len(days) - 3, DAY_HEIGHT, "uptime", uptime_label(days))


def uptime_label(days: Sequence[DayUptime]) -> str:
    """Say what the bars show: the days that were not wholly up, the worst first."""
    measured = [day for day in days if day.share is not None]
    worst = sorted(
        (day for day in measured if (day.share or 0) < 1), key=lambda day: day.share or 0
    )
    worst_days = ", ".join(f"{_date(day)} {_share(day)}" for day in worst[:FEW])
    more = f" and {len(worst) - FEW} more" if len(worst) > FEW else ""
    words = f"; not wholly up: {worst_days}{more}" if worst else ""
    return f"Uptime by day: {len(measured)} of {len(days)} days measured{words}"


def _date(day: DayUptime) -> str:
    return f"{datetime.fromtimestamp(day.start, UTC):%Y-%m-%d}"


def _share(day: DayUptime) -> str:
    if day.share is None:
        return "not measured"
    return f"{100 * day.share if day.share == 1 else min(100 * day.share, 99.9):.3g} %"


def _bar(x: float, y: float, height: float) -> str:
    return f"M{x} {svg.number(y)}h9v{svg.number(height)}h-9z"


def _grid(axis: Axis, time: TimeAxis) -> list[Markup]:
    body = []
    for tick in axis.ticks():
        y = _y(axis, tick)
        body += [
            svg.line("grid", PLOT.left, y, PLOT.right, y),
            svg.label(PLOT.left - 6, y + 4, _figure(tick), "end"),
        ]
    return [
        *body,
        svg.label(PLOT.left, HEIGHT - 10, time.begin, "start"),
        svg.label((PLOT.left + PLOT.right) / 2, HEIGHT - 10, time.middle),
        svg.label(PLOT.right, HEIGHT - 10, time.end, "end"),
    ]


def _figure(tick: float) -> str:
    """Write a value of an axis in five characters at most: 0.25, 40, 12k, 1.5M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if tick >= unit:
            return f"{tick / unit:.3g}{letter}"
    return f"{tick:.3g}"


def _y(axis: Axis, value: float) -> float:
    return PLOT.bottom - axis.share(value) * (PLOT.bottom - PLOT.top)


def _course(values: Sequence[float | None], axis: Axis) -> str:
    """Return a line through the middles of the buckets; one that stands alone is a short line."""
    wide = (PLOT.right - PLOT.left) / max(len(values), 1)
    parts = []
    for is_measured, run in groupby(enumerate(values), key=lambda pair: pair[1] is not None):
        if not is_measured:
            continue
        places = [
            f"{svg.number(PLOT.left + (i + 0.5) * wide)} {svg.number(_y(axis, value or 0))}"
            for i, value in run
        ]
        parts.append(f"M{'L'.join(places)}" + ("m-3 0h6" if len(places) == 1 else ""))
    return "".join(parts)


def _columns(
    moments: Sequence[Moment],
    time: TimeAxis,
    layers: Mapping[str, Callable[[Moment], int]],
    what: str,
) -> Markup:
    """Return stacked columns of counts, one a bucket; `layers` are from below, by class."""
    tops = [sum(count(moment) for count in layers.values()) for moment in moments]
    axis = Axis.over("", [max([FEW, *tops])])
    body, wide = _grid(axis, time), (PLOT.right - PLOT.left) / max(len(tops), 1)
    for i, moment in enumerate(moments):
        below = 0
        for kind, count in layers.items():
            if not (counted := count(moment)):
                continue
            y, height = _y(axis, below + counted), _y(axis, below) - _y(axis, below + counted)
            body.append(svg.box(kind, PLOT.left + i * wide, y, max(wide - 1, 1), height))
            below += counted
    summary = f"{what}, at most {max(tops, default=0)} in one {time.each}"
    return svg.drawing(body, WIDTH, HEIGHT, "trend", summary)
