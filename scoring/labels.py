"""Labels of points, placed so that none lies on another, on a point or outside the plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, hypot, pi, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DISTANCES = (9.0, 16.0, 28.0, 44.0, 64.0, 88.0, 120.0, 160.0)
_STEP = 3.0
_GAP = 1.0  # between labels and what is beside them
_CLEAR = 12.0  # of a line around its own point
_DIRECTIONS = (1, 7, 3, 5, 0, 2, 6, 4, 0.5, 7.5, 3.5, 4.5, 1.5, 6.5, 2.5, 5.5)  # eighths of a turn


class Box(NamedTuple):
    """A rectangle in the units of the page."""

    left: float
    bottom: float
    right: float
    top: float

    def wider(self, by: float) -> Box:
        """Return the box with a margin."""
        return Box(self.left - by, self.bottom - by, self.right + by, self.top + by)


class Place(NamedTuple):
    """The lower left corner of a label, relative to its point.

    `far` labels need a line, which ends at `anchor`: a place of the label, both parts in [0, 1].
    """

    dx: float
    dy: float
    far: bool
    anchor: tuple[float, float]


def place_labels(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    inside: Box,
    obstacles: Sequence[Box] = (),
) -> list[Place]:
    """Return a place for the label of each point, those of the first points chosen first.

    A label of width and height `sizes` tries places near its point, then farther ones; where all
    are taken it gets the one that covers least. Lines to labels cross no label and no point.
    """
    taken = list(obstacles)
    places = []
    for point, size in zip(points, sizes, strict=True):
        options = []
        others = np.array(taken).reshape(-1, 4)
        for place in _candidates(*size):
            boxes = [_box(point, size, place), *_line(point, size, place)]
            covered = _shared([box.wider(_GAP) for box in boxes], others)
            covered += size[0] * size[1] - _shared(boxes[:1], np.array([inside]))
            options.append((covered, boxes, place))
            if covered < 1e-9:
                break
        _, boxes, place = min(options, key=lambda option: option[0])
        taken += boxes
        places.append(place)
    return places


def _shared(boxes: Sequence[Box], others: NDArray[np.float64]) -> float:
    """Return the area that the boxes share with the others (rows), summed over all pairs."""
    ours = np.array(boxes)[:, np.newaxis]
    sides = np.minimum(ours[..., 2:], others[:, 2:]) - np.maximum(ours[..., :2], others[:, :2])
    return float(sides.clip(0).prod(axis=2).sum())


def _box(point: tuple[float, float], size: tuple[float, float], place: Place) -> Box:
    left, bottom = point[0] + place.dx, point[1] + place.dy
    return Box(left, bottom, left + size[0], bottom + size[1])


def _line(point: tuple[float, float], size: tuple[float, float], place: Place) -> list[Box]:
    """Return small boxes along the line from a label to its point, which is not covered itself."""
    if not place.far:
        return []
    end = (place.dx + place.anchor[0] * size[0], place.dy + place.anchor[1] * size[1])
    length = hypot(*end)
    steps = range(round(_CLEAR / _STEP), int(length / _STEP))
    along = ((end[0] * k * _STEP / length, end[1] * k * _STEP / length) for k in steps)
    half = _STEP / 2
    return [
        Box(point[0] + x - half, point[1] + y - half, point[0] + x + half, point[1] + y + half)
        for x, y in along
    ]


def _candidates(width: float, height: float) -> Iterator[Place]:
    for number, distance in enumerate(_DISTANCES):
        for eighth in _DIRECTIONS:
            across, up = cos(eighth * pi / 4), sin(eighth * pi / 4)
            dx = across * distance + width * (across - 1) / 2
            dy = up * distance + height * (up - 1) / 2
            yield Place(dx, dy, number > 0, ((1 - across) / 2, (1 - up) / 2))
