"""The small charts of the monitor and of table rows: pure functions from numbers to SVG.

A chart with a meaning of its own carries it as its label; one that repeats a figure beside it is
hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from markupsafe import Markup

from metaserver.web import svg

SLOTS = 48
"""How many attempts a strip has room for."""


def bar(share: float) -> Markup:
    """Return a progress bar filled to `share` (0 to 1)."""
    body = [svg.box("rail", 0, 0, 84, 6, 3)]
    if share > 0:
        body.append(svg.box("fill", 0, 0, max(84 * min(share, 1.0), 3), 6, 3))
    return svg.drawing(body, 84, 6, "bar")


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
            path = "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in run)
            line.append(f"M{path}" if len(run) > 1 else f"M{path}h.1")
            area.append(
                f"M{svg.number(run[0][0])} {height}L{path}L{svg.number(run[-1][0])} {height}Z"
            )
    body = [svg.shape("area", "".join(area)), svg.shape("line", "".join(line))]
    return svg.drawing(body if line else [], width, height, "spark")


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
            body.append(svg.shape(kind, path))
    return svg.drawing(body, 4 * SLOTS, 21, "strip", label)


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

    most = max(counts) or 1
    body = [
        svg.box("column", at(a), floor - tall, max(at(b) - at(a) - 1, 1), tall)
        for (a, b), n in zip(pairwise(edges), counts, strict=True)
        if (tall := (floor - top) * n / most)
    ]
    body.append(svg.line("grid", 6, floor, width - 6, floor))
    for text, value in ticks:
        half = 4.0 * len(text)
        body.append(svg.label(min(max(at(value), half), width - half), height - 6, text))
    taken: list[tuple[float, float, int]] = []  # left end, right end, row
    for text, value in lines:
        x = at(value)
        room = 8.5 * len(text) + 6
        left, anchor = (x, "start") if x + room < width else (x - room, "end")
        row = next(
            row
            for row in range(len(lines))
            if not any(r == row and left < b and a < left + room for a, b, r in taken)
        )
        taken.append((left, left + room, row))
        body.append(svg.line("mark", x, 2 + 14 * row, x, floor))
        body.append(svg.label(x + (4 if anchor == "start" else -4), 12 + 14 * row, text, anchor))
    return svg.drawing(body, width, height, "histogram", label)
