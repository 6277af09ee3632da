"""The charts of pages: pure functions from numbers to SVG, drawn with the pieces of `svg`.

A chart with its own meaning has it as its label; a chart that repeats a figure beside it is hidden
from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import NamedTuple

from markupsafe import Markup

from metaserver.base.zones import in_words
from metaserver.boards.course import CourseReading
from metaserver.boards.trends import DayUptime, Moment
from metaserver.boards.windows import Window
from metaserver.web.ui import svg
from metaserver.web.ui.formatting import figure
from metaserver.web.ui.svg import Area, flags, name_label

SERIES = 8
"""The number of series with a colour, a glyph and a dash of their own in the style sheet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """A linear axis from `low` to `high` with a tick each `step`."""

    label: str
    low: float
    high: float
    step: float

    @classmethod
    def over(cls, label: str, values: Sequence[float]) -> Axis:
        """Return the axis that holds 0 and all `values` with at most six round steps."""
        low, high = min([0.0, *values]), max([0.0, *values]) or 1.0
        rough = (high - low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        return cls(
            label=label,
            low=math.floor(low / step + 1e-9) * step,
            high=math.ceil(high / step - 1e-9) * step,
            step=step,
        )

    def ticks(self) -> list[float]:
        """Return the ticks, lowest first."""
        count = round((self.high - self.low) / self.step)
        return [self.low + i * self.step for i in range(count + 1)]

    def share(self, value: float) -> float:
        """Return the place of `value`, from 0 (low end) to 1."""
        return (value - self.low) / (self.high - self.low)

    def text(self, tick: float) -> str:
        """Write a tick's value in five characters at most: 0.25, 40, 12k, 1.5M."""
        for unit, letter in ((1e6, "M"), (1e3, "k")):
            if tick >= unit:
                return f"{tick / unit:.3g}{letter}"
        return f"{tick:.3g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogAxis:
    """A logarithmic axis from the power of ten `low` to the power `high`."""

    label: str
    low: int
    high: int

    @classmethod
    def over(cls, label: str, values: Sequence[float]) -> LogAxis:
        """Return the axis of whole decades that holds all `values`, which are above 0."""
        low = math.floor(math.log10(min(values)) + 1e-9)
        return cls(
            label=label, low=low, high=max(low + 1, math.ceil(math.log10(max(values)) - 1e-9))
        )

    def ticks(self) -> list[float]:
        """Return the ticks, lowest first: of few decades also those between."""
        decades = self.high - self.low
        every = math.ceil(decades / 8)
        between = (1, 2, 5) if decades <= 2 else (1,)
        ticks = [m * 10.0**power for power in range(self.low, self.high, every) for m in between]
        return [*ticks, 10.0**self.high]

    def share(self, value: float) -> float:
        """Return the place of `value`, from 0 (low end) to 1."""
        return (math.log10(value) - self.low) / (self.high - self.low)

    def text(self, tick: float) -> str:
        """Write a tick's value."""
        return f"{tick:,.0f}" if tick >= 1 else f"{tick:.4g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A run in the scatter; `series` picks glyph and colour, None is a small grey dot.

    `said` is what is shown on hovering beside its name; empty: its values.
    """

    name: str
    x: float
    y: float
    series: int | None
    said: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A run's precision/recall steps as (recall, precision), recall rising."""

    name: str
    steps: Sequence[tuple[float, float]]
    series: int


class Frame(NamedTuple):
    """The size of a plot, and the area in it that its axes span; the rest is for labels."""

    width: float
    height: float
    area: Area

    def x(self, share: float) -> float:
        """Return the place of a share of the horizontal axis."""
        return self.area.left + share * (self.area.right - self.area.left)

    def y(self, share: float) -> float:
        """Return the place of a share of the vertical axis."""
        return self.area.bottom - share * (self.area.bottom - self.area.top)


PLOT = Frame(560, 380, Area(78, 16, 536, 330))  # a phone writes ticks of five characters larger
TREND = Frame(400, 170, Area(52, 12, 388, 142))
NAMED = Area(PLOT.area.left, 0, PLOT.width, PLOT.area.bottom)
"""The area of the names of points: the plot, and the free margins above and right of it."""


def _levels(frame: Frame, axis: Axis) -> list[Markup]:
    """Return a grid line for each tick of a vertical axis, with its value."""
    parts, area = [], frame.area
    for tick in axis.ticks():
        at = frame.y(axis.share(tick))
        parts += [
            svg.line("grid", area.left, at, area.right, at),
            svg.label(area.left - 6, at + 4, axis.text(tick), "end"),
        ]
    return parts


def _grid(x: Axis | LogAxis, y: Axis) -> list[Markup]:
    """Return grid lines, tick values and the two axis labels of a square plot."""
    parts, area = _levels(PLOT, y), PLOT.area
    for tick in x.ticks():
        at = PLOT.x(x.share(tick))
        parts += [
            svg.line("grid", at, area.bottom, at, area.top),
            svg.label(at, area.bottom + 17, x.text(tick)),
        ]
    turn = Markup('<text class="axis" transform="translate(14 {}) rotate(-90)">{}</text>')
    return [
        *parts,
        svg.label(PLOT.x(0.5), PLOT.height - 10, x.label, kind="axis"),
        turn.format(svg.number(PLOT.y(0.5)), y.label),
    ]


GLYPHS = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",  # circle
    "M-4.5-4.5h9v9h-9Z",  # square
    "M0-5.5L5.5 4.5h-11Z",  # triangle
    "M0-6L6 0L0 6L-6 0Z",  # diamond
    "M0 5.5L5.5-4.5h-11Z",  # triangle, point down
    "M-2-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5Z",  # plus
    "M-5.5-2L0-6L5.5-2L3.5 5h-7Z",  # pentagon
    "M-5-5L0-2L5-5L2 0L5 5L0 2L-5 5L-2 0Z",  # four-pointed star
)


DOT = "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0Z"


def scatter(
    points: Sequence[Point],
    x: Axis | LogAxis,
    y: Axis,
    label: str,
    frontier: Sequence[tuple[float, float]] = (),
) -> Markup:
    """Return a scatter of runs; a series has its name beside it if there is space.

    `frontier` are the points, from the left, that a line of steps connects.
    """
    body = _grid(x, y)
    if len(frontier) > 1:
        body.append(svg.shape("frontier", _steps_through(frontier, x, y)))
    areas: list[Area] = []
    for point in sorted(points, key=lambda point: point.series is not None):
        at = PLOT.x(x.share(point.x)), PLOT.y(y.share(point.y))
        title = f"{point.name}: {point.said or f'{point.x:.3f}, {point.y:.3f}'}"
        if point.series is None:
            body.append(svg.shape("dot", DOT, title, at))
        else:
            body.append(svg.shape(f"point s{point.series}", GLYPHS[point.series], title, at))
            areas.append(Area(at[0] - 7, at[1] - 7, at[0] + 7, at[1] + 7))
    for point in points:
        if point.series is None:
            continue
        at = PLOT.x(x.share(point.x)), PLOT.y(y.share(point.y))
        if placed := name_label(point.name, *at, areas, NAMED):
            areas.append(placed.box)
            body.append(svg.label(placed.x, placed.y, placed.text, placed.anchor, "name"))
    return svg.drawing(body, PLOT.width, PLOT.height, "plot", label)


def _steps_through(points: Sequence[tuple[float, float]], x: Axis | LogAxis, y: Axis) -> str:
    """Return the path through points: each value holds until the next."""
    (start_x, first), *steps_on = [(PLOT.x(x.share(a)), PLOT.y(y.share(b))) for a, b in points]
    steps = "".join(f"H{svg.number(at)}V{svg.number(to)}" for at, to in steps_on)
    return f"M{svg.number(start_x)} {svg.number(first)}{steps}"


def step_curves(curves: Sequence[Curve], label: str) -> Markup:
    """Return interpolated precision/recall curves: each precision holds up to its recall."""
    x = Axis(label="Recall", low=0, high=1, step=0.2)
    y = Axis(label="Interpolated precision", low=0, high=1, step=0.2)
    body = _grid(x, y)
    for curve in curves:
        path = [f"M{svg.number(PLOT.x(0))} {svg.number(PLOT.y(curve.steps[0][1]))}"]
        path += [
            f"V{svg.number(PLOT.y(precision))}H{svg.number(PLOT.x(recall))}"
            for recall, precision in curve.steps
        ]
        path.append(f"V{svg.number(PLOT.y(0))}")
        body.append(svg.shape(f"curve s{curve.series}", "".join(path), curve.name))
    return svg.drawing(body, PLOT.width, PLOT.height, "plot", label)


def swatch(series: int, *, line: bool) -> Markup:
    """Return the legend's sample of a series: its dash (`line`) or its glyph."""
    if line:
        return svg.drawing([svg.shape(f"curve s{series}", "M0 6H26")], 26, 12, "swatch")
    return svg.drawing([svg.shape(f"point s{series}", GLYPHS[series], at=(7, 7))], 14, 14, "swatch")


SLOTS = 48
"""The number of attempts that a strip shows."""
SPARK_WIDTH, SPARK_HEIGHT = 470, 100  # whatever its box: it stretches
BAR = 84  # the width of a full bar


def bar(share: float) -> Markup:
    """Return a progress bar filled to `share` (0 to 1)."""
    body = [svg.box("rail", 0, 0, BAR, 6, 3)]
    if share > 0:
        body.append(svg.box("fill", 0, 0, bar_width(share), 6, 3))
    return svg.drawing(body, BAR, 6, "bar")


def bar_width(share: float) -> float:
    """Return how far a bar is filled; what has begun can be seen."""
    return max(BAR * min(share, 1.0), 3) if share > 0 else 0


def sparkline(values: Sequence[float | None]) -> Markup:
    """Return a line from 0 up, the newest value at the right end, broken if a value is None."""
    paths = spark_paths(values)
    body = [svg.shape(kind, d) for kind, d in paths.items() if d]
    return svg.drawing(body, SPARK_WIDTH, SPARK_HEIGHT, "spark")


def spark_paths(values: Sequence[float | None]) -> dict[str, str]:
    """Return the paths of a sparkline by class: "area", "line"; empty without values."""
    top = max((value for value in values if value is not None), default=0.0) or 1.0
    step, scale = SPARK_WIDTH / max(len(values) - 1, 1), (SPARK_HEIGHT - 12) / top
    points = [
        None if value is None else (round(i * step), SPARK_HEIGHT - 6 - round(value * scale))
        for i, value in enumerate(values)
    ]
    area, line = [], []
    for present, group in groupby(points, key=lambda point: point is not None):
        if present:
            run = [point for point in group if point]
            (x, y), steps = run[0], _steps(run)
            line.append(f"M{x} {y}{steps}")
            area.append(f"M{x} {SPARK_HEIGHT}V{y}{steps}V{SPARK_HEIGHT}z")
    return {"area": "".join(area), "line": "".join(line)}


def _steps(run: Sequence[tuple[int, int]]) -> str:
    """Return a path from point to point; from a single point, a dot."""
    return "".join(f"l{c - a} {d - b}" for (a, b), (c, d) in pairwise(run)) or "h1"


def strip(marks: Sequence[str], label: str) -> Markup:
    """Return a strip of the newest `SLOTS` marks, the newest at the right.

    A mark is "ok", "partial" or "bad"; they differ in height as well as in colour.
    """
    body = [svg.shape(kind, d) for kind, d in strip_paths(marks).items() if d]
    return svg.drawing(body, 4 * SLOTS, 21, "strip", label)


def strip_paths(marks: Sequence[str]) -> dict[str, str]:
    """Return the paths of a strip by class; dashes make marks of their lines (style.css)."""
    marks = marks[-SLOTS:]
    paths = dict.fromkeys(("ok", "partial", "bad"), "")
    place = SLOTS - len(marks)
    for kind, group in groupby(marks):
        count = len(list(group))
        paths[kind] += f"M{4 * place}.5 10.5h{4 * count - 1}"
        place += count
    return paths


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    lines: Sequence[tuple[str, float]],
    ticks: Sequence[tuple[str, float]],
    label: str,
) -> Markup:
    """Return a histogram over a logarithmic axis, with named vertical `lines`.

    `edges` are above 0 and rise, one more than `counts`; `lines` and `ticks` are (text, place).
    """
    width, height, floor, top = 480, 158, 136, 40
    low, span = math.log(edges[0]), math.log(edges[-1] / edges[0])

    def at(value: float) -> float:
        return 6 + (width - 12) * min(max((math.log(value) - low) / span, 0), 1)

    highest = max(counts) or 1
    body = [
        svg.box("column", at(a), floor - tall, max(at(b) - at(a) - 1, 1), tall)
        for (a, b), n in zip(pairwise(edges), counts, strict=True)
        if (tall := (floor - top) * n / highest)
    ]
    body.append(svg.line("grid", 6, floor, width - 6, floor))
    for text, value in ticks:
        half = 4.0 * len(text)
        body.append(svg.label(min(max(at(value), half), width - half), height - 6, text))
    for mark, flag in flags([(text, at(value)) for text, value in lines], width, floor):
        body.append(svg.line("mark", mark.left, mark.top, mark.left, floor))
        if flag:
            body.append(svg.label(flag.x, flag.y, flag.text, flag.anchor))
    return svg.drawing(body, width, height, "histogram", label)


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
    body = _timed(axis, time)
    for series, values in (("s0", p50), ("s1", p95)):
        body.append(svg.shape(f"curve {series}", _course(values, axis)))
    limits = f"p95 at most {figure(max(measured))} s" if measured else "no response"
    return svg.drawing(
        body, TREND.width, TREND.height, "trend", f"p50 and p95 of each {time.each}: {limits}"
    )


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


def _timed(axis: Axis, time: TimeAxis) -> list[Markup]:
    """Return the grid of a course over time, with the words below it."""
    area = TREND.area
    return [
        *_levels(TREND, axis),
        svg.label(area.left, TREND.height - 10, time.begin, "start"),
        svg.label((area.left + area.right) / 2, TREND.height - 10, time.middle),
        svg.label(area.right, TREND.height - 10, time.end, "end"),
    ]


def _course(values: Sequence[float | None], axis: Axis) -> str:
    """Return a line through the middles of the buckets; a lone point is a short line."""
    area = TREND.area
    wide = (area.right - area.left) / max(len(values), 1)
    parts = []
    for is_measured, run in groupby(enumerate(values), key=lambda pair: pair[1] is not None):
        if not is_measured:
            continue
        places = [
            f"{svg.number(area.left + (i + 0.5) * wide)}"
            f" {svg.number(TREND.y(axis.share(value or 0)))}"
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
    """Return stacked columns of counts, one per bucket; `layers` are from below, by class."""
    tops = [sum(count(moment) for count in layers.values()) for moment in moments]
    axis = Axis.over("", [max([FEW, *tops])])
    area, body = TREND.area, _timed(axis, time)
    wide = (area.right - area.left) / max(len(tops), 1)
    for i, moment in enumerate(moments):
        below = 0
        for kind, count in layers.items():
            if not (counted := count(moment)):
                continue
            y, floor = (TREND.y(axis.share(value)) for value in (below + counted, below))
            body.append(svg.box(kind, area.left + i * wide, y, max(wide - 1, 1), floor - y))
            below += counted
    summary = f"{what}, at most {max(tops, default=0)} in one {time.each}"
    return svg.drawing(body, TREND.width, TREND.height, "trend", summary)
