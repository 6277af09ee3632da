"""The small charts of the monitor and of table rows: pure functions from numbers to SVG.

A chart with its own meaning has it as its label; a chart that repeats a figure beside it is hidden
from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from markupsafe import Markup

from metaserver.web.ui import svg
from metaserver.web.ui.svg import flags

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
