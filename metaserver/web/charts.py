"""The charts of the pages: pure functions from numbers to SVG.

Colours, dashes and fonts come from the style sheet by class; the strict Content-Security-Policy
allows no inline style. Each chart with a meaning of its own carries it as its label; those that
repeat a figure beside them are hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup

SERIES = 8
"""How many series have a colour and a dash of their own in the style sheet (`s0` to `s7`)."""
SLOTS = 48
"""How many attempts a strip has room for."""


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
        low, high = min(0.0, *values), max(0.0, *values) or 1.0
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
        """Return where `value` lies, from 0 (low end) to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A run in the scatter; `series` picks glyph and colour, None is a small grey dot."""

    name: str
    x: float
    y: float
    series: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A run's precision/recall steps as (recall, precision), recall rising."""

    name: str
    steps: Sequence[tuple[float, float]]
    series: int


WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 12, 50  # room around the plot, for ticks and labels


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _svg(
    body: Iterable[Markup], width: float, height: float, kind: str, label: str | None = None
) -> Markup:
    role = (
        Markup('role="img" aria-label="{}"').format(label)
        if label
        else Markup('aria-hidden="true"')
    )
    # The small charts without text stretch with their box.
    fit = Markup(' preserveAspectRatio="none"') if kind in ("bar", "spark") else ""
    return Markup('<svg class="{}" viewBox="0 0 {} {}"{} {}>{}</svg>').format(
        kind, _n(width), _n(height), fit, role, Markup("").join(body)
    )


def _path(kind: str, d: str, title: str = "", at: tuple[float, float] = (0, 0)) -> Markup:
    move = Markup(' transform="translate({} {})"').format(*map(_n, at)) if any(at) else ""
    name = Markup("<title>{}</title>").format(title) if title else ""
    return Markup('<path class="{}" d="{}"{}>{}</path>').format(kind, d, move, name)


def _bar(kind: str, x: float, y: float, width: float, height: float, radius: int = 0) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="{}"/>').format(
        kind, *map(_n, (x, y, width, height, radius))
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        kind, _n(x1), _n(y1), _n(x2), _n(y2)
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, _n(x), _n(y), anchor, text
    )


def _grid(x: Axis, y: Axis) -> list[Markup]:
    """Return grid lines, tick values and the two axis labels of a square plot."""
    parts = []
    for tick in x.ticks():
        at = _x(x.share(tick))
        parts += [_line("grid", at, _y(0), at, _y(1)), _text(at, _y(0) + 17, f"{tick:.4g}")]
    for tick in y.ticks():
        at = _y(y.share(tick))
        parts += [
            _line("grid", _x(0), at, _x(1), at),
            _text(LEFT - 7, at + 4, f"{tick:.4g}", "end"),
        ]
    turn = Markup('<text class="axis" transform="translate(14 {}) rotate(-90)">{}</text>')
    return [
        *parts,
        _text(_x(0.5), HEIGHT - 10, x.label, kind="axis"),
        turn.format(_n(_y(0.5)), y.label),
    ]


def bar(share: float) -> Markup:
    """Return a progress bar filled to `share` (0 to 1)."""
    body = [_bar("rail", 0, 0, 84, 6, 3)]
    if share > 0:
        body.append(_bar("fill", 0, 0, max(84 * min(share, 1.0), 3), 6, 3))
    return _svg(body, 84, 6, "bar")


def sparkline(values: Sequence[float | None], width: int = 132, height: int = 28) -> Markup:
    """Return a line from 0 up, the newest value at the right end, broken where a value is None."""
    top = max((value for value in values if value is not None), default=0.0) or 1.0
    step = width / max(len(values) - 1, 1)
    points = [
        None if value is None else (i * step, height - 2 - value / top * (height - 4))
        for i, value in enumerate(values)
    ]
    area, line = [], []
    for present, group in groupby(points, key=lambda point: point is not None):
        if present:
            run = [point for point in group if point]
            path = "L".join(f"{_n(x)} {_n(y)}" for x, y in run)
            line.append(f"M{path}" if len(run) > 1 else f"M{path}h.1")
            area.append(f"M{_n(run[0][0])} {height}L{path}L{_n(run[-1][0])} {height}Z")
    body = [_path("area", "".join(area)), _path("line", "".join(line))]
    return _svg(body if line else [], width, height, "spark")


def strip(marks: Sequence[str], label: str) -> Markup:
    """Return a strip of the newest `SLOTS` marks, the newest at the right.

    A mark is "ok", "partial" or "bad"; they differ in height as well as in colour.
    """
    marks = marks[-SLOTS:]
    heights = {"ok": (5, 16), "partial": (3, 18), "bad": (0, 21)}
    body = []
    for kind, (top, foot) in heights.items():
        places = [SLOTS - len(marks) + i for i, mark in enumerate(marks) if mark == kind]
        if places:
            path = "".join(f"M{4 * place + 2} {top}V{foot}" for place in places)
            body.append(_path(kind, path))
    return _svg(body, 4 * SLOTS, 21, "strip", label)


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
    width, height, floor, top = 660, 200, 170, 44
    low, span = math.log(edges[0]), math.log(edges[-1] / edges[0])

    def at(value: float) -> float:
        return 6 + (width - 12) * min(max((math.log(value) - low) / span, 0), 1)

    most = max(counts) or 1
    body = [
        _bar("column", at(a), floor - tall, max(at(b) - at(a) - 1, 1), tall)
        for (a, b), n in zip(pairwise(edges), counts, strict=True)
        if (tall := (floor - top) * n / most)
    ]
    body.append(_line("grid", 6, floor, width - 6, floor))
    for text, value in ticks:
        half = 4.0 * len(text)
        body.append(_text(min(max(at(value), half), width - half), height - 10, text))
    taken: list[tuple[float, float, int]] = []  # left end, right end, row
    for text, value in lines:
        x = at(value)
        room = 8.0 * len(text) + 4
        left, anchor = (x, "start") if x + room < width else (x - room, "end")
        row = next(
            row
            for row in range(len(lines))
            if not any(r == row and left < b and a < left + room for a, b, r in taken)
        )
        taken.append((left, left + room, row))
        body.append(_line("mark", x, 2 + 14 * row, x, floor))
        body.append(_text(x + (4 if anchor == "start" else -4), 12 + 14 * row, text, anchor))
    return _svg(body, width, height, "histogram", label)


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


def scatter(points: Sequence[Point], x: Axis, y: Axis, label: str) -> Markup:
    """Return a scatter of runs; a series has its name beside it where there is room."""
    body = _grid(x, y)
    taken: list[tuple[float, float, float, float]] = []
    for point in sorted(points, key=lambda point: point.series is not None):
        at = _x(x.share(point.x)), _y(y.share(point.y))
        title = f"{point.name}: {point.x:.3f}, {point.y:.3f}"
        if point.series is None:
            body.append(_path("dot", DOT, title, at))
        else:
            body.append(_path(f"point s{point.series}", GLYPHS[point.series], title, at))
            taken.append((at[0] - 7, at[1] - 7, at[0] + 7, at[1] + 7))
    for point in points:
        if point.series is not None:
            body += _name(point.name, _x(x.share(point.x)), _y(y.share(point.y)), taken)
    return _svg(body, WIDTH, HEIGHT, "plot", label)


def _name(
    name: str, x: float, y: float, taken: list[tuple[float, float, float, float]]
) -> list[Markup]:
    """Place a name right or left of a point, a little lower or higher, or nowhere."""
    text = name if len(name) <= 18 else f"{name[:17]}…"
    width = 7.0 * len(text)
    for dy in (4, 16, -8):
        for anchor, dx in (("start", 10), ("end", -10)):
            left = x + dx if anchor == "start" else x + dx - width
            box = (left, y + dy - 10, left + width, y + dy + 2)
            if left < LEFT or left + width > WIDTH or any(_meet(box, other) for other in taken):
                continue
            taken.append(box)
            return [_text(x + dx, y + dy, text, anchor, "name")]
    return []


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def step_curves(curves: Sequence[Curve], label: str) -> Markup:
    """Return interpolated precision/recall curves: each precision holds up to its recall."""
    x = Axis(label="Recall", low=0, high=1, step=0.2)
    y = Axis(label="Interpolated precision", low=0, high=1, step=0.2)
    body = _grid(x, y)
    for curve in curves:
        path = [f"M{_n(_x(0))} {_n(_y(curve.steps[0][1]))}"]
        path += [f"V{_n(_y(precision))}H{_n(_x(recall))}" for recall, precision in curve.steps]
        path.append(f"V{_n(_y(0))}")
        body.append(_path(f"curve s{curve.series}", "".join(path), curve.name))
    return _svg(body, WIDTH, HEIGHT, "plot", label)


def swatch(series: int, *, line: bool) -> Markup:
    """Return the legend's sample of a series: its dash (`line`) or its glyph."""
    if line:
        return _svg([_path(f"curve s{series}", "M0 6H26")], 26, 12, "swatch")
    return _svg([_path(f"point s{series}", GLYPHS[series], at=(7, 7))], 14, 14, "swatch")
