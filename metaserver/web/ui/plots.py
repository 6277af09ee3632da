"""The two plots of a leaderboard: pure functions from runs to SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from metaserver.web.ui import svg
from metaserver.web.ui.svg import Area, name_label

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
        """Return if `value` lies, from 0 (low end) to 1."""
        return (value - self.low) / (self.high - self.low)

    def text(self, tick: float) -> str:
        """Write a tick's value."""
        return f"{tick:.4g}"


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
        """Return if `value` lies, from 0 (low end) to 1."""
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


WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 54, 24, 16, 50  # space around the plot, for ticks and labels


FRAME = Area(LEFT, 0, WIDTH, HEIGHT - BOTTOM)
"""The frame of the names of points: the plot, and the free margins above and right of it."""


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _grid(x: Axis | LogAxis, y: Axis) -> list[Markup]:
    """Return grid lines, tick values and the two axis labels of a square plot."""
    parts = []
    for tick in x.ticks():
        at = _x(x.share(tick))
        parts += [svg.line("grid", at, _y(0), at, _y(1)), svg.label(at, _y(0) + 17, x.text(tick))]
    for tick in y.ticks():
        at = _y(y.share(tick))
        parts += [
            svg.line("grid", _x(0), at, _x(1), at),
            svg.label(LEFT - 7, at + 4, y.text(tick), "end"),
        ]
    turn = Markup('<text class="axis" transform="translate(14 {}) rotate(-90)">{}</text>')
    return [
        *parts,
        svg.label(_x(0.5), HEIGHT - 10, x.label, kind="axis"),
        turn.format(svg.number(_y(0.5)), y.label),
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
        at = _x(x.share(point.x)), _y(y.share(point.y))
        title = f"{point.name}: {point.said or f'{point.x:.3f}, {point.y:.3f}'}"
        if point.series is None:
            body.append(svg.shape("dot", DOT, title, at))
        else:
            body.append(svg.shape(f"point s{point.series}", GLYPHS[point.series], title, at))
            areas.append(Area(at[0] - 7, at[1] - 7, at[0] + 7, at[1] + 7))
    for point in points:
        if point.series is None:
            continue
        at = _x(x.share(point.x)), _y(y.share(point.y))
        if placed := name_label(point.name, *at, areas, FRAME):
            areas.append(placed.box)
            body.append(svg.label(placed.x, placed.y, placed.text, placed.anchor, "name"))
    return svg.drawing(body, WIDTH, HEIGHT, "plot", label)


def _steps_through(points: Sequence[tuple[float, float]], x: Axis | LogAxis, y: Axis) -> str:
    """Return the path through points: each value holds until the next."""
    (start_x, first), *steps_on = [(_x(x.share(a)), _y(y.share(b))) for a, b in points]
    steps = "".join(f"H{svg.number(at)}V{svg.number(to)}" for at, to in steps_on)
    return f"M{svg.number(start_x)} {svg.number(first)}{steps}"


def step_curves(curves: Sequence[Curve], label: str) -> Markup:
    """Return interpolated precision/recall curves: each precision holds up to its recall."""
    x = Axis(label="Recall", low=0, high=1, step=0.2)
    y = Axis(label="Interpolated precision", low=0, high=1, step=0.2)
    body = _grid(x, y)
    for curve in curves:
        path = [f"M{svg.number(_x(0))} {svg.number(_y(curve.steps[0][1]))}"]
        path += [
            f"V{svg.number(_y(precision))}H{svg.number(_x(recall))}"
            for recall, precision in curve.steps
        ]
        path.append(f"V{svg.number(_y(0))}")
        body.append(svg.shape(f"curve s{curve.series}", "".join(path), curve.name))
    return svg.drawing(body, WIDTH, HEIGHT, "plot", label)


def swatch(series: int, *, line: bool) -> Markup:
    """Return the legend's sample of a series: its dash (`line`) or its glyph."""
    if line:
        return svg.drawing([svg.shape(f"curve s{series}", "M0 6H26")], 26, 12, "swatch")
    return svg.drawing([svg.shape(f"point s{series}", GLYPHS[series], at=(7, 7))], 14, 14, "swatch")
