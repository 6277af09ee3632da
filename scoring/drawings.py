"""Charts as SVG without any library, for pages that are read on a screen, light or dark.

Text and axes have the colour of the text around them. For print, and for PDF, `plots` draws the
same charts with matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from scoring.charts import COLOURS, GREY, Chart, Panel, Scale, Series, best_first
from scoring.labels import Box, place_labels

_WIDTH, _HEIGHT = 520.0, 330.0
_RIGHT, _TOP, _BOTTOM = 14.0, 14.0, 54.0
_ROW = 19.0  # of a named row, and of the legend
_GLYPH = 7.3  # the width of a character, in units of the drawing
_LONGEST = 34  # characters of a name that are shown
_BLACK = "#000000"  # is drawn in the colour of the text
_DASHES = ("", "7 4", "7 3 2 3", "2 3", "10 3 2 3 2 3", "12 4", "4 2", "2 1")
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "M-3.5-3.5h7v7h-7Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0-4.5L4.5 3.5h-9Z",
    "M0 4.5L4.5-3.5h-9Z",
    "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z",
    "M-4-4L0-2L4-4L2 0L4 4L0 2L-4 4L-2 0Z",
    "M-4.5-1.5L0-5L4.5-1.5L3 4h-6Z",
)


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """The places of values along one side of a panel, from `begin` to `end`, with its ticks."""

    low: float
    high: float
    begin: float
    end: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool

    def at(self, value: float) -> float:
        """Return the place of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = (math.log(max(one, 1e-12)) for one in (value, low, high))
        share = (value - low) / (high - low)
        return self.begin + min(max(share, -0.02), 1.02) * (self.end - self.begin)


def svg(chart: Chart, *, standalone: bool = True) -> str:
    """Return a chart as an SVG image; the same chart, the same text.

    A `standalone` one is a file with its signature; another is part of a page, whose text says it.
    """
    parts, top = [], 0.0
    for panel in chart.panels:
        drawn, height = _panel(panel)
        parts.append(f'<g transform="translate(0 {_number(top)})">{drawn}</g>')
        top += height + 10
    signature = f"<desc>{escape(chart.signature)}</desc>" if standalone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    look = ' color="#1a1a1a" font-family="sans-serif"' if standalone else ""
    return (
        f'<svg{space} viewBox="0 0 {_number(_WIDTH)} {_number(top)}" role="img"'
        f' aria-label="{escape(chart.title)}"{look} font-size="12" fill="currentColor">'
        f"<title>{escape(chart.title)}</title>{signature}{''.join(parts)}</svg>\n"
    )


def _panel(panel: Panel) -> tuple[str, float]:
    """Return a panel's elements and its height."""
    titles = panel.title.splitlines()
    top = _TOP + 16 * len(titles)
    rows = len(panel.y.names)
    height = max(_HEIGHT - _TOP - _BOTTOM, _ROW * rows) if rows else _HEIGHT - _TOP - _BOTTOM
    longest = max((len(_short(name)) for name in panel.y.names), default=0)
    left = max(58.0, min(30.0 + _GLYPH * longest, 250.0))
    series = best_first(panel.series)
    below = _GLYPH * max((len(_short(name)) for name in panel.x.names), default=0)
    x = _axis(panel.x, [v for one in series for v in _reach(one, "x")], left, _WIDTH - _RIGHT)
    y = _axis(panel.y, [v for one in series for v in _reach(one, "y")], top + height, top)
    parts = [
        *(_text(_WIDTH / 2, 14 + 16 * place, line, "middle") for place, line in enumerate(titles)),
        *_frame(panel, x, y),
    ]
    for one in series:
        parts += _series(one, x, y)
    parts += [_text(x.at(at), y.at(up) + 4, text, "middle") for at, up, text in panel.notes]
    parts += _names(series, x, y)
    legend, lines = _legend(panel, top + height + _BOTTOM - 8 + below)
    return "".join([*parts, *legend]), top + height + _BOTTOM + below + _ROW * lines


def _reach(one: Series, which: str) -> Iterator[float]:
    """Yield the values of a series along an axis, error bars and the width of bars included."""
    yield from one.x if which == "x" else one.y
    if one.ends_of == which:
        yield from (end for ends in one.ends for end in ends)
    if one.kind == "bars":
        yield from (
            (value + half for value in one.x for half in (-0.5, 0.5)) if which == "x" else [0]
        )


def _axis(scale: Scale, values: Sequence[float], begin: float, end: float) -> _Axis:
    low = min(values, default=0.0) if scale.low is None else scale.low
    high = max(values, default=1.0) if scale.high is None else scale.high
    high = high if high > low else low + 1.0
    room = 0.0 if scale.logarithmic or scale.names else 0.04 * (high - low)
    low, high = low - room * (scale.low is None), high + room * (scale.high is None)
    if scale.names:
        every = max(1, -(-len(scale.names) // 60))
        ticks = [(float(i), scale.names[i]) for i in range(0, len(scale.names), every)]
    elif scale.logarithmic:
        low = max(low, 1e-9)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        ticks = [(mark, f"{mark:g}") for mark in marks if low <= mark <= high]
    else:
        step = _step(high - low)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        ticks = [(i * step, f"{i * step:.10g}") for i in range(first, last + 1)]
    return _Axis(
        low=low, high=high, begin=begin, end=end, ticks=ticks, logarithmic=scale.logarithmic
    )


def _step(span: float) -> float:
    """Return the round step that divides a span into six parts or fewer."""
    power = 10.0 ** math.floor(math.log10(span / 6))
    return next(m * power for m in (1, 2, 5, 10, 20) if m * power >= span / 6 * (1 - 1e-9))


def _frame(panel: Panel, x: _Axis, y: _Axis) -> Iterator[str]:
    """Yield grid lines, ticks and the labels of both axes."""
    for value, name in x.ticks:
        at = x.at(value)
        yield _line(at, y.begin, at, y.end, 'stroke="currentColor" stroke-opacity=".15"')
        if panel.x.names:
            turned = f' transform="rotate(-90 {_number(at + 4)} {_number(y.begin + 8)})"'
            yield _text(at + 4, y.begin + 8, _short(name), "end", turned)
        else:
            yield _text(at, y.begin + 17, name, "middle")
    for value, name in y.ticks:
        at = y.at(value)
        yield _line(x.begin, at, x.end, at, 'stroke="currentColor" stroke-opacity=".15"')
        yield _text(x.begin - 7, at + 4, _short(name), "end")
    below = 36 + (_GLYPH * max((len(_short(name)) for name in panel.x.names), default=0))
    yield _text((x.begin + x.end) / 2, y.begin + below, panel.x.label, "middle")
    if panel.y.label:
        middle = (y.begin + y.end) / 2
        turned = f' transform="rotate(-90 14 {_number(middle)})"'
        yield _text(14, middle, panel.y.label, "middle", turned)


def _series(one: Series, x: _Axis, y: _Axis) -> Iterator[str]:
    colour = _colour(one)
    points = [(x.at(a), y.at(b)) for a, b in zip(one.x, one.y, strict=True)]
    if one.kind == "bars":
        floor = y.at(max(0.0, y.low))
        half = 0.4 * abs(x.at(1.0) - x.at(0.0))
        for at, up in points:
            box = f'x="{_number(at - half)}" y="{_number(up)}" width="{_number(2 * half)}"'
            yield f'<rect {box} height="{_number(floor - up)}" fill="{colour}"/>'
        return
    if one.kind == "cells":
        yield from _cells(one, x, y, colour)
        return
    if one.kind in ("line", "rule"):
        if points:
            yield _path(points, colour, one)
        return
    for place, (at, up) in enumerate(points):
        if one.ends:
            low, high = one.ends[place]
            ends = (x.at(low), up, x.at(high), up) if one.ends_of == "x" else (
                at, y.at(low), at, y.at(high)
            )  # fmt: skip
            yield _line(*ends, f'stroke="{colour}"')
        name = one.texts[place] if one.texts else one.name
        title = f"<title>{escape(f'{name}: {one.x[place]:.4g}, {one.y[place]:.4g}')}</title>"
        move = f'transform="translate({_number(at)} {_number(up)})"'
        yield f'<path d="{_marker(one)}" {move} fill="{colour}">{title}</path>'


def _cells(one: Series, x: _Axis, y: _Axis, colour: str) -> Iterator[str]:
    width, height = abs(x.at(1) - x.at(0)), abs(y.at(1) - y.at(0))
    for a, b, weight in zip(one.x, one.y, one.weights, strict=True):
        box = f'x="{_number(x.at(a) - width / 2)}" y="{_number(y.at(b) - height / 2)}"'
        size = f'width="{_number(width)}" height="{_number(height)}"'
        yield f'<rect {box} {size} fill="{colour}" fill-opacity="{0.5 * weight:.3f}"/>'


def _path(points: Sequence[tuple[float, float]], colour: str, one: Series) -> str:
    steps = "L".join(f"{_number(at)} {_number(up)}" for at, up in points)
    width = "1" if one.style is None or one.kind == "rule" else "2"
    return (
        f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="{width}"{_dash(one)}>'
        f"<title>{escape(one.name)}</title></path>"
    )


def _legend(panel: Panel, top: float) -> tuple[list[str], int]:
    """Return the names of lines and points that have none beside them, and the number of lines."""
    listed: dict[str, Series] = {}
    grey = 0
    for one in reversed(best_first(panel.series)):
        if one.named or one.kind in ("bars", "cells"):
            continue
        if one.style is None:
            grey += 1
            listed.setdefault("\0grey", one)
        else:
            listed.setdefault(one.name, one)
    if len(listed) < 2:
        return [], 0
    found = sorted(listed.items(), key=lambda entry: (entry[1].style is None, entry[1].style or 0))
    parts, at, line = [], 20.0, 0
    for name, one in found:
        text = _short(f"{grey} more runs" if name == "\0grey" else name)
        wide = 36 + _GLYPH * len(text) + 14
        if at > 20 and at + wide > _WIDTH:
            at, line = 20.0, line + 1
        up = top + _ROW * line + 12
        if one.kind in ("line", "rule"):
            look = f'stroke="{_colour(one)}" stroke-width="2"{_dash(one)}'
            parts.append(_line(at, up - 4, at + 28, up - 4, look))
        else:
            move = f'transform="translate({_number(at + 14)} {_number(up - 4)})"'
            parts.append(f'<path d="{_marker(one)}" {move} fill="{_colour(one)}"/>')
        parts.append(_text(at + 34, up, text, "start"))
        at += wide
    return parts, line + 1


def _names(series: Sequence[Series], x: _Axis, y: _Axis) -> Iterator[str]:
    """Yield the names of points beside them, where they cover nothing (heights count upwards)."""
    named = sorted((one for one in series if one.named), key=lambda one: one.style or 0)
    if not named:
        return
    points = [(x.at(one.x[0]), -y.at(one.y[0])) for one in named]
    sizes = [(_GLYPH * len(_short(one.name)), 12.0) for one in named]
    drawn = [(x.at(a), -y.at(b)) for s in series for a, b in zip(s.x, s.y, strict=True)]
    obstacles = [Box(a - 6, b - 6, a + 6, b + 6) for a, b in drawn]
    inside = Box(x.begin, -y.begin, x.end, -y.end)
    places = place_labels(points, sizes, inside, obstacles)
    for one, point, size, place in zip(named, points, sizes, places, strict=True):
        left, bottom = point[0] + place.dx, point[1] + place.dy
        if place.far:
            end = left + place.anchor[0] * size[0], bottom + place.anchor[1] * size[1]
            look = 'stroke="currentColor" stroke-opacity=".5" stroke-width=".7"'
            yield _line(point[0], -point[1], end[0], -end[1], look)
        yield _text(left, -bottom - 2.5, _short(one.name), "start")


def _colour(one: Series) -> str:
    if one.kind == "rule":
        return "currentColor"
    colour = GREY if one.style is None else COLOURS[one.style % len(COLOURS)]
    return "currentColor" if colour == _BLACK else colour


def _dash(one: Series) -> str:
    dashes = "" if one.style is None else _DASHES[one.style % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _marker(one: Series) -> str:
    return _MARKERS[0 if one.style is None else one.style % len(_MARKERS)]


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    ends = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
    places = " ".join(f'{name}="{_number(at)}"' for name, at in ends)
    return f"<line {places} {look}/>"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"{more}>'
        f"{escape(text)}</text>"
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
